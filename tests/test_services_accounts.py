"""People and service accounts, and the rights they are given."""

from typing import Any

import pytest

from personas import permissions
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import PERSONA_RIGHTS, Right, Role
from personas.models import APIToken, AuditEntry, User
from personas.permissions import holds
from personas.services import accounts, tokens
from tests.factory import World, make_person, make_tenant, superuser


def person(**changes: Any) -> User:
    values = {"username": "ann", "name": "Ann", "email": "ann@example.test", "password": "x", **changes}
    return accounts.create_person(**values, actor=superuser())


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"username": "EDITOR"}, None),
        ({"username": "editor"}, "username"),
        ({"username": ""}, "username"),
        ({"username": "a b"}, "username"),
        ({"email": "Editor@Example.test"}, None),
        ({"email": "nobody"}, "email"),
        ({"name": "a\0"}, "name"),
    ],
)
def test_what_a_person_cannot_be_called(world: World, changes: dict[str, str], field: str | None) -> None:
    with pytest.raises(Invalid) as refusal:
        person(**changes)
    assert field is None or refusal.value.field == field


def test_only_a_superuser_makes_people(world: World) -> None:
    with pytest.raises(NotPermitted):
        accounts.create_person("ann", name="", email="", password=None, actor=world.admin)
    made = person(name="", email="")
    assert str(made) == "ann" and not made.groups.exists() and not made.is_staff


def test_service_accounts(world: World) -> None:
    with pytest.raises(NotPermitted):
        accounts.create_service_account(world.tenant, "svc-x", name="", actor=world.reviewer)
    with pytest.raises(Invalid, match="viewer or editor"):
        accounts.create_service_account(world.tenant, "svc-x", name="", actor=world.admin, role=Role.REVIEWER)
    with pytest.raises(Invalid) as refusal:
        accounts.create_service_account(world.tenant, "svc-acme", name="", actor=world.admin)
    assert refusal.value.message == "This user name is taken."
    made = accounts.create_service_account(world.tenant, "svc-x", name="X", actor=world.admin, role=Role.EDITOR)
    assert made.is_service and not made.has_usable_password()
    assert holds(Actor(made), Right.MANAGE_PERSONAS, world.tenant)
    for role in (Role.REVIEWER, Role.ADMIN):
        with pytest.raises(Invalid, match="viewer or editor of its own tenant"):
            accounts.grant_role(world.tenant, made, role, actor=world.admin)
    with pytest.raises(Invalid, match="its own tenant"):
        accounts.grant_role(world.other, made, Role.VIEWER, actor=superuser())


def test_a_service_account_is_stopped_with_its_tokens(world: World) -> None:
    tokens.create_token(world.tenant, world.service, name="t", may_review=False, actor=world.admin)
    for verb in (accounts.deactivate_service_account, accounts.activate_service_account):
        with pytest.raises(NotPermitted):
            verb(world.service, actor=world.reviewer)
        with pytest.raises(Invalid, match="a person, not a service account"):
            verb(world.viewer.account, actor=world.admin)
    stopped = accounts.deactivate_service_account(world.service, actor=world.admin)
    assert not holds(Actor(stopped), Right.VIEW_TENANT, world.tenant)
    with pytest.raises(Invalid, match="is not active"):
        accounts.grant_role(world.tenant, stopped, Role.EDITOR, actor=world.admin)
    accounts.deactivate_service_account(world.service, actor=world.admin)
    assert AuditEntry.objects.filter(verb="service_account.deactivated").count() == 1
    assert accounts.activate_service_account(world.service, actor=world.admin).is_active
    assert APIToken.objects.get().revoked_at is not None


