"""Tenants: the tree and its closure, names, and the rules of review."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from personas.domain.errors import Conflict, Invalid, NotPermitted, Refused
from personas.domain.rights import ROLE_RIGHTS, Role
from personas.models import AuditEntry, RuleChangeRequest, Tenant, TenantAncestor, TenantGroupObjectPermission
from personas.services import accounts, tenants
from tests.factory import World, make_person, make_tenant, superuser

RULES = {"require_second_person": False, "required_approvals": 1}
STRICT = {"require_second_person": True, "required_approvals": 2}


def closure() -> set[tuple[str, str, int]]:
    return set(TenantAncestor.objects.values_list("tenant__slug", "ancestor__slug", "distance"))


def closure_by_parents() -> set[tuple[str, str, int]]:
    """What the closure has to be, by walking up from each tenant."""
    found = set()
    for tenant in Tenant.objects.all():
        above: Tenant | None = tenant
        distance = 0
        while above is not None:
            found.add((tenant.slug, above.slug, distance))
            above, distance = above.parent, distance + 1
    return found


def test_a_tenant_comes_with_its_roles(db: None) -> None:
    tenant = make_tenant("acme")
    for role in tenant.roles.all():
        rows = TenantGroupObjectPermission.objects.filter(group=role.group, content_object=tenant)
        assert set(rows.values_list("permission__codename", flat=True)) == ROLE_RIGHTS[Role(role.role)]
    assert tenant.roles.count() == len(Role)
    entry = AuditEntry.objects.get(verb="tenant.created")
    assert (entry.tenant, entry.after["slug"]) == (tenant, "acme")


def test_who_may_make_and_move_tenants(world: World) -> None:
    for actor in (world.admin, world.outsider, world.reviewer):
        with pytest.raises(NotPermitted, match="Only a superuser"):
            tenants.create_tenant("new", name="New", actor=actor)
        with pytest.raises(NotPermitted, match="Only a superuser"):
            tenants.move_tenant(world.tenant, to=None, actor=actor)


@pytest.mark.parametrize(
    ("slug", "name", "field"),
    [("acme", "X", "slug"), ("a b", "X", "slug"), ("", "X", "slug"), ("x", "", "name"), ("x", "x" * 151, "name"),
     ("x", "a\0", "name")],
)  # fmt: skip
def test_what_a_tenant_cannot_be_called(world: World, slug: str, name: str, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        tenants.create_tenant(slug, name=name, actor=superuser())
    assert refusal.value.field == field


def test_the_tree_is_at_most_ten_deep(db: None) -> None:
    chain = [make_tenant("t0")]
    for depth in range(1, 10):
        chain.append(make_tenant(f"t{depth}", parent=chain[-1]))
    with pytest.raises(Invalid, match="at most 10 levels"):
        make_tenant("t10", parent=chain[-1])
    pair = make_tenant("pair")
    make_tenant("pair-child", parent=pair)
    with pytest.raises(Invalid, match="at most 10 levels"):
        tenants.move_tenant(pair, to=chain[8], actor=superuser())
    tenants.move_tenant(pair, to=chain[7], actor=superuser())
    assert closure() == closure_by_parents()


def test_nobody_is_their_own_ancestor(db: None) -> None:
    top = make_tenant("top")
    low = make_tenant("low", parent=make_tenant("mid", parent=top))
    for place in (top, low):
        with pytest.raises(Invalid, match="under itself or one of its own descendants"):
            tenants.move_tenant(top, to=place, actor=superuser())
    assert closure() == closure_by_parents()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 5)), max_size=8))
def test_moving_keeps_the_closure_true(db: None, moves: list[tuple[int, int | None]]) -> None:
    rows = [Tenant.objects.filter(slug=f"m{n}").first() or make_tenant(f"m{n}") for n in range(6)]
    for one, to in moves:
        try:
            tenants.move_tenant(rows[one], to=None if to is None else rows[to], actor=superuser())
        except Invalid:
            continue
        assert closure() == closure_by_parents()


def test_renaming(world: World) -> None:
    with pytest.raises(NotPermitted):
        tenants.rename_tenant(world.tenant, name="X", actor=world.reviewer)
    with pytest.raises(Invalid):
        tenants.rename_tenant(world.tenant, name=" ", actor=world.admin)
    assert tenants.rename_tenant(world.tenant, name=" Acme Inc. ", actor=world.admin).name == "Acme Inc."
    tenants.rename_tenant(world.tenant, name="Acme Inc.", actor=world.admin)
    assert AuditEntry.objects.filter(verb="tenant.renamed").count() == 1


def lower(world: World) -> RuleChangeRequest:
    tenants.set_review_rules(world.tenant, **STRICT, actor=world.admin)
    return tenants.ask_to_lower_rules(world.tenant, **RULES, actor=world.admin, reason="Too slow.")


def test_two_admins_lower_the_rules(world: World) -> None:
    request = lower(world)
    with pytest.raises(NotPermitted, match="Another person"):
        tenants.confirm_rule_change(request, actor=world.admin)
    with pytest.raises(NotPermitted):
        tenants.confirm_rule_change(request, actor=world.reviewer)
    with pytest.raises(Conflict, match="waits already"):
        tenants.ask_to_lower_rules(world.tenant, **RULES, actor=world.admin)
    other = make_person("admin2", tenant=world.tenant, roles=(Role.ADMIN,))
    tenant = tenants.confirm_rule_change(request, actor=other)
    assert (tenant.require_second_person, tenant.required_approvals) == (False, 1)
    with pytest.raises(Conflict, match="was confirmed meanwhile by Admin2"):
        tenants.confirm_rule_change(request, actor=other)
    assert AuditEntry.objects.filter(verb="tenant.rules_set", note="Asked for by Admin. Too slow.").exists()


def test_who_is_no_admin_any_more_has_asked_for_nothing(world: World) -> None:
    request = lower(world)
    other = make_person("admin2", tenant=world.tenant, roles=(Role.ADMIN,))
    accounts.revoke_role(world.tenant, world.admin.account, Role.ADMIN, actor=other)
    with pytest.raises(Conflict, match="no admin here any more"):
        tenants.confirm_rule_change(request, actor=other)
    assert tenants.decline_rule_change(request, actor=other).status == "declined"


@pytest.mark.parametrize("way", ["withdraw", "set"])
def test_a_request_is_over(world: World, way: str) -> None:
    request = lower(world)
    if way == "withdraw":
        tenants.decline_rule_change(request, actor=world.admin)
    else:
        tenants.set_review_rules(world.tenant, require_second_person=True, required_approvals=3, actor=world.admin)
    request.refresh_from_db()
    assert request.status == "withdrawn"
    world.tenant.refresh_from_db()
    assert world.tenant.require_second_person


@pytest.mark.parametrize(
    ("rules", "refusal"),
    [(STRICT, Invalid), ({**STRICT, "required_approvals": 0}, Invalid), ({**STRICT, "required_approvals": 3}, Invalid)],
)
def test_what_is_no_lowering(world: World, rules: dict[str, Any], refusal: type[Refused]) -> None:
    tenants.set_review_rules(world.tenant, **STRICT, actor=world.admin)
    with pytest.raises(refusal):
        tenants.ask_to_lower_rules(world.tenant, **rules, actor=world.admin)
