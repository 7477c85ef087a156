"""Bindings: enabling and disabling an agent for a tenant, and the ceiling on what it may do."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from personas import audit
from personas.actors import Actor
from personas.domain.bindings import Availability, Binding, fold, widens
from personas.domain.errors import Invalid, SecondPersonRequired
from personas.domain.rights import Right
from personas.models import AgentClass, Tenant, TenantAgent, TenantAncestor
from personas.permissions import require
from personas.services.tenants import lock_path


def as_binding(row: TenantAgent) -> Binding:
    """A binding row as the rules see it."""
    return Binding(active=row.status == "active", enforced=row.enforced, overrides=row.permissions)


def availability_below(tenant: Tenant, agent_class: AgentClass) -> dict[UUID, Availability]:
    """What the agent may do at a tenant and at each of its descendants."""
    below = TenantAncestor.objects.filter(ancestor=tenant).values("tenant")
    paths: dict[UUID, list[UUID]] = {}
    for row in TenantAncestor.objects.filter(tenant__in=below).order_by("tenant", "distance"):
        paths.setdefault(row.tenant_id, []).append(row.ancestor_id)
    everyone = {pk for path in paths.values() for pk in path}
    bindings = {
        row.tenant_id: as_binding(row)
        for row in TenantAgent.objects.filter(agent_class=agent_class, tenant__in=everyone)
    }
    defaults = agent_class.manifest.permissions if agent_class.manifest else {}
    return {pk: fold([bindings.get(level) for level in path], defaults) for pk, path in paths.items()}


@transaction.atomic
def enable_agent(tenant: Tenant, agent_class: AgentClass, *, actor: Actor) -> None:
    """Make the agent active for the tenant. Raises `NotPermitted` without the rights (see `_change`)."""
    _change(tenant, agent_class, "agent.enabled", {"status": TenantAgent.Status.ACTIVE}, actor)


@transaction.atomic
def disable_agent(tenant: Tenant, agent_class: AgentClass, *, actor: Actor) -> None:
    """Stop the agent for the tenant and all that inherit from it. A stop: ``manage-bindings`` is enough."""
    _change(tenant, agent_class, "agent.disabled", {"status": TenantAgent.Status.DISABLED}, actor)


@transaction.atomic
def set_agent_permissions(
    tenant: Tenant, agent_class: AgentClass, permissions: Mapping[str, bool], *, actor: Actor
) -> None:
    """Replace the whole map of permission overrides. Raises `Invalid` for a value that is neither true nor false."""
    for name, granted in permissions.items():
        if not isinstance(granted, bool):
            raise Invalid(f"The permission “{name}” is granted (true) or revoked (false).", field="permissions")
    _change(tenant, agent_class, "agent.permissions_set", {"permissions": dict(permissions)}, actor)


@transaction.atomic
def set_agent_enforced(tenant: Tenant, agent_class: AgentClass, *, enforced: bool, actor: Actor) -> None:
    """Set whether the binding cannot be re-enabled or widened below this tenant."""
    _change(tenant, agent_class, "agent.enforced_set", {"enforced": enforced}, actor)


@transaction.atomic
def clear_agent_override(tenant: Tenant, agent_class: AgentClass, *, actor: Actor) -> None:
    """Remove the tenant's own binding, so that the parent's counts; nothing happens if there is none."""
    _change(tenant, agent_class, "agent.override_cleared", None, actor)


def _change(tenant: Tenant, agent_class: AgentClass, verb: str, changes: dict[str, Any] | None, actor: Actor) -> None:
    """Write a binding and audit it.

    Narrowing needs ``manage-bindings``. If anything is widened, here or at a descendant, `resolve` would allow what it
    did not before: that needs ``activate-directive`` too. Raises `NotPermitted`, and `SecondPersonRequired` where the
    tenant's rules ask for more than one person.
    """
    require(actor, Right.MANAGE_BINDINGS, tenant)
    lock_path(tenant.pk)
    agent_class = AgentClass.objects.select_related("manifest").get(pk=agent_class.pk)
    before = availability_below(tenant, agent_class)
    row = TenantAgent.objects.select_for_update().filter(tenant=tenant, agent_class=agent_class).first()
    old = _shown(row)
    if changes is None:
        if row is None:
            return
        row.delete()
        new = None
    else:
        row = row or TenantAgent(tenant=tenant, agent_class=agent_class)
        for name, value in changes.items():
            setattr(row, name, value)
        row.save()
        new = _shown(row)
    after = availability_below(tenant, agent_class)
    if any(widens(before[pk], after[pk]) for pk in after):
        require(actor, Right.ACTIVATE_DIRECTIVE, tenant)
        _require_second_person(tenant, actor)
    audit.record(verb, agent_class, actor=actor, tenant=tenant, before={"binding": old}, after={"binding": new})


def _require_second_person(tenant: Tenant, actor: Actor) -> None:
    """A binding has no proposal that others could see, so under the rules nobody of the tenant widens one alone."""
    tenant = Tenant.objects.get(pk=tenant.pk)
    strict = tenant.require_second_person or tenant.required_approvals > 1
    if strict and not actor.account.is_superuser:
        raise SecondPersonRequired(
            f"{tenant} asks for a second person: a superuser has to widen what this agent may do. Narrowing is free."
        )


def _shown(row: TenantAgent | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {"status": str(row.status), "permissions": row.permissions, "enforced": row.enforced}
