"""The three-way merge: exact when clean, and every conflict told."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learning.domain.merge import Conflict, merge3

TEXTS = st.lists(st.sampled_from(["", "a", "b", "c", "d"]), max_size=8).map("\n".join)


@given(TEXTS, TEXTS)
@example("a", "a\n")
@example("a\n", "a")
@example("", "\n")
def test_when_one_side_did_nothing_the_other_is_taken_byte_for_byte(base: str, changed: str) -> None:
    assert merge3(base, changed, base).text == changed
    assert merge3(base, base, changed).text == changed


@given(TEXTS, TEXTS)
def test_the_same_change_on_both_sides_is_clean(base: str, changed: str) -> None:
    assert merge3(base, changed, changed).text == changed


@given(TEXTS, TEXTS, TEXTS)
def test_regions_and_choices_rebuild_each_side(base: str, proposed: str, live: str) -> None:
    merge = merge3(base, proposed, live)
    assert (merge.text is None) == bool(merge.conflicts)
    for region in merge.regions:
        assert (region.kind == "conflict") == (region.conflict is not None)
        assert not (region.conflict and region.lines)
    for conflict in merge.conflicts:
        at = conflict.line - 1
        assert tuple(base.split("\n")[at : at + len(conflict.base)]) == conflict.base
        assert conflict.proposed != conflict.live
    for side in ("base", "proposed", "live"):
        resolved = merge.resolve([getattr(conflict, side) for conflict in merge.conflicts])
        if not merge.conflicts:
            assert resolved == merge.text
    other_way = merge3(base, live, proposed)
    assert other_way.text == merge.text
    assert [(c.line, c.base, c.live, c.proposed) for c in other_way.conflicts] == [
        (c.line, c.base, c.proposed, c.live) for c in merge.conflicts
    ]


def test_changes_in_different_places_are_both_taken() -> None:
    base = "one\ntwo\nthree\nfour\nfive\n"
    merge = merge3(base, base.replace("two", "TWO").replace("five", "five!"), base.replace("four\n", ""))
    assert merge.text is None
    merge = merge3(base, base.replace("one", "ONE"), base.replace("four\n", "") + "six")
    assert merge.text == "ONE\ntwo\nthree\nfive\nsix"
    assert [(region.kind, region.lines) for region in merge.regions] == [
        ("proposed", ("ONE",)),
        ("unchanged", ("two", "three")),
        ("live", ()),
        ("unchanged", ("five",)),
        ("live", ("six",)),
    ]


def test_a_final_newline_is_a_change_like_any_other() -> None:
    assert merge3("a\nb\nc", "A\nb\nc", "a\nb\nc\n").text == "A\nb\nc\n"
    assert merge3("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc").text == "A\nb\nc"
    assert merge3("a\n", "b\n", "a").conflicts == (Conflict(1, ("a", ""), ("b", ""), ("a",)),)


def test_both_changed_one_line() -> None:
    base = "你是客服助手。\n用简体中文。\n退款需要五个工作日。\n不要猜测。"
    merge = merge3(base, base.replace("五", "七"), base.replace("五", "三").replace("你是", "您是"))
    assert merge.text is None
    assert merge.conflicts == (
        Conflict(3, ("退款需要五个工作日。",), ("退款需要七个工作日。",), ("退款需要三个工作日。",)),
    )
    assert merge.marked == (
        "您是客服助手。\n用简体中文。\n<<<<<<< proposed\n退款需要七个工作日。\n"
        "||||||| base\n退款需要五个工作日。\n=======\n退款需要三个工作日。\n>>>>>>> live\n不要猜测。"
    )
    assert merge.resolve([["退款需要十个工作日。"]]) == "您是客服助手。\n用简体中文。\n退款需要十个工作日。\n不要猜测。"


def test_a_clean_merge_has_no_markers() -> None:
    merge = merge3("a\nb\nc", "a\nb\nC", "A\nb\nc")
    assert merge.marked == merge.text == "A\nb\nC"


def test_deleting_what_the_other_changed_is_a_conflict() -> None:
    assert merge3("a\nb\nc", "a\nc", "a\nB\nc").conflicts == (Conflict(2, ("b",), (), ("B",)),)


@pytest.mark.parametrize("choices", [[], [["x"], ["y"]]])
def test_each_conflict_needs_one_choice(choices: list[list[str]]) -> None:
    with pytest.raises(ValueError, match="1 conflicts"):
        merge3("a", "b", "c").resolve(choices)


def test_many_lines_merge_in_bounded_work() -> None:
    base = [f"{number % 7} of {number}" for number in range(20_000)]
    proposed, live = ["first", *base], [*base, "last"]
    live[10_000] = "changed"
    assert merge3("\n".join(base), "\n".join(proposed), "\n".join(live)).text == "\n".join(["first", *live])
    assert merge3("a\nb\n" * 20_000, "b\na\n" * 20_000, "c\n" * 10).conflicts
