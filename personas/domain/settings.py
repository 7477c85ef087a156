"""The settings of a persona's revision: everything besides the text that an agent is served."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self
from uuid import UUID

from personas.domain.errors import Invalid
from personas.domain.text import TextFault, check_tool_id, clean_name

LABELS = {
    "name": "Name",
    "context_type": "Context type",
    "context_id": "Context id",
    "priority": "Priority",
    "allowed_tools": "Allowed tools",
    "run_as": "Runs as",
    "acts_as": "Acts as",
    "memory_scope": "Memory scope",
    "slots": "Settings of the class",
}
MAX_PRIORITY = 1_000_000
MAX_SLOTS_BYTES = 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaSettings:
    """``allowed_tools`` None means the manifest's tools, an empty tuple none; ``run_as`` is the id of an account."""

    name: str
    run_as: str
    context_type: str = ""
    context_id: str = ""
    priority: int = 0
    allowed_tools: tuple[str, ...] | None = None
    acts_as: str = ""
    memory_scope: str = ""
    slots: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Self:
        """Settings from the JSON kept in a revision or proposal. Raises `Invalid` for an unknown key."""
        unknown = sorted(set(data) - set(LABELS))
        if unknown:
            raise Invalid(f"There is no setting “{unknown[0]}”.", field=unknown[0])
        tools = data.get("allowed_tools")
        return cls(**{**data, "allowed_tools": None if tools is None else tuple(tools)})

    def dump(self) -> dict[str, Any]:
        """The JSON form, with every key present."""
        data = asdict(self)
        data["allowed_tools"] = None if self.allowed_tools is None else list(self.allowed_tools)
        data["slots"] = dict(self.slots)
        return data

    def change(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def cleaned(self) -> Self:
        """Checked and normalised settings. Raises `Invalid` naming the field."""
        if self.context_id and not self.context_type:
            raise Invalid("A context id needs a context type.", field="context_type")
        for name in ("context_type", "context_id", "acts_as", "memory_scope"):
            check_line(name, getattr(self, name))
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise Invalid("The priority is a whole number.", field="priority")
        if abs(self.priority) > MAX_PRIORITY:
            raise Invalid(f"The priority lies between -{MAX_PRIORITY:,} and {MAX_PRIORITY:,}.", field="priority")
        try:
            name = clean_name(self.name)
        except TextFault as fault:
            raise Invalid(str(fault), field="name") from fault
        tools = None if self.allowed_tools is None else clean_tools(self.allowed_tools)
        _check_slots(self.slots)
        return replace(self, name=name, run_as=_clean_id(self.run_as), allowed_tools=tools)


def clean_tools(tools: Sequence[str], *, field: str = "allowed_tools") -> tuple[str, ...]:
    """Checked tool ids in their order, each once. Raises `Invalid` for an id that is none, naming ``field``."""
    try:
        return tuple(dict.fromkeys(check_tool_id(tool) for tool in tools))
    except TextFault as fault:
        raise Invalid(str(fault), field=field) from fault


def check_line(name: str, value: str) -> None:
    """Raise `Invalid` unless the value of a setting is one line of at most 200 characters that can all be seen."""
    if not isinstance(value, str) or len(value) > 200:
        raise Invalid(f"{LABELS[name]} is a text of at most 200 characters.", field=name)
    if value != value.strip() or not value.isprintable():
        raise Invalid(f"{LABELS[name]} has spaces around it, or characters that cannot be seen.", field=name)


def _check_slots(slots: Mapping[str, Any]) -> None:
    try:
        text = json.dumps(dict(slots), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise Invalid(f"The settings of the class are no JSON: {error}.", field="slots") from error
    if size > MAX_SLOTS_BYTES:
        raise Invalid("The settings of the class take more than 64 kB.", field="slots")
    if "\\u0000" in text:
        raise Invalid("Remove the NUL character from the settings of the class.", field="slots")


def _clean_id(ident: str) -> str:
    """The id of an account as it is compared and stored: in lower case, with hyphens."""
    try:
        return str(UUID(ident))
    except (ValueError, AttributeError, TypeError) as error:
        raise Invalid("Choose the account it runs as.", field="run_as") from error


def canonical_json(data: Any) -> bytes:
    """One byte string for one value: sorted keys, no white space, UTF-8."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def revision_digest(instructions: str, settings: Mapping[str, Any]) -> str:
    """sha256 in hex over the text and the settings of a revision."""
    return hashlib.sha256(canonical_json({"instructions": instructions, "settings": settings})).hexdigest()


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names of the settings that differ, in the order of `LABELS`."""
    return [name for name in LABELS if before.get(name) != after.get(name)]
