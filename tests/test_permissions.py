"""Rights: what is listed and what is checked are one answer, and rows alone give nothing."""

from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Permission
from guardian.models import GroupObjectPermission, UserObjectPermission  # noqa: TID251 - to write rows no service would
from guardian.shortcuts import assign_perm  # noqa: TID251

from personas import permissions
from personas.actors import Actor
from personas.domain.errors import NotPermitted
from personas.domain.rights import PEOPLE_ONLY, PERSONA_RIGHTS, ROLE_RIGHTS, TENANT_RIGHTS, Right, Role
from personas.models import AgentPersona, APIToken, AuditEntry, Tenant, TenantAgent, User
from personas.permissions import holds, require
from personas.services import accounts, tokens
from tests.factory import World, make_person, make_tenant, superuser

V, C = Right.VIEW_TENANT, Right.CHANGE_TENANT
DESIGN = {
    Role.VIEWER: {V},
    Role.EDITOR: {V, Right.MANAGE_PERSONAS, Right.GIVE_FEEDBACK},
    Role.REVIEWER: {V, Right.MANAGE_PERSONAS, Right.GIVE_FEEDBACK, Right.ACTIVATE_DIRECTIVE},
    Role.ADMIN: {
        *(V, C, Right.MANAGE_MEMBERS, Right.MANAGE_BINDINGS, Right.MANAGE_TOKENS, Right.VIEW_AUDIT),
        *(Right.MANAGE_PERSONAS, Right.GIVE_FEEDBACK),
    },
}


def test_the_roles_hold_what_the_product_says() -> None:
    assert ROLE_RIGHTS == DESIGN
    assert {right.value for right in Right} == {
        *("view_tenant", "change_tenant", "manage-personas", "give-feedback", "activate-directive", "manage-members"),
        *("manage-bindings", "manage-tokens", "view-audit", "view_persona", "change_persona"),
    }
    assert {Right.VIEW_PERSONA, Right.CHANGE_PERSONA, Right.ACTIVATE_DIRECTIVE} == PERSONA_RIGHTS
    assert {Right.ACTIVATE_DIRECTIVE, Right.MANAGE_MEMBERS, Right.MANAGE_TOKENS} == PEOPLE_ONLY


def test_the_database_knows_these_codenames_and_no_others(db: None) -> None:
    for model, rights in (("tenant", TENANT_RIGHTS), ("agentpersona", PERSONA_RIGHTS)):
        rows = Permission.objects.filter(content_type__app_label="personas", content_type__model=model)
        assert set(rows.values_list("codename", flat=True)) == {right.value for right in rights}


@pytest.fixture
def actors(world: World) -> dict[str, Actor]:
    """The cast, and everyone whom the rows of guardian would mislead about."""
    first, second = world.persona("First"), world.persona("Second")
    found = {**world.cast, "anonymous": Actor(AnonymousUser())}
    for name in ("global", "inactive", "direct", "keeper", "watcher"):
        found[name] = make_person(name)
    for right in TENANT_RIGHTS:
        for name in ("inactive", "direct"):
            permissions.give(right, found[name].account, world.tenant)
        permissions.give(right, world.service, world.tenant)
        rows = Permission.objects.filter(codename=right.value, content_type__app_label="personas")
        found["global"].account.user_permissions.add(*rows)
    for right in PERSONA_RIGHTS:
        accounts.grant_persona_right(first, found["keeper"].account, right, actor=superuser())
        permissions.give(right, found["inactive"].account, second)
    accounts.grant_persona_right(second, found["watcher"].account, Right.VIEW_PERSONA, actor=superuser())
    User.objects.filter(username="inactive").update(is_active=False)
    found["inactive"] = Actor(User.objects.get(username="inactive"))
    found["global"] = Actor(User.objects.get(username="global"))
    found["service"] = Actor(world.service)
    found["stopped root"] = Actor(User.objects.create_superuser("old", "x", email="", is_active=False))
    found["staff"] = Actor(User.objects.create(username="staff", is_staff=True))
    for name, owner, tenant, may_review in (
        ("token", "reviewer", world.tenant, True),
        ("plain token", "reviewer", world.tenant, False),
        ("root token", "root", world.tenant, True),
        ("plain root token", "root", world.tenant, False),
        ("direct token", "direct", world.tenant, True),
    ):
        token, _ = tokens.create_token(tenant, found[owner].account, name=name, may_review=may_review, actor=None)
        found[name] = Actor(found[owner].user, token=token)
    foreign = APIToken.objects.create(
        tenant=world.other, user=found["keeper"].account, name="x", prefix="x", digest="x" * 64, may_review=True
    )
    found["keeper's foreign token"] = Actor(found["keeper"].user, token=foreign)
    return found


