"""Compare two texts as a reader of prose does: lines side by side, words marked inside them, the rest folded away."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex

from learning.domain import align, inline, pairing
from learning.domain.align import Budget, Change
from learning.domain.inline import Segment

__all__ = ["Block", "Comparison", "Fold", "Lines", "Row", "Segment", "Side", "compare"]

LONGEST = 256 * 1024  # characters of a text that is still aligned
CELLS = 55  # of the overview

type RowKind = Literal["same", "edit", "add", "cut"]
type CellKind = Literal["rest", "add", "cut", "both"]


@dataclass(frozen=True, slots=True)
class Side:
    """One line of one text: its number, from 1, and its text in segments. An empty line has no segment."""

    number: int
    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The line without marks."""
        return "".join(segment.text for segment in self.segments)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the comparison. An `add` has no `was`, a `cut` no `now`.

    `change` is the number of the change, from 1, on its first row; None on all others.
    """

    kind: RowKind
    was: Side | None
    now: Side | None
    change: int | None = None


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows that are shown."""

    rows: tuple[Row, ...]
    folded: Literal[False] = False


@dataclass(frozen=True, slots=True)
class Fold:
    """Unchanged rows that are folded away, and the Markdown headings among them."""

    rows: tuple[Row, ...]
    headings: tuple[str, ...]
    folded: Literal[True] = True


