"""What changed between two documents, leaf by leaf."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personas.domain.leaves import Change, Same, compare_leaves, leaves

names = st.text("abc.[]", min_size=1, max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab1", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(documents, documents)
def test_the_changes_lead_from_one_to_the_other(before: Any, after: Any) -> None:
    changes, same = compare_leaves(before, after)
    was, now = ({path: text for path, (_, text) in leaves(side)} for side in (before, after))
    stay = {leaf.path: leaf.value for leaf in same}
    assert {c.path: c.before for c in changes if c.before is not None} | stay == was
    assert {c.path: c.after for c in changes if c.after is not None} | stay == now
    assert not {c.path for c in changes} & set(stay)


@given(documents)
def test_nothing_changes_between_a_document_and_itself(document: Any) -> None:
    assert compare_leaves(document, document)[0] == []


@given(documents, documents)
def test_equal_leaves_mean_equal_documents(before: Any, after: Any) -> None:
    assert (compare_leaves(before, after)[0] == []) == (before == after and repr(before) == repr(after)) or (
        sorted(leaves(before)) == sorted(leaves(after))
    )


def test_paths_say_where_a_leaf_is() -> None:
    before = {"binding": {"status": "active", "tools": ["a", "b"]}, "name": "Desk"}
    after = {"binding": {"status": "disabled", "tools": ["a"], "deep": {}}, "name": "Desk"}
    changes, same = compare_leaves(before, after)
    assert changes == [
        Change("binding.deep", None, "{}"),
        Change("binding.status", "active", "disabled"),
        Change("binding.tools[1]", "b", None),
    ]
    assert same == [Same("binding.tools[0]", "a"), Same("name", "Desk")]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({"a": 1}, {"a": "1"}, ("1", "1")),
        ({"a": None}, {"a": "null"}, ("null", "null")),
        ({"a": True}, {"a": 1}, ("true", "1")),
        ({"a": []}, {"a": {}}, ("[]", "{}")),
        ({"a": ""}, {}, ("", None)),
        ({"a": "客"}, {"a": "\ud800"}, ("客", "\\ud800")),
    ],
)
def test_a_leaf_is_shown_as_text_and_compared_as_what_it_is(before: Any, after: Any, shown: tuple[str, str]) -> None:
    ((change,), same) = compare_leaves(before, after)
    assert (change.before, change.after) == shown and same == []


def test_what_lies_too_deep_is_shown_as_json() -> None:
    document: Any = "bottom"
    for _ in range(300):
        document = {"a": [document]}
    ((change,), _) = compare_leaves({}, document)
    assert change.path.count("a") == 6 and change.after is not None and change.after.endswith("]}" * 294)


@pytest.mark.parametrize(("text", "prose"), [("x" * 120, False), ("x" * 121, True), ("a\nb", True), ("", False)])
def test_long_texts_are_prose(text: str, prose: bool) -> None:
    assert Change("a", text, None).is_prose is Change("a", None, text).is_prose is prose
