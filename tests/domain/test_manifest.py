"""What a manifest may say."""

from typing import Any

import pytest

from personas.domain.errors import Invalid
from personas.domain.manifest import EMPTY, clean_manifest, short_name


def test_the_short_name() -> None:
    assert short_name("@acme/agents:Support") == "Support"
    assert short_name("@a.b-c/d_e.f:X_1") == "X_1"


@pytest.mark.parametrize(
    "name",
    ["", "Support", "acme/agents:Support", "@acme:Support", "@acme/agents", "@acme/agents:", "@Acme/agents:Support",
     "@acme/agents:1st", "@acme/agents:Sup port", "@acme/agents:A:B", "@acme/agents:Support\n", "@/agents:A"],
)  # fmt: skip
def test_names_of_another_form(name: str) -> None:
    with pytest.raises(Invalid, match="@scope/package:Name") as refusal:
        short_name(name)
    assert refusal.value.field == "canonical"


def test_what_is_absent_is_empty() -> None:
    assert clean_manifest({}) == EMPTY
    given = {"instructions": "a\r\nb", "tools": ["x", "y", "x"], "permissions": {"tool:x": True}, "memory_scope": "m"}
    clean = clean_manifest(given)
    assert clean == {**EMPTY, **given, "instructions": "a\nb", "tools": ["x", "y"]}
    assert clean_manifest(clean) == clean


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        ({"colour": "red"}, "colour"),
        ({"tools": "x"}, "tools"),
        ({"permissions": []}, "permissions"),
        ({"instructions": None}, "instructions"),
        ({"permissions": {"tool:x": 1}}, "permissions"),
        ({"tools": ["a b"]}, "tools"),
        ({"required_tools": [""]}, "required_tools"),
        ({"memory_scope": "x" * 201}, "memory_scope"),
        ({"memory_scope": "a\0"}, "memory_scope"),
        ({"instructions": "a\0"}, "instructions"),
        ({"instructions": "x" * 100_001}, "instructions"),
    ],
)
def test_faults_name_their_key(manifest: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        clean_manifest(manifest)
    assert refusal.value.field == field


def test_cleaning_leaves_what_it_is_given() -> None:
    given: dict[str, Any] = {"tools": ["x", "x"]}
    clean_manifest(given)
    assert given == {"tools": ["x", "x"]}
