"""Find what changed between two sequences, with a bound on the work."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel

# The alignment runs in C and cannot be interrupted, and keeps one bit for each cell: the bound is the safety.
CELLS_PER_BLOCK = 200_000_000
CELLS_IN_ALL = 400_000_000

_ANCHOR = 4  # so many items in a row, found once on either side, tie the two sides together
_SLIDE = 200  # steps a lone insertion or removal may be moved to a better place


class Change(NamedTuple):
    """`was[was_start:was_end]` became `now[now_start:now_end]`; one of the two may be empty."""

    was_start: int
    was_end: int
    now_start: int
    now_end: int


class Budget:
    """The work one comparison may still cost, in cells (length times length). `hit` tells that a bound was met."""

    def __init__(self, cells: int = CELLS_IN_ALL) -> None:
        self.left = cells
        self.hit = False

    def allows(self, cells: int) -> bool:
        """Take `cells` from what is left, or remember that the bound was hit and answer False."""
        if cells > min(CELLS_PER_BLOCK, self.left):
            self.hit = True
            return False
        self.left -= cells
        return True


def changes[T: Hashable](was: Sequence[T], now: Sequence[T], budget: Budget) -> list[Change]:
    """List what changed from `was` to `now`, in order; what lies between two changes is equal and not empty.

    Neighbouring removals and insertions are one change. What `budget` does not allow in one piece is aligned between
    runs of items that are found once on either side; a piece that is still too large is one change, and `budget.hit`
    is set.
    """
    head = _common(was, now)
    tail = _common(was[head:][::-1], now[head:][::-1])
    was_end, now_end = len(was) - tail, len(now) - tail
    matches = _matches(was[head:was_end], now[head:now_end], budget)
    found: list[Change] = []
    was_at, now_at = head, head
    for in_was, in_now in [*matches, (was_end - head, now_end - head)]:
        if in_was + head > was_at or in_now + head > now_at:
            found.append(Change(was_at, in_was + head, now_at, in_now + head))
        was_at, now_at = in_was + head + 1, in_now + head + 1
    return found


def _common[T: Hashable](one: Sequence[T], other: Sequence[T]) -> int:
    """Count the equal items at the beginning of both."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _matches[T: Hashable](was: Sequence[T], now: Sequence[T], budget: Budget) -> list[tuple[int, int]]:
    """Pair the positions of equal items, ascending on both sides: as many as possible, as far as `budget` allows."""
    # An item that only one side has cannot match, and costs nothing when it is left out.
    both = set(was).intersection(now)
    in_was = [at for at, item in enumerate(was) if item in both]
    in_now = [at for at, item in enumerate(now) if item in both]
    old, new = [was[at] for at in in_was], [now[at] for at in in_now]
    cells = len(old) * len(new)
    anchors = _anchors(old, new) if budget.left and cells > min(CELLS_PER_BLOCK, budget.left) else []
    found: list[tuple[int, int]] = []
    old_at = new_at = 0
    for old_anchor, new_anchor in [*anchors, (len(old), len(new))]:
        pairs = _longest(old[old_at:old_anchor], new[new_at:new_anchor], budget)
        found += [(in_was[old_at + i], in_now[new_at + j]) for i, j in pairs]
        if old_anchor < len(old):
            found.append((in_was[old_anchor], in_now[new_anchor]))
        old_at, new_at = old_anchor + 1, new_anchor + 1
    return found


def _longest[T: Hashable](old: Sequence[T], new: Sequence[T], budget: Budget) -> list[tuple[int, int]]:
    """Pair the positions of a longest common subsequence; none if `budget` does not allow it."""
    if not old or not new or not budget.allows(len(old) * len(new)):
        return []
    # One character stands for each item: the bound keeps them far below the surrogates.
    sign: dict[T, str] = {}
    for item in old:
        sign.setdefault(item, chr(len(sign) + 1))
    steps = Indel.opcodes("".join(sign[item] for item in old), "".join(sign.get(item, "\0") for item in new))
    return [
        (step.src_start + offset, step.dest_start + offset)
        for step in steps
        if step.tag == "equal"
        for offset in range(step.src_end - step.src_start)
    ]


