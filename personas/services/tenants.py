"""Tenants: making, moving and naming them, and the rules of their reviews, which one admin raises and two lower."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Right, Role
from personas.domain.text import TextFault, clean_name
from personas.models import RuleChangeRequest, Tenant, TenantAncestor
from personas.models.tenants import MAX_DEPTH
from personas.permissions import holds, make_role_group, require, require_superuser
from personas.services.checks import clean_note, saved

Status = RuleChangeRequest.Status


@transaction.atomic
def create_tenant(
    slug: str,
    *,
    name: str,
    actor: Actor,
    parent: Tenant | None = None,
    require_second_person: bool = False,
    required_approvals: int = 1,
) -> Tenant:
    """Make a tenant with its four roles. A superuser act. Raises `Invalid` for a taken slug or too deep a tree."""
    require_superuser(actor, "make a tenant")
    if parent:  # a move of the parent locks it as well
        Tenant.objects.select_for_update(no_key=True).get(pk=parent.pk)
    above = list(TenantAncestor.objects.filter(tenant=parent)) if parent else []
    if len(above) >= MAX_DEPTH:
        raise Invalid(f"Tenants form a tree of at most {MAX_DEPTH} levels.", field="parent")
    tenant = saved(
        Tenant(
            slug=slug,
            name=name,
            parent=parent,
            require_second_person=require_second_person,
            required_approvals=required_approvals,
        )
    )
    TenantAncestor.objects.bulk_create(
        [TenantAncestor(tenant=tenant, ancestor=tenant, distance=0)]
        + [TenantAncestor(tenant=tenant, ancestor_id=row.ancestor_id, distance=row.distance + 1) for row in above]
    )
    for role in Role:
        make_role_group(tenant, role)
    audit.record(
        "tenant.created",
        tenant,
        actor=actor,
        tenant=tenant,
        after={"slug": slug, "name": name, "parent": parent.slug if parent else None},
    )
    return tenant


@transaction.atomic
def move_tenant(tenant: Tenant, *, to: Tenant | None, actor: Actor) -> Tenant:
    """Give a tenant another parent, or none. A superuser act.

    Raises `Invalid` when that is the tenant itself, one of its descendants, or too deep.
    """
    require_superuser(actor, "move a tenant")
    # The whole closure is locked: two moves at once could each be fine and together make a loop.
    list(Tenant.objects.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    tenant = Tenant.objects.select_related("parent").get(pk=tenant.pk)
    before = tenant.parent
    below = list(TenantAncestor.objects.filter(ancestor=tenant))
    above = list(TenantAncestor.objects.filter(tenant=to)) if to else []
    if to and any(row.tenant_id == to.pk for row in below):
        raise Invalid("A tenant cannot be moved under itself or one of its own descendants.", field="parent")
    if max(row.distance for row in below) + len(above) >= MAX_DEPTH:
        raise Invalid(f"Tenants form a tree of at most {MAX_DEPTH} levels.", field="parent")
    _relink(below, above)
    tenant.parent = to
    tenant.save(update_fields=["parent"])
    audit.record(
        "tenant.moved",
        tenant,
        actor=actor,
        tenant=tenant,
        before={"parent": before.slug if before else None},
        after={"parent": to.slug if to else None},
    )
    return tenant


def _relink(below: Iterable[TenantAncestor], above: Iterable[TenantAncestor]) -> None:
    """Replace the ancestors that a moved subtree had outside itself by those of its new place."""
    below, above = list(below), list(above)
    inside = [row.tenant_id for row in below]
    TenantAncestor.objects.filter(tenant__in=inside).exclude(ancestor__in=inside).delete()
    TenantAncestor.objects.bulk_create(
        TenantAncestor(tenant_id=low.tenant_id, ancestor_id=high.ancestor_id, distance=low.distance + high.distance + 1)
        for low in below
        for high in above
    )


@transaction.atomic
def rename_tenant(tenant: Tenant, *, name: str, actor: Actor) -> Tenant:
    """Change the name that people read; the slug in addresses stays. Raises `NotPermitted` without ``change_tenant``,
    `Invalid` for an empty or malformed name."""
    require(actor, Right.CHANGE_TENANT, tenant)
    try:
        name = clean_name(name)
    except TextFault as fault:
        raise Invalid(str(fault), field="name") from fault
    tenant = Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    if name != tenant.name:
        before, tenant.name = tenant.name, name
        saved(tenant, fields=["name"])
        audit.record(
            "tenant.renamed", tenant, actor=actor, tenant=tenant, before={"name": before}, after={"name": name}
        )
    return tenant


def lowers(tenant: Tenant, *, require_second_person: bool, required_approvals: int) -> bool:
    """Whether these rules would let pass what those of today do not."""
    fewer = required_approvals < tenant.required_approvals
    return fewer or (tenant.require_second_person and not require_second_person)


def may_lower_alone(actor: Actor) -> bool:
    """Whether the actor stands outside the tenant's own admins: staff, or a superuser."""
    return actor.account.is_staff or actor.account.is_superuser


@transaction.atomic
def set_review_rules(tenant: Tenant, *, require_second_person: bool, required_approvals: int, actor: Actor) -> Tenant:
    """Set how many approvals a directive needs, and whether one of them must come from no author.

    A request to lower them that waits is closed: it spoke of other rules. Raises `NotPermitted` without
    ``change_tenant``; lowering either rule takes staff besides, or another admin (`ask_to_lower_rules`), so that nobody
    alone can approve what two were meant to see.
    """
    tenant = _lock(tenant, actor)
    wanted: dict[str, Any] = {
        "require_second_person": require_second_person,
        "required_approvals": required_approvals,
    }
    if lowers(tenant, **wanted) and not may_lower_alone(actor):
        raise NotPermitted("Lowering the rules of review takes a second person: another admin, or staff.")
    waiting = RuleChangeRequest.objects.pending().filter(tenant=tenant).first()
    if waiting is not None:
        _decide(waiting, Status.WITHDRAWN, actor)
    return _apply(tenant, wanted, actor)


