"""What a manifest may say."""

import re
from collections.abc import Mapping
from typing import Any

from personas.domain.errors import Invalid
from personas.domain.settings import check_line, clean_tools
from personas.domain.text import TextFault, clean_instructions

CANONICAL = re.compile(r"@[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*:[A-Za-z][A-Za-z0-9_]*")
EMPTY: dict[str, Any] = {
    "instructions": "",
    "tools": [],
    "catalogue": [],
    "permissions": {},
    "memory_scope": "",
    "ui_slots": [],
    "admin_routes": [],
    "profile_layer": {},
    "required_tools": [],
}


def short_name(canonical: str) -> str:
    """The part after the colon of ``@scope/package:Name``. Raises `Invalid` for a name of another form."""
    if not CANONICAL.fullmatch(canonical):
        raise Invalid("The canonical name has the form @scope/package:Name.", field="canonical")
    return canonical.rpartition(":")[2]


def clean_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A whole manifest with defaults for what is absent. Raises `Invalid` naming the first fault's key."""
    unknown = sorted(set(manifest) - set(EMPTY))
    if unknown:
        raise Invalid(f"There is no manifest key “{unknown[0]}”.", field=unknown[0])
    clean = {**EMPTY, **manifest}
    for key, default in EMPTY.items():
        if not isinstance(clean[key], type(default)):
            raise Invalid(f"“{key}” is to be a {_kind(default)}.", field=key)
    for name, granted in clean["permissions"].items():
        if not isinstance(granted, bool):
            raise Invalid(f"The permission “{name}” is granted (true) or not (false).", field="permissions")
    for key in ("tools", "required_tools"):
        clean[key] = list(clean_tools(clean[key], field=key))
    check_line("memory_scope", clean["memory_scope"])
    try:
        clean["instructions"] = clean_instructions(clean["instructions"], allow_empty=True)
    except TextFault as fault:
        raise Invalid(str(fault), field="instructions") from fault
    return clean


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "mapping"