type Block = Lines | Fold


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything a page needs to draw how one text became another.

    `added` and `removed` count lines, an edited line in both. `changes` counts runs of changed rows. `coarse` tells
    that a bound was met, so that some lines are shown as replaced though they share more. `whitespace_only` tells that
    the texts differ, but in white space alone. `overview` has a kind for each of at most 55 equal parts of the rows.
    """

    blocks: tuple[Block, ...]
    added: int
    removed: int
    changes: int
    coarse: bool
    whitespace_only: bool
    identical: bool
    overview: tuple[CellKind, ...]

    @property
    def rows(self) -> Iterator[Row]:
        """All rows in order, folded or not."""
        return (row for block in self.blocks for row in block.rows)


def compare(before: str, after: str, *, context: int = 3) -> Comparison:
    """Compare `before` with `after`, keeping `context` unchanged lines around each change unfolded.

    Lines end at "\\n" and nowhere else; a text that ends with one has an empty last line, an empty text has no line.
    Joining the `was` sides with "\\n" gives `before` exactly, the `now` sides `after`. The work is bounded: texts
    beyond 256 kB, and blocks beyond the bounds of `align`, are shown as replaced.
    """
    was, now = _lines(before), _lines(after)
    fits = max(len(before), len(after)) <= LONGEST
    budget = Budget(align.CELLS_IN_ALL if fits else 0)
    found = align.settle(was, now, align.changes(was, now, budget), _seam)
    rows = _rows(was, now, found, budget)
    identical = before == after
    return Comparison(
        blocks=_blocks(rows, found, now, context),
        added=sum(row.kind in ("add", "edit") for row in rows),
        removed=sum(row.kind in ("cut", "edit") for row in rows),
        changes=len(found),
        coarse=budget.hit,
        whitespace_only=not identical and "".join(before.split()) == "".join(after.split()),
        identical=identical,
        overview=_overview(rows),
    )


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _seam(left: str | None, right: str | None) -> int:
    """Say how well a block begins or ends between two lines: best before a heading, then after a blank line."""
    if left is None or right is None:
        return 3
    if right.startswith("#"):
        return 3
    return 2 if not left.strip() and right.strip() else 0


def _rows(was: list[str], now: list[str], found: list[Change], budget: Budget) -> list[Row]:
    """Lay both texts out in rows."""
    rows: list[Row] = []
    was_at = now_at = 0
    for number, change in enumerate([*found, Change(len(was), len(was), len(now), len(now))], start=1):
        rows += [
            _same(was_at + offset + 1, now_at + offset + 1, was[was_at + offset])
            for offset in range(change.was_start - was_at)
        ]
        if number <= len(found):
            rows += _changed(was, now, change, number, budget)
        was_at, now_at = change.was_end, change.now_end
    return rows


def _same(was_number: int, now_number: int, line: str) -> Row:
    segments = (Segment(line, "same"),) if line else ()
    return Row("same", Side(was_number, segments), Side(now_number, segments))


def _changed(was: list[str], now: list[str], change: Change, number: int, budget: Budget) -> Iterator[Row]:
    """Lay one change out: versions of a line in one row, the lines without a counterpart before and after it."""
    first: int | None = number
    was_at, now_at = change.was_start, change.now_start
    for was_stop, now_stop, line in _stops(was, now, change, budget):
        for at in range(was_at, was_stop):
            yield Row("cut", _whole(at + 1, was[at], "del"), None, first)
            first = None
        for at in range(now_at, now_stop):
            yield Row("add", None, _whole(at + 1, now[at], "ins"), first)
            first = None
        if line:
            yield Row("edit", Side(was_stop + 1, line.was), Side(now_stop + 1, line.now), first)
            first = None
        was_at, now_at = was_stop + 1, now_stop + 1


def _whole(number: int, line: str, kind: Literal["ins", "del"]) -> Side:
    return Side(number, (Segment(line, kind),) if line else ())


type Stop = tuple[int, int, inline.Inline | None]


def _stops(was: list[str], now: list[str], change: Change, budget: Budget) -> Iterator[Stop]:
    """Give the positions of the line pairs in a change with their word marks, and last the end of the change."""
    old, new = was[change.was_start : change.was_end], now[change.now_start : change.now_end]
    if old and new:
        pairs = pairing.pair(old, new) if budget.left else None
        budget.hit |= pairs is None
        for in_old, in_new in pairs or ():
            line = inline.compare_line(old[in_old], new[in_new], budget)
            if line.alike:
                yield change.was_start + in_old, change.now_start + in_new, line
    yield change.was_end, change.now_end, None


def _blocks(rows: list[Row], found: list[Change], now: list[str], context: int) -> tuple[Block, ...]:
    """Fold the runs of unchanged rows, but for `context` rows beside a change. One row alone is never folded."""
    headings = _headings(now)
    blocks: list[Block] = []
    shown = at = 0  # rows[shown:at] wait to be shown
    while at < len(rows):
        end = at
        while end < len(rows) and rows[end].kind == "same":
            end += 1
        start = at + context if at else 0
        stop = end - context if end < len(rows) else end
        if stop - start > 1:
            if start > shown:
                blocks.append(Lines(tuple(rows[shown:start])))
            inside = tuple(rows[start:stop])
            blocks.append(Fold(inside, tuple(headings[n] for n in _numbers(inside) if n in headings)))
            shown = stop
        at = end
        while at < len(rows) and rows[at].kind != "same":
            at += 1
    if shown < len(rows):
        blocks.append(Lines(tuple(rows[shown:])))
    return tuple(blocks)


def _numbers(rows: tuple[Row, ...]) -> Iterator[int]:
    return (row.now.number for row in rows if row.now)


_HEADING = regex.compile(r" {0,3}#{1,6}[ \t]++(.*?)(?:[ \t]++#++)?[ \t]*+")
_FENCE = regex.compile(r" {0,3}(`{3,}|~{3,})")


def _headings(lines: list[str]) -> dict[int, str]:
    """Map line numbers to Markdown headings, leaving out what stands in fenced code."""
    headings: dict[int, str] = {}
    fence = ""
    for number, line in enumerate(lines, start=1):
        if line.lstrip(" ")[:1] not in ("#", "`", "~"):
            continue
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif not fence and (heading := _HEADING.fullmatch(line)) and heading[1]:
            headings[number] = heading[1]
    return headings


def _overview(rows: list[Row]) -> tuple[CellKind, ...]:
    """Sum the rows up in at most 55 equal parts, so that no change, however small, is lost."""
    cells = min(len(rows), CELLS)
    return tuple(_cell(rows[len(rows) * cell // cells : len(rows) * (cell + 1) // cells]) for cell in range(cells))


def _cell(rows: list[Row]) -> CellKind:
    kinds = {row.kind for row in rows}
    added, removed = not kinds.isdisjoint(("add", "edit")), not kinds.isdisjoint(("cut", "edit"))
    if added and removed:
        return "both"
    if added:
        return "add"
    return "cut" if removed else "rest"