def _anchors[T: Hashable](old: Sequence[T], new: Sequence[T]) -> list[tuple[int, int]]:
    """Pair the beginnings of runs found once on either side: the longest chain that ascends on both."""
    there = _single_runs(new)
    pairs = [(at, there[run]) for run, at in _single_runs(old).items() if run in there]
    # Patience: each pile keeps the smallest end of a chain of its length.
    piles: list[int] = []
    tops: list[int] = []
    back: list[int] = []
    for number, (_, place) in enumerate(pairs):
        pile = bisect_left(piles, place)
        piles[pile : pile + 1] = [place]
        tops[pile : pile + 1] = [number]
        back.append(tops[pile - 1] if pile else -1)
    chain: list[tuple[int, int]] = []
    number = tops[-1] if tops else -1
    while number >= 0:
        chain.append(pairs[number])
        number = back[number]
    return chain[::-1]


def _single_runs[T: Hashable](items: Sequence[T]) -> dict[tuple[T, ...], int]:
    """Map each run of items that is found once to its position, in order."""
    single: dict[tuple[T, ...], int] = {}
    seen: set[tuple[T, ...]] = set()
    for at, run in enumerate(zip(*(items[offset:] for offset in range(_ANCHOR)), strict=False)):
        if run in seen:
            single.pop(run, None)
        else:
            seen.add(run)
            single[run] = at
    return single


def settle[T: Hashable](
    was: Sequence[T], now: Sequence[T], found: list[Change], seam: Callable[[T | None, T | None], int]
) -> list[Change]:
    """Move each pure insertion or removal to the place where it reads best; those that can touch become one.

    The same change can often stand in several places ("a [b a] b" or "a b [a b]"). `seam(left, right)` says how good
    a cut between two items is (None is the edge of the text); the best sum of both ends wins, the last place on a draw.
    """
    found = _closed(was, now, found)
    settled: list[Change] = []
    for number, change in enumerate(found):
        if change.was_start != change.was_end and change.now_start != change.now_end:
            settled.append(change)
            continue
        grown = change.now_end > change.now_start
        items, (start, end) = (now, change[2:]) if grown else (was, change[:2])
        # One equal item stays on either side, so that neighbouring changes do not touch.
        floor = _end(settled[-1], grown) + 1 if settled else 0
        ceiling = _start(found[number + 1], grown) - 1 if number + 1 < len(found) else len(items)
        step = _best_step(items, start, end, (floor, ceiling), seam)
        settled.append(Change(*(place + step for place in change)))
    return settled


def _closed[T: Hashable](was: Sequence[T], now: Sequence[T], found: list[Change]) -> list[Change]:
    """Join neighbours when one of them can move up to the other: "x [y, z] y [q]" is "x y [, z y q]"."""
    closed: list[Change] = []
    for change in found:
        gap = change.was_start - closed[-1].was_end if closed else 0
        if closed and gap <= _SLIDE and _slides(was, now, closed[-1], gap):
            closed[-1] = Change(closed[-1].was_start + gap, change.was_end, closed[-1].now_start + gap, change.now_end)
        elif closed and gap <= _SLIDE and _slides(was, now, change, -gap):
            closed[-1] = Change(closed[-1].was_start, change.was_end - gap, closed[-1].now_start, change.now_end - gap)
        else:
            closed.append(change)
    return closed


def _slides[T: Hashable](was: Sequence[T], now: Sequence[T], change: Change, step: int) -> bool:
    """Say whether a pure change can move by `step` places, backwards if negative."""
    if change.was_start != change.was_end and change.now_start != change.now_end:
        return False
    items, (start, end) = (now, change[2:]) if change.now_end > change.now_start else (was, change[:2])
    low, high = (start, end) if step > 0 else (start + step, end + step)
    return all(items[low + offset] == items[high + offset] for offset in range(abs(step)))


def _start(change: Change, grown: bool) -> int:
    return change.now_start if grown else change.was_start


def _end(change: Change, grown: bool) -> int:
    return change.now_end if grown else change.was_end


def _best_step[T: Hashable](
    items: Sequence[T], start: int, end: int, bounds: tuple[int, int], seam: Callable[[T | None, T | None], int]
) -> int:
    """Return by how many places items[start:end] moves, inside `bounds`, to stand between the best seams."""
    floor, ceiling = bounds

    def worth(step: int) -> int:
        places = (start + step, end + step)
        return sum(seam(items[at - 1] if at else None, items[at] if at < len(items) else None) for at in places)

    down, up = 0, 0
    while down > -_SLIDE and start + down > floor and items[start + down - 1] == items[end + down - 1]:
        down -= 1
    while up < _SLIDE and end + up < ceiling and items[start + up] == items[end + up]:
        up += 1
    return max(range(down, up + 1), key=lambda step: (worth(step), step))
