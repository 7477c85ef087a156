"""Which revision brought each line of a text in."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import groupby

from rapidfuzz.distance import Indel

# An alignment takes time in proportion to the product of both line counts; beyond this, lines are matched by text.
MAX_CELLS = 50_000_000


@dataclass(frozen=True, slots=True)
class Passage[R: Hashable]:
    """Neighbouring lines of a text, and the revision since which they stand there without a break."""

    text: str
    revision: R


def trace[R: Hashable](history: Iterable[tuple[R, str]]) -> list[Passage[R]]:
    """The last text in passages, each with the revision that brought its lines in; joined by ``\\n`` they are the text.

    A line that was taken out and came back belongs to the revision that brought it back. A blank line goes with the
    passage before it.

    Parameters: ``history`` of (revision, text) in the order in which they were served; empty gives an empty list.
    """
    lines: list[str] = []
    since: list[R] = []
    for revision, text in history:
        now = text.split("\n")
        since = _carry(lines, since, now, revision)
        lines = now
    for index, line in enumerate(lines):
        if index and not line.strip():
            since[index] = since[index - 1]
    runs = groupby(zip(lines, since, strict=True), key=lambda pair: pair[1])
    return [Passage("\n".join(line for line, _ in run), revision) for revision, run in runs]


def _carry[R: Hashable](old: list[str], since: list[R], now: list[str], revision: R) -> list[R]:
    """The revisions of the new lines: those of the old lines they are, else the new one."""
    if len(old) * len(now) > MAX_CELLS:
        known = dict(zip(old, since, strict=True))
        return [known.get(line, revision) for line in now]
    found = [revision] * len(now)
    for step in Indel.opcodes(old, now):
        if step.tag == "equal":
            found[step.dest_start : step.dest_end] = since[step.src_start : step.src_end]
    return found
