"""What the bindings of a path allow: by example, and against a plain reading of the rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personas.domain.bindings import Availability, Binding, fold, limit_tools, merge_permissions, tool_ceiling, widens

NAMES = ["tool:a", "tool:b", "tool:c.d", "network"]


def on(**overrides: bool) -> Binding:
    return Binding(True, False, {name.replace("_", ":"): granted for name, granted in overrides.items()})


@pytest.mark.parametrize(
    ("permissions", "ceiling"),
    [
        ({}, None),
        ({"network": False}, None),
        ({"tool:a": True}, {"a"}),
        ({"tool:a": False}, set()),
        ({"tool:a": True, "tool:b": False, "tool:c.d": True, "network": True}, {"a", "c.d"}),
    ],
)
def test_the_ceiling_on_tools(permissions: dict[str, bool], ceiling: set[str] | None) -> None:
    assert tool_ceiling(permissions) == ceiling


def test_an_override_replaces_the_default() -> None:
    assert merge_permissions({"a": True, "b": False}, {"b": True, "c": False}) == {"a": True, "b": True, "c": False}


def test_without_any_binding_nothing_is_available() -> None:
    found = fold([None, None], {"tool:a": True})
    assert (found.available, found.ceiling, found.level) == (False, frozenset(), None)
    assert limit_tools(["a"], found) == []


def test_the_nearest_binding_wins_whole() -> None:
    found = fold([None, on(tool_a=True), on(tool_b=False)], {"tool:b": True})
    assert (found.available, found.ceiling, found.level) == (True, {"a", "b"}, 1)
    assert found.permissions == {"tool:a": True, "tool:b": True}
    assert not fold([Binding(False, False, {}), on()], {}).available
    assert fold([on(), Binding(False, False, {})], {}).available


def test_what_an_ancestor_enforces_stays() -> None:
    stopped = Binding(False, True, {})
    assert not fold([on(), stopped], {}).available
    assert not fold([on(), on(), stopped], {}).available
    narrow = Binding(True, True, {"tool:a": False})
    found = fold([on(tool_a=True, tool_b=True), narrow], {"tool:a": True, "tool:b": True})
    assert (found.available, found.ceiling) == (True, {"b"})
    assert found.permissions == {"tool:a": False, "tool:b": True}
    assert fold([on(tool_a=True), Binding(True, True, {})], {}).ceiling == {"a"}


def test_tools_are_limited_in_their_order() -> None:
    tools = ["c.d", "a", "x", "b"]
    assert limit_tools(tools, Availability(True, None, {}, 0)) == tools
    assert limit_tools(tools, Availability(True, frozenset({"b", "c.d"}), {}, 0)) == ["c.d", "b"]
    assert limit_tools(tools, Availability(True, frozenset(), {}, 0)) == []
    assert limit_tools(tools, Availability(False, None, {}, 0)) == []


maps = st.dictionaries(st.sampled_from(NAMES), st.booleans())
bindings = st.none() | st.builds(Binding, st.booleans(), st.booleans(), maps)


@given(st.lists(bindings, max_size=5), maps)
def test_folding_says_what_the_rules_say(path: list[Binding | None], defaults: dict[str, bool]) -> None:
    found = fold(path, defaults)
    own = [binding for binding in path if binding]
    said = [binding for binding in own if binding is own[0] or binding.enforced]
    assert found.available == (bool(own) and all(binding.active for binding in said))
    for tool in ("a", "b", "c.d", "unnamed"):
        allowed = bool(own)
        for binding in said:
            merged = defaults | dict(binding.overrides)
            names_tools = any(name.startswith("tool:") for name in merged)
            allowed = allowed and (merged.get(f"tool:{tool}", False) if names_tools else True)
        assert (found.ceiling is None or tool in found.ceiling) == allowed, tool


@given(st.lists(bindings, max_size=4), st.lists(bindings, max_size=4), maps)
def test_widening_is_any_tool_or_the_agent_itself(
    before: list[Binding | None], after: list[Binding | None], defaults: dict[str, bool]
) -> None:
    was, now = fold(before, defaults), fold(after, defaults)
    tools = ["a", "b", "c.d", "unnamed"]
    more = set(limit_tools(tools, now)) - set(limit_tools(tools, was))
    assert widens(was, now) == (now.available and (not was.available or bool(more)))
    assert not widens(was, was)
