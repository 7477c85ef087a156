"""Which agents a tenant has, by its own decision or by one of its ancestors'."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from personas.domain.bindings import Availability, fold
from personas.models import AgentClass, Tenant, TenantAgent
from personas.querysets import path_of
from personas.services.bindings import as_binding


@dataclass(frozen=True, slots=True)
class BoundAgent:
    """An agent class as a tenant has it: the binding that decides, and all bindings of the path folded."""

    agent_class: AgentClass
    binding: TenantAgent
    inherited: bool
    availability: Availability


def agents_on_path(tenant: Tenant) -> QuerySet[AgentClass, AgentClass]:
    """The agent classes that the tenant or one of its ancestors has decided about."""
    bindings = TenantAgent.objects.filter(agent_class=OuterRef("pk"), tenant__in=path_of(tenant.pk).order_by())
    return AgentClass.objects.filter(Exists(bindings)).select_related("manifest")


def bound_agents(tenant: Tenant, classes: Iterable[AgentClass]) -> list[BoundAgent]:
    """What the bindings of the tenant's path say about these classes, in their order, in two statements.

    Each class has a binding on the path, as those of `agents_on_path` do. This looks past the tenant by design: what an
    ancestor decided holds here.
    """
    classes, path = list(classes), list(path_of(tenant.pk))
    found: dict[UUID, dict[Any, TenantAgent]] = {}
    rows = TenantAgent.objects.filter(agent_class__in=classes, tenant__in=path).select_related("tenant")
    for row in rows:
        found.setdefault(row.agent_class_id, {})[row.tenant_id] = row
    return [_bound(agent_class, [found[agent_class.pk].get(level) for level in path]) for agent_class in classes]


def _bound(agent_class: AgentClass, rows: list[TenantAgent | None]) -> BoundAgent:
    defaults = agent_class.manifest.permissions if agent_class.manifest else {}
    availability = fold([as_binding(row) if row else None for row in rows], defaults)
    assert availability.level is not None
    binding = rows[availability.level]
    assert binding is not None
    return BoundAgent(agent_class, binding, availability.level > 0, availability)
