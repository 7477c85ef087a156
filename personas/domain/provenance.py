"""Which revision brought each paragraph of a text in."""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

_BLANK = re.compile(r"\n[ \t]*\n+")


@dataclass(frozen=True, slots=True)
class Paragraph[R: Hashable]:
    """One paragraph of a text, and the revision since which it stands there without a break."""

    text: str
    revision: R


def paragraphs(text: str) -> list[str]:
    """The blocks of a text that blank lines separate, without the blank lines."""
    return [block.strip("\n") for block in _BLANK.split(text) if block.strip()]


def trace[R: Hashable](history: Iterable[tuple[R, str]]) -> list[Paragraph[R]]:
    """The paragraphs of the last text, each with the revision that brought it in.

    A paragraph that was taken out and came back belongs to the revision that brought it back.

    Parameters: ``history`` of (revision, text) in the order in which they were served; empty gives an empty list.
    """
    since: dict[str, R] = {}
    last: list[Paragraph[R]] = []
    for revision, text in history:
        blocks = paragraphs(text)
        since = {block: since.get(block, revision) for block in blocks}
        last = [Paragraph(block, since[block]) for block in blocks]
    return last
