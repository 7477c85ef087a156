"""The settings of a revision: what is kept, what is refused and where, and that one value has one digest."""

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personas.domain.errors import Invalid
from personas.domain.settings import (
    LABELS,
    MAX_PRIORITY,
    PersonaSettings,
    canonical_json,
    changes,
    clean_tools,
    revision_digest,
)

RUN_AS = "7e2a0c7e-1f0a-4b5e-9d5b-0a1b2c3d4e5f"
PLAIN = PersonaSettings(name="Desk", run_as=RUN_AS)


def test_what_is_dumped_is_loaded() -> None:
    for settings in (
        PLAIN,
        PLAIN.change(allowed_tools=("a", "b.c"), slots={"x": [1, None]}),
        PLAIN.change(allowed_tools=()),
    ):
        data = settings.dump()
        assert set(data) == set(LABELS)
        assert PersonaSettings.load(data) == settings.cleaned() == settings
    assert PersonaSettings.load({"name": "Desk", "run_as": RUN_AS}) == PLAIN
    with pytest.raises(Invalid, match="no setting “colour”") as refusal:
        PersonaSettings.load({**PLAIN.dump(), "colour": "red"})
    assert refusal.value.field == "colour"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"context_id": "1"}, "context_type"),
        ({"context_type": " site"}, "context_type"),
        ({"context_type": "a\nb"}, "context_type"),
        ({"context_type": "x", "context_id": "x" * 201}, "context_id"),
        ({"acts_as": "\u200b"}, "acts_as"),
        ({"memory_scope": "a\0"}, "memory_scope"),
        ({"acts_as": None}, "acts_as"),
        ({"priority": "1"}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": MAX_PRIORITY + 1}, "priority"),
        ({"priority": -MAX_PRIORITY - 1}, "priority"),
        ({"name": ""}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"allowed_tools": ("a..b",)}, "allowed_tools"),
        ({"allowed_tools": ("",)}, "allowed_tools"),
        ({"run_as": ""}, "run_as"),
        ({"run_as": "root"}, "run_as"),
        ({"run_as": None}, "run_as"),
        ({"slots": {"x": "y" * 64_001}}, "slots"),
        ({"slots": {"x": float("nan")}}, "slots"),
        ({"slots": {"x": {1, 2}}}, "slots"),
        ({"slots": {"x": "a\0b"}}, "slots"),
        ({"slots": {"x": "\ud800"}}, "slots"),
    ],
)
def test_what_is_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        PLAIN.change(**change).cleaned()
    assert refusal.value.field == field and refusal.value.message.endswith(".")


def test_what_is_brought_to_one_form() -> None:
    messy = PLAIN.change(name=" Cafe\u0301 ", run_as=RUN_AS.upper().replace("-", ""), allowed_tools=("b", "a", "b"))
    clean = messy.cleaned()
    assert (clean.name, clean.run_as, clean.allowed_tools) == ("Café", RUN_AS, ("b", "a"))
    assert PLAIN.change(priority=MAX_PRIORITY).cleaned().priority == MAX_PRIORITY
    assert clean_tools([]) == ()


def test_what_differs_is_named_in_order() -> None:
    after = PLAIN.change(acts_as="Robbie", name="Other", slots={"a": 1})
    assert changes(PLAIN.dump(), after.dump()) == ["name", "acts_as", "slots"]
    assert changes(PLAIN.dump(), PLAIN.dump()) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=8
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=5), st.randoms())
def test_one_value_has_one_digest(data: dict[str, Any], random: Any) -> None:
    keys = list(data)
    random.shuffle(keys)
    shuffled = {key: data[key] for key in keys}
    assert canonical_json(data) == canonical_json(shuffled)
    assert revision_digest("x", data) == revision_digest("x", shuffled) != revision_digest("y", data)
    assert revision_digest("x", data) != revision_digest("x", {**data, "new key": 1})


@given(
    st.builds(
        PersonaSettings,
        name=st.text(min_size=1, max_size=20),
        run_as=st.uuids().map(uuid.UUID.__str__),
        context_type=st.sampled_from(["", "site"]),
        priority=st.integers(-MAX_PRIORITY, MAX_PRIORITY),
        allowed_tools=st.none() | st.lists(st.sampled_from(["a", "b.c", "d-e"])).map(tuple),
        slots=st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
    )
)
def test_cleaning_twice_is_cleaning_once(settings: PersonaSettings) -> None:
    try:
        clean = settings.cleaned()
    except Invalid:
        return
    assert clean.cleaned() == clean == PersonaSettings.load(clean.dump())
