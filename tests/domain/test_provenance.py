"""Every line knows the revision that brought it in."""

from hypothesis import given
from hypothesis import strategies as st

from personas.domain.provenance import MAX_CELLS, Passage, trace

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "  ", "客服", "---"]), max_size=8).map("\n".join)


def test_lines_keep_the_revision_that_brought_them_in() -> None:
    told = trace([(1, "a\nb\nc"), (2, "a\nB\nc"), (3, "a\nB\nc\nd")])
    assert told == [Passage("a", 1), Passage("B", 2), Passage("c", 1), Passage("d", 3)]


def test_a_line_that_came_back_belongs_to_who_brought_it_back() -> None:
    assert trace([(1, "a\nb"), (2, "a"), (3, "a\nb")])[-1] == Passage("b", 3)


def test_a_repeated_line_is_told_apart_from_its_twin() -> None:
    assert trace([(1, "---\na"), (2, "---\na\n---")]) == [Passage("---\na", 1), Passage("---", 2)]


def test_a_blank_line_goes_with_what_stands_before_it() -> None:
    assert trace([(1, "a\nb"), (2, "a\n\nb")]) == [Passage("a\n\nb", 1)]


def test_nothing_served_is_nothing_told() -> None:
    assert trace([]) == []


def test_texts_too_long_to_align_are_matched_by_their_lines() -> None:
    many = int(MAX_CELLS**0.5) + 1
    before = "\n".join(f"line {number}" for number in range(many))
    assert trace([(1, before), (2, f"{before}\nnew")])[-1] == Passage("new", 2)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_the_passages_are_the_text(texts: list[str]) -> None:
    told = trace(enumerate(texts))
    assert "\n".join(part.text for part in told) == texts[-1]
    assert all(part.revision <= len(texts) - 1 for part in told)


@given(TEXTS, TEXTS)
def test_a_text_that_came_at_once_has_one_origin(first: str, second: str) -> None:
    assert {part.revision for part in trace([(1, first)])} == {1}
    assert [part.revision for part in trace([(1, first), (2, first)])] == [1]
    assert "\n".join(part.text for part in trace([(1, first), (2, second)])) == second
