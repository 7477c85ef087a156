"""Which persona answers for a context, in plain rules: the oracle of the statement in ``personas/resolve.py``."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from personas.domain.text import name_key

Context = tuple[str, str]
ANYWHERE: Context = ("", "")
DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A persona as far as choosing among personas needs it. ``context`` is (type, id), empty for none."""

    id: Hashable
    tenant: Hashable
    name: str
    context: Context = ANYWHERE
    priority: int = 0
    enabled: bool = True

    @property
    def order(self) -> tuple[int, bytes, bytes]:
        """Smaller comes first: higher priority, then the name casefolded, then the exact name, bytewise."""
        return (-self.priority, name_key(self.name).encode(), self.name.encode())


def applies(candidate: Candidate, context: Context) -> bool:
    """Whether an enabled persona applies to the context: no type, or its type and no id, or both."""
    kind, ident = candidate.context
    return candidate.enabled and (kind == "" or (kind == context[0] and ident in ("", context[1])))


def specificity(candidate: Candidate) -> int:
    """2 for an exact context, 1 for a type, 0 for the whole tenant."""
    kind, ident = candidate.context
    return (kind != "") + (ident != "")


def pick(candidates: Iterable[Candidate], context: Context) -> Candidate | None:
    """The winner inside one level: the most specific, then the highest priority, then by name."""
    applicable = [candidate for candidate in candidates if applies(candidate, context)]
    return min(applicable, key=lambda c: (-specificity(c), c.order), default=None)


def walk(
    path: Sequence[Hashable], by_tenant: Mapping[Hashable, Sequence[Candidate]], context: Context
) -> tuple[int, Candidate] | None:
    """The winner along a path and its level: the first level where any persona applies ends the walk.

    Parameters: ``path`` of tenants, nearest first; ``by_tenant`` the personas of each.
    """
    for level, tenant in enumerate(path):
        winner = pick(by_tenant.get(tenant, ()), context)
        if winner is not None:
            return level, winner
    return None


def contexts_to_try(candidates: Iterable[Candidate]) -> set[Context]:
    """A finite set of contexts that stands for all of them: those named, and one unnamed id of each type."""
    found = {candidate.context for candidate in candidates}
    return found | {(kind, "\0") for kind, _ in found if kind} | {ANYWHERE}


def displaced(
    before: Sequence[Candidate], after: Sequence[Candidate], paths: Iterable[Sequence[Hashable]]
) -> set[tuple[Hashable | None, Hashable | None]]:
    """Who loses an answer to whom when the personas change from ``before`` to ``after``.

    Parameters: the personas of one agent class, in both states, and the ``paths`` of the tenants to look at.
    Returns pairs of (loser id, winner id); None stands for the manifest's default.
    """
    old, new = _best(before), _best(after)
    contexts = contexts_to_try([*before, *after])
    pairs: set[tuple[Hashable | None, Hashable | None]] = set()
    for path, context in product(paths, contexts):
        pair = (_winner(path, old, context), _winner(path, new, context))
        if pair[0] != pair[1]:
            pairs.add(pair)
    return pairs


def _best(candidates: Iterable[Candidate]) -> dict[tuple[Hashable, Context], Candidate]:
    """The first enabled persona of each tenant and exact context, so that a lookup replaces a search."""
    best: dict[tuple[Hashable, Context], Candidate] = {}
    for candidate in candidates:
        key = (candidate.tenant, candidate.context)
        if candidate.enabled and (key not in best or candidate.order < best[key].order):
            best[key] = candidate
    return best


def _winner(
    path: Sequence[Hashable], best: Mapping[tuple[Hashable, Context], Candidate], context: Context
) -> Hashable | None:
    """The same answer as `walk`, by lookups."""
    for tenant in path:
        for known in (context, (context[0], ""), ANYWHERE):
            if (tenant, known) in best:
                return best[tenant, known].id
    return None


def memory_scope(
    agent_class: str, tenant: str, context: Context, *, persona_id: str | None, persona: str, manifest: str
) -> str:
    """Where memory is kept: the persona's scope, else the manifest's, else one derived.

    Derived is ``persona:<id>``, and for the default answer ``<class>:<requesting tenant>[:<type>[:<id>]]``.
    """
    if persona_id is not None:
        return persona or manifest or f"persona:{persona_id}"
    parts = [agent_class, tenant, *([context[0]] if context[0] else []), *([context[1]] if context[1] else [])]
    return manifest or ":".join(parts)


def subscriber(agent_class: str, persona_id: str | None, name: str) -> tuple[str | None, str]:
    """Instance key and dispatch subscriber: the persona named ``default`` is the singleton and has no key."""
    if persona_id is None or name == DEFAULT_NAME:
        return None, agent_class
    return persona_id, f"{agent_class}#{persona_id}"