def expected(name: str, right: Right, tenant: str, persona: str | None) -> bool:
    """Whether somebody of the cast holds a right on a tenant, or on a persona of it, in plain words."""
    people = {"viewer", "editor", "reviewer", "admin", "second"}
    role = "reviewer" if name in ("second", "token", "plain token") else name
    if name in ("plain token", "plain root token") and right is Right.ACTIVATE_DIRECTIVE:
        return False
    if persona is not None:
        if name == "keeper":
            return persona == "First"
        if name == "watcher":
            return persona == "Second" and right is Right.VIEW_PERSONA
        right = {Right.VIEW_PERSONA: V, Right.CHANGE_PERSONA: Right.MANAGE_PERSONAS}.get(right, right)
    if name == "root":
        return True
    if name in ("root token", "plain root token", "direct", "direct token"):
        return tenant == "acme"
    if name == "service":
        return tenant == "acme" and right not in PEOPLE_ONLY
    if name == "outsider":
        return tenant == "globex"
    if name in people or name in ("token", "plain token"):
        return tenant == "acme" and right in DESIGN[Role(role)]
    return False


def test_who_holds_what(world: World, actors: dict[str, Actor]) -> None:
    """Lists and checks agree with each other and with plain words, for everybody, every right and every object."""
    tenants, personas = list(Tenant.objects.all()), list(AgentPersona.objects.select_related("tenant"))
    assert {persona.name for persona in personas} == {"First", "Second"}
    for name, actor in actors.items():
        for right, tenant in product(sorted(TENANT_RIGHTS), tenants):
            wanted = expected(name, right, tenant.slug, None)
            assert holds(actor, right, tenant) == wanted, (name, right, tenant.slug)
            assert (tenant in Tenant.objects.permitted(actor, right)) == wanted
        for right, persona in product(sorted(PERSONA_RIGHTS), personas):
            wanted = expected(name, right, persona.tenant.slug, persona.name)
            assert holds(actor, right, persona) == wanted, (name, right, persona.name)
            assert (persona in AgentPersona.objects.permitted(actor, right)) == wanted


def test_require_says_what_is_missing(world: World) -> None:
    require(world.reviewer, Right.ACTIVATE_DIRECTIVE, world.tenant)
    with pytest.raises(NotPermitted, match="You may not activate directives: “Acme” needs the right activate-directi"):
        require(world.editor, Right.ACTIVATE_DIRECTIVE, world.tenant)
    with pytest.raises(NotPermitted, match="Only a superuser"):
        permissions.require_superuser(world.admin, "do that")
    token, _ = tokens.create_token(world.tenant, world.root.account, name="t", may_review=True, actor=None)
    with pytest.raises(NotPermitted):
        permissions.require_superuser(Actor(world.root.user, token=token), "do that")


def test_a_right_is_asked_where_it_exists(world: World) -> None:
    with pytest.raises(ValueError, match="no right on a tenant"):
        Tenant.objects.permitted(world.root, Right.VIEW_PERSONA)
    with pytest.raises(ValueError, match="no right on a persona"):
        AgentPersona.objects.permitted(world.root, Right.MANAGE_TOKENS)
    with pytest.raises(ValueError, match="cannot be granted"):
        permissions.give(Right.MANAGE_TOKENS, world.viewer.account, world.persona())


def test_rights_never_flow_up_or_down(world: World) -> None:
    child = make_tenant("child", parent=world.tenant)
    below = make_person("below", tenant=child, roles=tuple(Role))
    for right in TENANT_RIGHTS:
        assert not holds(world.reviewer, right, child) and not holds(world.admin, right, child)
        assert not holds(below, right, world.tenant) and holds(below, right, child)


def test_whose_name_one_may_see(world: World, actors: dict[str, Actor]) -> None:
    def names(name: str) -> set[str]:
        return set(Tenant.objects.reachable(actors[name]).values_list("slug", flat=True))

    assert names("keeper") == names("watcher") == names("viewer") == {"acme"}
    assert names("root") == {"acme", "globex"}
    for nobody in ("anonymous", "inactive", "global", "staff", "stopped root", "keeper's foreign token"):
        assert names(nobody) == set(), nobody


def test_other_lists(world: World, actors: dict[str, Actor]) -> None:
    def seen(rows: Any) -> set[str | None]:
        return set(rows.values_list("tenant__slug", flat=True))

    assert seen(TenantAgent.objects.permitted(world.viewer)) == {"acme"}
    assert seen(TenantAgent.objects.permitted(actors["keeper"])) == set()
    assert seen(AuditEntry.objects.permitted(world.admin)) == {"acme"}
    assert seen(AuditEntry.objects.permitted(world.reviewer)) == set()
    assert seen(AuditEntry.objects.permitted(world.root)) == {"acme", "globex", None}
    assert seen(AuditEntry.objects.permitted(actors["root token"])) == {"acme"}
    assert seen(AuditEntry.objects.permitted(actors["stopped root"])) == set()


def test_log_in_grants_no_right_of_its_own(world: World) -> None:
    backend = permissions.PersonBackend()
    assert not backend.has_perm(world.root.user, "personas.view_tenant")
    assert not backend.has_module_perms(world.root.user, "personas")
    assert not backend.user_can_authenticate(world.service)
    assert backend.user_can_authenticate(world.viewer.account)


def test_rows_of_the_direct_tables_are_all_there_is(world: World) -> None:
    """A permission assigned to a governed object goes to its own table, which dies with the object."""
    assign_perm("view_tenant", world.outsider.account, world.tenant)
    assert not UserObjectPermission.objects.exists() and not GroupObjectPermission.objects.exists()
    assert holds(world.outsider, V, world.tenant)