@transaction.atomic
def ask_to_lower_rules(
    tenant: Tenant, *, require_second_person: bool, required_approvals: int, actor: Actor, reason: str = ""
) -> RuleChangeRequest:
    """Ask for weaker rules. Nothing changes until another admin confirms.

    Raises `NotPermitted` without ``change_tenant``, `Invalid` when nothing would be lowered, and for numbers that no
    rule can have, `Conflict` when another request waits.
    """
    tenant = _lock(tenant, actor)
    wanted: dict[str, Any] = {
        "require_second_person": require_second_person,
        "required_approvals": required_approvals,
    }
    if not lowers(tenant, **wanted):
        raise Invalid("Nothing would be lowered: set the rules at once.", field="required_approvals")
    if RuleChangeRequest.objects.pending().filter(tenant=tenant).exists():
        raise Conflict("A request waits already: confirm, decline or withdraw it first.")
    request = RuleChangeRequest(
        tenant=tenant,
        reason=clean_note(reason),
        asked_by=actor.account,
        asked_by_name=actor.name,
        **wanted,
    )
    saved(request)
    audit.record("rules.lowering_asked", request, actor=actor, tenant=tenant, before=_rules(tenant), after=wanted)
    return request


@transaction.atomic
def confirm_rule_change(request: RuleChangeRequest, *, actor: Actor) -> Tenant:
    """Lower the rules as another admin asked, at once.

    Raises `NotPermitted` without ``change_tenant``, for the one who asked, and for anything but a person; `Conflict`
    when it is decided already or the one who asked may not change the tenant any more.
    """
    tenant = _lock(request.tenant, actor)
    request = _pending(request)
    if request.asked_by_id == actor.account.pk or actor.account.is_service:
        raise NotPermitted("Another person than the one who asked has to confirm this.")
    if not holds(Actor(request.asked_by), Right.CHANGE_TENANT, tenant):
        raise Conflict(f"{request.asked_by_name} is no admin here any more, so this would be your decision alone.")
    _decide(request, Status.CONFIRMED, actor)
    wanted = {
        "require_second_person": request.require_second_person,
        "required_approvals": request.required_approvals,
    }
    return _apply(tenant, wanted, actor, note=f"Asked for by {request.asked_by_name}. {request.reason}".strip())


@transaction.atomic
def decline_rule_change(request: RuleChangeRequest, *, actor: Actor) -> RuleChangeRequest:
    """Close a request without changing the rules: declined by another admin, withdrawn by the one who asked.

    Raises `NotPermitted` without ``change_tenant``, `Conflict` when it is decided already.
    """
    _lock(request.tenant, actor)
    request = _pending(request)
    own = request.asked_by_id == actor.account.pk
    _decide(request, Status.WITHDRAWN if own else Status.DECLINED, actor)
    return request


def _lock(tenant: Tenant, actor: Actor) -> Tenant:
    require(actor, Right.CHANGE_TENANT, tenant)
    locked: Tenant = Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    return locked


def _pending(request: RuleChangeRequest) -> RuleChangeRequest:
    """The request as it is now. Its tenant is locked, and nothing decides without that."""
    row: RuleChangeRequest = RuleChangeRequest.objects.select_related("asked_by").get(pk=request.pk)
    if row.status != Status.PENDING:
        raise Conflict(f"This request was {row.get_status_display().lower()} meanwhile by {row.decided_by_name}.")
    return row


def _decide(request: RuleChangeRequest, status: RuleChangeRequest.Status, actor: Actor) -> None:
    request.status, request.decided_at = status, timezone.now()
    request.decided_by, request.decided_by_name = actor.account, actor.name
    request.save(update_fields=["status", "decided_at", "decided_by", "decided_by_name"])
    audit.record(f"rules.lowering_{status.value}", request, actor=actor, tenant=request.tenant)


def _apply(tenant: Tenant, wanted: dict[str, Any], actor: Actor, *, note: str = "") -> Tenant:
    before = _rules(tenant)
    if wanted == before:
        return tenant
    tenant.require_second_person = wanted["require_second_person"]
    tenant.required_approvals = wanted["required_approvals"]
    saved(tenant, fields=list(wanted))
    audit.record("tenant.rules_set", tenant, actor=actor, tenant=tenant, before=before, after=wanted, note=note)
    return tenant


def _rules(tenant: Tenant) -> dict[str, Any]:
    return {"require_second_person": tenant.require_second_person, "required_approvals": tenant.required_approvals}


def lock_path(tenant_id: UUID) -> None:
    """Hold a tenant and its ancestors until the end of the transaction.

    Which persona wins somewhere depends on all of them, so two changes of that in one tree wait for each other. The key
    stays free: every row written about a tenant holds it, and two holders that want more would wait for each other.
    Whoever needs the path takes it before any persona or proposal, in the order of the keys: one order for everybody.
    """
    path = TenantAncestor.objects.filter(tenant=tenant_id).values("ancestor")
    list(Tenant.objects.select_for_update(no_key=True).filter(pk__in=path).order_by("pk").values_list("pk"))