def test_granting_and_revoking_a_role(world: World) -> None:
    ann = make_person("ann")
    for actor in (world.reviewer, world.outsider):
        with pytest.raises(NotPermitted):
            accounts.grant_role(world.tenant, ann.account, Role.VIEWER, actor=actor)
        with pytest.raises(NotPermitted):
            accounts.revoke_role(world.tenant, world.viewer.account, Role.VIEWER, actor=actor)
    for _ in range(2):
        accounts.grant_role(world.tenant, ann.account, Role.REVIEWER, actor=world.admin)
    assert holds(Actor(ann.user), Right.ACTIVATE_DIRECTIVE, world.tenant)
    assert AuditEntry.objects.filter(verb="role.granted", object_label="Ann").count() == 1
    for _ in range(2):
        accounts.revoke_role(world.tenant, ann.account, Role.REVIEWER, actor=world.admin)
    assert not holds(ann, Right.VIEW_TENANT, world.tenant)
    assert AuditEntry.objects.filter(verb="role.revoked", object_label="Ann").count() == 1


def test_nobody_widens_their_own_role(world: World) -> None:
    persona = world.persona()
    with pytest.raises(NotPermitted, match="ask another admin"):
        accounts.grant_role(world.tenant, world.admin.account, Role.REVIEWER, actor=world.admin)
    with pytest.raises(NotPermitted, match="ask another admin"):
        accounts.grant_persona_right(persona, world.admin.account, Right.ACTIVATE_DIRECTIVE, actor=world.admin)
    assert not holds(world.admin, Right.ACTIVATE_DIRECTIVE, persona)


def test_a_role_can_be_laid_down_but_an_admin_stays(world: World) -> None:
    accounts.revoke_role(world.tenant, world.viewer.account, Role.VIEWER, actor=world.viewer)
    assert not holds(world.viewer, Right.VIEW_TENANT, world.tenant)
    with pytest.raises(Conflict, match="last admin"):
        accounts.revoke_role(world.tenant, world.admin.account, Role.ADMIN, actor=world.admin)
    other = make_person("admin2", tenant=world.tenant, roles=(Role.ADMIN,))
    User.objects.filter(pk=other.account.pk).update(is_active=False)
    with pytest.raises(Conflict, match="last admin"):
        accounts.revoke_role(world.tenant, world.admin.account, Role.ADMIN, actor=superuser())
    User.objects.filter(pk=other.account.pk).update(is_active=True)
    accounts.revoke_role(world.tenant, world.admin.account, Role.ADMIN, actor=world.admin)
    assert not holds(world.admin, Right.MANAGE_MEMBERS, world.tenant)


def test_rights_on_one_persona(world: World) -> None:
    persona, keeper = world.persona(), make_person("keeper")
    with pytest.raises(NotPermitted):
        accounts.grant_persona_right(persona, keeper.account, Right.VIEW_PERSONA, actor=world.reviewer)
    with pytest.raises(Invalid, match="service account cannot hold"):
        accounts.grant_persona_right(persona, world.service, Right.ACTIVATE_DIRECTIVE, actor=world.admin)
    accounts.grant_persona_right(persona, keeper.account, Right.ACTIVATE_DIRECTIVE, actor=world.admin)
    assert {right for right in PERSONA_RIGHTS if holds(keeper, right, persona)} == {
        Right.VIEW_PERSONA,
        Right.ACTIVATE_DIRECTIVE,
    }
    with pytest.raises(NotPermitted):
        accounts.revoke_persona_right(persona, keeper.account, Right.VIEW_PERSONA, actor=world.reviewer)
    accounts.revoke_persona_right(persona, keeper.account, Right.VIEW_PERSONA, actor=world.admin)
    assert not any(holds(keeper, right, persona) for right in PERSONA_RIGHTS)


def test_an_admin_of_another_tenant_manages_nobody_here(world: World) -> None:
    child = make_tenant("child", parent=world.tenant)
    for tenant in (world.other, child):
        with pytest.raises(NotPermitted):
            accounts.grant_role(tenant, world.viewer.account, Role.VIEWER, actor=world.admin)


def test_rows_of_a_service_account_give_it_no_directive(world: World) -> None:
    permissions.give(Right.ACTIVATE_DIRECTIVE, world.service, world.tenant)
    assert not holds(Actor(world.service), Right.ACTIVATE_DIRECTIVE, world.tenant)
