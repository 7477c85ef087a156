"""Tenants: making them, moving them, and the rules of their reviews."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import F

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Right, Role
from personas.models import Tenant, TenantAncestor
from personas.models.tenants import MAX_DEPTH
from personas.permissions import make_role_group, require, require_superuser
from personas.services.checks import saved


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
def set_review_rules(tenant: Tenant, *, require_second_person: bool, required_approvals: int, actor: Actor) -> Tenant:
    """Set how many approvals a directive needs, and whether one of them must come from no author.

    Raises `NotPermitted` without ``change_tenant``; lowering either rule takes staff besides, so that nobody alone can
    approve what two were meant to see.
    """
    require(actor, Right.CHANGE_TENANT, tenant)
    tenant = Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    before = {"require_second_person": tenant.require_second_person, "required_approvals": tenant.required_approvals}
    lowered = required_approvals < tenant.required_approvals or (
        tenant.require_second_person and not require_second_person
    )
    if lowered and not (actor.account.is_superuser or actor.account.is_staff):
        raise NotPermitted("Lowering the rules of review takes a second person: ask a member of staff to do it.")
    tenant.require_second_person, tenant.required_approvals = require_second_person, required_approvals
    saved(tenant, fields=["require_second_person", "required_approvals"])
    after = {"require_second_person": require_second_person, "required_approvals": required_approvals}
    audit.record("tenant.rules_set", tenant, actor=actor, tenant=tenant, before=before, after=after)
    return tenant


def lock_path(tenant: Tenant) -> None:
    """Hold the tenant and its ancestors until the end of the transaction, the root first.

    Which persona wins somewhere depends on all of them, so two changes of that in one tree wait for each other. The key
    stays free: every row written about a tenant holds it, and two holders that want more would wait for each other.
    Raises `Conflict` when the tenant has gone.
    """
    rows = (
        TenantAncestor.objects.filter(tenant=tenant).order_by(F("distance").desc()).values_list("ancestor", flat=True)
    )
    path = list(rows)
    if not path:
        raise Conflict("This tenant is gone.")
    for pk in path:
        Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=pk)
