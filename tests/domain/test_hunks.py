"""Changed regions as line numbers."""

from hypothesis import given
from hypothesis import strategies as st

from learning.domain.diff import compare
from learning.domain.hunks import Hunk, hunks

texts = st.lists(st.sampled_from(["", "a", "b", "a b", "c d e"]), max_size=12).map("\n".join)


def of(was: str, now: str) -> list[Hunk]:
    return hunks(compare(was, now))


def test_regions_are_named_by_their_lines() -> None:
    assert of("a\nb\nc", "a\nb\nc") == []
    assert of("a\nb\nc", "a\nx\nc") == [Hunk(2, 1, 2, 1)]
    assert of("a\nc", "a\nb\nc") == [Hunk(1, 0, 2, 1)]
    assert of("a\nb\nc", "a\nc") == [Hunk(2, 1, 1, 0)]
    assert of("b", "a\nb") == [Hunk(0, 0, 1, 1)]
    assert of("", "a\nb") == [Hunk(0, 0, 1, 2)]


@given(texts, texts)
def test_what_lies_between_the_regions_is_the_same(was: str, now: str) -> None:
    old, new = was.split("\n") if was else [], now.split("\n") if now else []
    was_at = now_at = 0
    for hunk in of(was, now):
        was_start = hunk.was_start - (hunk.was_lines > 0)
        now_start = hunk.now_start - (hunk.now_lines > 0)
        assert old[was_at:was_start] == new[now_at:now_start]
        assert hunk.was_lines or hunk.now_lines
        assert (was_at, now_at) == (0, 0) or was_start > was_at
        was_at, now_at = was_start + hunk.was_lines, now_start + hunk.now_lines
    assert old[was_at:] == new[now_at:]
