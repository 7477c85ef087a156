"""Bring a proposal and the live text together when both started from the same base."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from merge3 import Merge3

from learning.domain import align
from learning.domain.align import Budget

type RegionKind = Literal["unchanged", "proposed", "live", "both", "conflict"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed, each in its own way. `line` counts from 1 in the base; a side may have no line."""

    line: int
    base: tuple[str, ...]
    proposed: tuple[str, ...]
    live: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A run of lines of the merge and where it comes from. `lines` is empty for a removal and for a conflict."""

    kind: RegionKind
    lines: tuple[str, ...]
    conflict: Conflict | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """A three-way merge: the regions in order, of which the conflicts wait for a decision."""

    regions: tuple[Region, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts in order."""
        return tuple(region.conflict for region in self.regions if region.conflict)

    @property
    def text(self) -> str | None:
        """The merged text; None while there are conflicts."""
        return None if self.conflicts else self.resolve(())

    @property
    def marked(self) -> str:
        """The merged text with each conflict between markers, as version control writes it."""
        return self.resolve([_marked(conflict) for conflict in self.conflicts])

    def resolve(self, chosen: Sequence[Sequence[str]]) -> str:
        """Return the text with the lines `chosen` in place of the conflicts, one sequence of lines for each.

        Raises ValueError if there are more or fewer choices than conflicts.
        """
        if len(chosen) != len(self.conflicts):
            raise ValueError(f"{len(self.conflicts)} conflicts, {len(chosen)} choices")
        choices = iter(chosen)
        lines: list[str] = []
        for region in self.regions:
            lines += next(choices) if region.conflict else region.lines
        return "\n".join(lines)


def merge3(base: str, proposed: str, live: str) -> Merge:
    """Merge what `proposed` and `live` each changed in `base`, line by line; lines end at "\\n" only.

    What one side changed is taken, what both changed alike too; what both changed otherwise is a conflict, and so are
    changes in neighbouring lines. The end of the text counts as a line, so final newlines are kept exactly: with
    `live == base` the text is `proposed`, with `proposed == base` it is `live`.
    """
    old, ours, theirs = base.split("\n"), proposed.split("\n"), live.split("\n")
    regions: list[Region] = []
    for kind, start, end, *more in Merge3(old, ours, theirs, sequence_matcher=_Matcher).merge_regions():
        match kind:
            case "unchanged":
                regions.append(Region("unchanged", tuple(old[start:end])))
            case "same":
                regions.append(Region("both", tuple(ours[start:end])))
            case "a":
                regions.append(Region("proposed", tuple(ours[start:end])))
            case "b":
                regions.append(Region("live", tuple(theirs[start:end])))
            case _:
                ours_at, ours_end, theirs_at, theirs_end = more
                sides = old[start:end], ours[ours_at:ours_end], theirs[theirs_at:theirs_end]
                regions.append(Region("conflict", (), Conflict(start + 1, *map(tuple, sides))))
    return Merge(tuple(regions))


def _marked(conflict: Conflict) -> list[str]:
    ours, old, theirs = conflict.proposed, conflict.base, conflict.live
    return ["<<<<<<< proposed", *ours, "||||||| base", *old, "=======", *theirs, ">>>>>>> live"]


class _Matcher:
    """The bounded alignment behind the interface of difflib, whose own can take minutes."""

    def __init__(self, isjunk: object, a: Sequence[str], b: Sequence[str], autojunk: bool = True) -> None:
        self._old, self._new = a, b

    def get_matching_blocks(self) -> list[tuple[int, int, int]]:
        """List the equal runs as (start in the first, start in the second, length), ended by an empty one."""
        blocks: list[tuple[int, int, int]] = []
        at = new_at = 0
        for change in align.changes(self._old, self._new, Budget()):
            blocks.append((at, new_at, change.was_start - at))
            at, new_at = change.was_end, change.now_end
        blocks.append((at, new_at, len(self._old) - at))
        return [*(block for block in blocks if block[2]), (len(self._old), len(self._new), 0)]
