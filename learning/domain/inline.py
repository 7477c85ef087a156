"""Compare two lines word by word, and make the marks read well."""

from dataclasses import dataclass
from typing import Literal

import regex

from learning.domain import align, words
from learning.domain.align import Budget, Change

# Two lines that share less of their visible characters than this are not versions of one another.
ALIKE = 0.35

KEPT_WHOLE = 8  # visible characters: a line at least so long that was only added to (or cut from) is still that line
_SIGNS = 3  # so many spaces and signs between two changes are marked along with them
_FILLER = 4  # and so long a word, when both changes are long
_FOLLOWS = regex.compile(r"[\p{P}--[\p{Ps}\p{Pi}*_`#\-]]", regex.V1)  # signs that belong to the word before them
_THIN = regex.compile(r"[ \p{P}\p{S}]++")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a line: on both sides (`same`), only in the new one (`ins`) or only in the old one (`del`)."""

    text: str
    kind: Literal["same", "ins", "del"]


@dataclass(frozen=True, slots=True)
class Inline:
    """Two versions of a line as segments. `alike` says whether they are versions of one line, and not two lines."""

    was: tuple[Segment, ...]
    now: tuple[Segment, ...]
    alike: bool


def compare_line(was: str, now: str, budget: Budget) -> Inline:
    """Mark the words that differ between two lines, as far as `budget` allows."""
    old, new = words.tokens(was), words.tokens(now)
    found = align.settle(old, new, align.changes(old, new, budget), _seam)
    tidy = _absorb(old, found)
    return Inline(
        _segments(old, [(change.was_start, change.was_end) for change in tidy], "del"),
        _segments(new, [(change.now_start, change.now_end) for change in tidy], "ins"),
        _alike(old, new, tidy),
    )


def visible(pieces: list[str]) -> int:
    """Count the characters of `pieces` that are not white space."""
    return sum(len(piece) for piece in pieces if not piece.isspace())


def _seam(left: str | None, right: str | None) -> int:
    """Say how well a mark may begin or end between two tokens: best at the edge of the line, worst inside a word."""
    if left is None or right is None:
        return 3
    if left.isspace():
        return 2
    if _FOLLOWS.match(right):
        return 2
    return 1 if right.isspace() else 0


def _absorb(old: list[str], found: list[Change]) -> list[Change]:
    """Join changes that only a sign, a space or a little word parts: one long mark reads better than crumbs."""
    tidy: list[Change] = []
    for change in found:
        if tidy and _is_crumb("".join(old[tidy[-1].was_end : change.was_start]), tidy[-1], change):
            tidy[-1] = Change(tidy[-1].was_start, change.was_end, tidy[-1].now_start, change.now_end)
        else:
            tidy.append(change)
    return tidy


def _is_crumb(island: str, before: Change, after: Change) -> bool:
    """Decide whether the unchanged `island` between two changes is too small to stand alone.

    Invisible characters are never part of an absorbed sign: one that did not change must not look new.
    """
    removes = before.was_end > before.was_start or after.was_end > after.was_start
    adds = before.now_end > before.now_start or after.now_end > after.now_start
    if not (removes and adds):
        return False
    if _THIN.fullmatch(island):
        return len(island) <= _SIGNS
    core = island.strip(" ")
    small = min(_size(before), _size(after))
    return len(core) <= _FILLER and core.isalpha() and small >= 3 + len(core) and " " not in core


def _size(change: Change) -> int:
    """Return the number of tokens of the longer side."""
    return max(change.was_end - change.was_start, change.now_end - change.now_start)


def _alike(old: list[str], new: list[str], found: list[Change]) -> bool:
    """Decide whether enough is shared: a third of both, or all of one that only grew or shrank in one place."""
    was, now = visible(old), visible(new)
    kept = was - sum(visible(old[change.was_start : change.was_end]) for change in found)
    if 2 * kept >= ALIKE * (was + now):
        return True
    return len(found) == 1 and kept == min(was, now) >= KEPT_WHOLE


def _segments(pieces: list[str], marked: list[tuple[int, int]], kind: Literal["ins", "del"]) -> tuple[Segment, ...]:
    """Join `pieces` into segments, those inside `marked` under `kind`; empty stretches are left out."""
    segments: list[Segment] = []
    at = 0
    for start, end in marked:
        if start == end:
            continue
        if start > at:
            segments.append(Segment("".join(pieces[at:start]), "same"))
        segments.append(Segment("".join(pieces[start:end]), kind))
        at = end
    if at < len(pieces):
        segments.append(Segment("".join(pieces[at:]), "same"))
    return tuple(segments)
