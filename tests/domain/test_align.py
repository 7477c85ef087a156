"""The alignment: exact inside the bound, honest outside, and placed where it reads best."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from learning.domain import align
from learning.domain.align import Budget, Change

ITEMS = st.lists(st.sampled_from("abc d"), max_size=30)


def rebuilt(was: list[str], now: list[str], found: list[Change]) -> list[str]:
    """Apply `found` to `was`."""
    out, at = [], 0
    for change in found:
        out += was[at : change.was_start] + now[change.now_start : change.now_end]
        at = change.was_end
    return out + was[at:]


def longest(was: list[str], now: list[str]) -> int:
    """Measure the longest common subsequence, the slow way."""
    above = [0] * (len(now) + 1)
    for item in was:
        line = [0]
        for at, other in enumerate(now):
            line.append(above[at] + 1 if item == other else max(line[-1], above[at + 1]))
        above = line
    return above[-1]


@given(ITEMS, ITEMS, st.sampled_from([0, 20, 10**6]))
def test_changes_lead_from_one_to_the_other_and_never_touch(was: list[str], now: list[str], cells: int) -> None:
    found = align.changes(was, now, Budget(cells))
    assert rebuilt(was, now, found) == now
    for change in found:
        assert change.was_start < change.was_end or change.now_start < change.now_end
    for before, after in pairwise(found):
        assert before.was_end < after.was_start
        assert before.now_end < after.now_start


@given(ITEMS, ITEMS)
def test_inside_the_bound_as_much_as_possible_is_kept(was: list[str], now: list[str]) -> None:
    budget = Budget()
    kept = len(was) - sum(change.was_end - change.was_start for change in align.changes(was, now, budget))
    assert kept == longest(was, now)
    assert not budget.hit


@given(ITEMS, ITEMS)
def test_settling_changes_nothing_but_the_place(was: list[str], now: list[str]) -> None:
    found = align.changes(was, now, Budget())
    settled = align.settle(was, now, found, lambda left, right: (left == " ") + 2 * (right is None))
    assert rebuilt(was, now, settled) == now
    assert sum(change.was_end - change.was_start for change in settled) == sum(
        change.was_end - change.was_start for change in found
    )
    assert len(settled) <= len(found)
    assert all(before.was_end < after.was_start for before, after in pairwise(settled))


def test_settling_prefers_the_best_seam_and_the_last_place_on_a_draw() -> None:
    was, now = ["x", " ", "y"], ["x", " ", "z", " ", "y"]
    for start in (1, 2):
        found = [Change(start, start, start, start + 2)]
        assert align.settle(was, now, found, lambda left, right: left == " ") == [Change(2, 2, 2, 4)]
        assert align.settle(was, now, found, lambda left, right: right == " ") == [Change(1, 1, 1, 3)]
        assert align.settle(was, now, found, lambda left, right: 0) == [Change(2, 2, 2, 4)]


def test_what_only_one_side_has_costs_nothing() -> None:
    budget = Budget(1)
    assert align.changes(["a", "b", "m", "c"], ["x", "m", "y", "z"], budget) == [Change(0, 2, 0, 1), Change(3, 4, 2, 4)]
    assert not budget.hit


def test_a_block_beyond_the_bound_is_replaced_whole_and_says_so() -> None:
    budget = Budget(100)
    assert align.changes(["s", *"ab" * 50, "e"], ["s", *"ba" * 50, "e"], budget) == [Change(1, 101, 1, 101)]
    assert budget.hit


def test_beyond_the_bound_single_runs_still_tie_the_sides_together() -> None:
    was = [f"w{number % 400}" for number in range(500)]
    now = ["new", *was[:200], "mid", *was[200:], "end"]
    was[0] = "old"
    budget = Budget(20_000)
    found = align.changes(was, now, budget)
    assert rebuilt(was, now, found) == now
    kept = len(was) - sum(change.was_end - change.was_start for change in found)
    assert kept >= 495


def test_the_budget_is_one_purse_for_all_blocks() -> None:
    budget = Budget(100)
    assert budget.allows(60)
    assert not budget.allows(60)
    assert budget.hit
    assert budget.allows(40)
    assert not Budget(10**12).allows(align.CELLS_PER_BLOCK + 1)
