"""What a tenant's binding, and those above it, allow an agent class to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TOOL_PREFIX = "tool:"


@dataclass(frozen=True, slots=True)
class Binding:
    """One tenant's decision about one agent class.

    ``overrides``: permission id to granted (true) or revoked (false); an absent id keeps the manifest's default.
    """

    active: bool
    enforced: bool
    overrides: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Availability:
    """The folded bindings of a path.

    ``ceiling`` is the set of tools that may be used at most; None leaves them open. ``permissions`` maps every known
    permission id to granted or not. ``level`` is the index of the binding that decided, None where there is none.
    """

    available: bool
    ceiling: frozenset[str] | None
    permissions: Mapping[str, bool]
    level: int | None


def merge_permissions(defaults: Mapping[str, bool], overrides: Mapping[str, bool]) -> dict[str, bool]:
    """The manifest's defaults overlaid with one binding's overrides."""
    return {**defaults, **overrides}


def tool_ceiling(permissions: Mapping[str, bool]) -> frozenset[str] | None:
    """The granted permissions that start with ``tool:``, prefix removed; None if no such permission is named."""
    tools = {name: granted for name, granted in permissions.items() if name.startswith(TOOL_PREFIX)}
    if not tools:
        return None
    return frozenset(name.removeprefix(TOOL_PREFIX) for name, granted in tools.items() if granted)


def fold(bindings: Sequence[Binding | None], defaults: Mapping[str, bool]) -> Availability:
    """Fold the bindings of a tenant's path into one answer.

    The nearest binding wins whole; an ancestor's ``enforced`` binding cannot be re-enabled or widened below it.

    Parameters: ``bindings`` of the tenant and its ancestors, nearest first, None where a level has none;
    ``defaults`` of the manifest's permissions.
    """
    nearest = next((index for index, binding in enumerate(bindings) if binding is not None), None)
    if nearest is None:
        return Availability(available=False, ceiling=frozenset(), permissions=dict(defaults), level=None)
    deciding = [
        binding
        for index, binding in enumerate(bindings)
        if binding is not None and (index == nearest or binding.enforced)
    ]
    available = all(binding.active for binding in deciding)
    merged = [merge_permissions(defaults, binding.overrides) for binding in deciding]
    permissions = {
        name: all(level.get(name, defaults.get(name, True)) for level in merged)
        for name in dict.fromkeys(name for level in merged for name in level)
    }
    ceiling: frozenset[str] | None = None
    for level in merged:
        tools = tool_ceiling(level)
        if tools is not None:
            ceiling = tools if ceiling is None else ceiling & tools
    return Availability(available=available, ceiling=ceiling, permissions=permissions, level=nearest)


def limit_tools(tools: Sequence[str], availability: Availability) -> list[str]:
    """The tools that are left: none for an agent that is not available, else those under the ceiling, in order."""
    if not availability.available:
        return []
    if availability.ceiling is None:
        return list(tools)
    return [tool for tool in tools if tool in availability.ceiling]


def widens(before: Availability, after: Availability) -> bool:
    """Whether ``after`` allows anything that ``before`` did not: the agent itself, or a tool."""
    if not after.available:
        return False
    if not before.available:
        return True
    if before.ceiling is None:
        return False
    return after.ceiling is None or not after.ceiling <= before.ceiling
