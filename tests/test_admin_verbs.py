"""What staff may change in the admin: each verb shows what it changes, then runs the service as that person."""

import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Right, Role
from personas.models import AuditEntry, Tenant, TenantRole, User
from personas.permissions import holds
from personas.services import members, tokens
from personas.services.accounts import grant_role
from personas.services.staff import set_account_flags
from tests.factory import World, make_person, make_tenant, superuser
from tests.pages import client_of

ACCOUNT = {"is_active": "on", "initial-is_active": "True", "initial-is_staff": "False", "initial-is_superuser": "False"}


def account(user: User) -> str:
    return f"/admin/personas/user/{user.pk}/do/account/"


def role(tenant: Tenant, name: Role) -> TenantRole:
    return TenantRole.objects.select_related("tenant").get(tenant=tenant, role=name)


def last() -> AuditEntry:
    entry: AuditEntry = AuditEntry.objects.order_by("created_at", "pk").last()
    return entry


def fresh(actor: Actor) -> User:
    return User.objects.get(pk=actor.account.pk)


# The service


def test_flags_change_with_an_audit_of_what_they_were(world: World) -> None:
    set_account_flags(world.viewer.account, actor=world.root, is_staff=True)
    assert fresh(world.viewer).is_staff
    entry = last()
    assert (entry.verb, entry.before, entry.after) == ("account.changed", {"is_staff": False}, {"is_staff": True})
    assert entry.actor == world.root.account
    count = AuditEntry.objects.count()
    set_account_flags(world.viewer.account, actor=world.root, is_staff=True, is_active=True)
    assert AuditEntry.objects.count() == count  # nothing changed, nothing said


@pytest.mark.parametrize("name", ["admin", "reviewer", "viewer", "outsider"])
def test_only_superusers_change_accounts(world: World, name: str) -> None:
    User.objects.filter(username=name).update(is_staff=True)
    actor = Actor(User.objects.get(username=name))
    for change in ({"is_superuser": True}, {"is_active": False}, {"give": [role(world.tenant, Role.ADMIN)]}):
        for user in (actor.account, world.second.account):
            with pytest.raises(NotPermitted):
                set_account_flags(user, actor=actor, **change)  # type: ignore[arg-type]
    assert not fresh(actor).is_superuser


def test_a_token_of_a_superuser_changes_no_account(world: World) -> None:
    token, _ = tokens.create_token(world.tenant, world.root.account, name="t", may_review=True, actor=None)
    with pytest.raises(NotPermitted):
        set_account_flags(world.viewer.account, actor=Actor(world.root.account, token=token), is_staff=True)


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_superuser": False}])
def test_the_last_superuser_stays(world: World, change: dict[str, bool]) -> None:
    with pytest.raises(Conflict, match="last superuser"):
        set_account_flags(world.root.account, actor=world.root, **change)  # type: ignore[arg-type]
    set_account_flags(world.second.account, actor=world.root, is_superuser=True)
    set_account_flags(world.root.account, actor=world.root, **change)  # type: ignore[arg-type]
    assert User.objects.filter(is_active=True, is_superuser=True).get() == world.second.account


@pytest.mark.parametrize("flag", ["is_staff", "is_superuser"])
def test_a_service_account_is_never_staff(world: World, flag: str) -> None:
    with pytest.raises(Invalid, match="neither staff nor superuser"):
        set_account_flags(world.service, actor=world.root, **{flag: True})  # type: ignore[arg-type]


def test_nobody_whom_a_persona_runs_as_becomes_superuser(world: World) -> None:
    world.persona()
    person = world.editor.account
    User.objects.filter(pk=person.pk).update(kind="person")
    persona = world.persona("Other")
    type(persona).objects.filter(pk=persona.pk).update(run_as=person)
    with pytest.raises(Conflict, match="run as"):
        set_account_flags(person, actor=world.root, is_superuser=True)


def test_deactivating_ends_sessions_and_tokens_for_good(world: World) -> None:
    token, secret = tokens.create_token(world.tenant, world.editor.account, name="t", may_review=False, actor=None)
    client, other = client_of(world.editor), client_of(world.admin)
    assert client.get("/t/acme/").status_code == 200
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    assert Client().get("/api/v1/personas", **bearer).status_code == 200
    set_account_flags(world.editor.account, actor=world.root, is_active=False)
    assert client.get("/t/acme/").status_code == 302
    assert Client().get("/api/v1/personas", **bearer).status_code == 401
    token.refresh_from_db()
    assert token.revoked_at is not None
    set_account_flags(world.editor.account, actor=world.root, is_active=True)
    assert client.get("/t/acme/").status_code == 302
    assert Client().get("/api/v1/personas", **bearer).status_code == 401
    assert other.get("/t/acme/").status_code == 200
    assert Session.objects.count() == 1


def test_who_was_retired_does_not_come_back(world: World) -> None:
    members.retire_account(world.viewer.account, actor=world.root)
    with pytest.raises(Conflict, match="for good"):
        set_account_flags(world.viewer.account, actor=world.root, is_active=True)


def test_roles_go_through_the_services_of_members(world: World) -> None:
    give, take = role(world.other, Role.VIEWER), role(world.tenant, Role.EDITOR)
    set_account_flags(world.editor.account, actor=world.root, give=[give], take=[take])
    assert holds(Actor(fresh(world.editor)), Right.VIEW_TENANT, world.other)
    assert not holds(Actor(fresh(world.editor)), Right.VIEW_TENANT, world.tenant)
    verbs = AuditEntry.objects.filter(object_id=str(world.editor.account.pk), verb__startswith="role.")
    assert {(entry.verb, entry.tenant) for entry in verbs.order_by("-created_at")[:2]} == {
        ("role.granted", world.other),
        ("role.revoked", world.tenant),
    }
    with pytest.raises(Conflict, match="last admin"):
        set_account_flags(world.admin.account, actor=world.root, is_staff=True, take=[role(world.tenant, Role.ADMIN)])
    assert not fresh(world.admin).is_staff  # all of it or nothing


# The pages


def test_a_change_is_shown_before_it_is_made(world: World) -> None:
    client, user = client_of(world.root), world.viewer.account
    held = str(role(world.tenant, Role.VIEWER).pk)
    data = {**ACCOUNT, "is_staff": "on", "roles": held, "initial-roles": held}
    page = client.post(account(user), data)
    assert page.status_code == 200
    assert page.context["changes"] == [("Staff", "no", "yes")]
    assert not fresh(world.viewer).is_staff
    response = client.post(account(user), {**data, "sure": "1"})
    assert response["Location"] == f"/admin/personas/user/{user.pk}/change/"
    assert fresh(world.viewer).is_staff
    entry = last()
    assert (entry.verb, entry.actor, bool(entry.request_id)) == ("account.changed", world.root.account, True)


def test_the_second_form_holds_what_the_first_one_did(world: World) -> None:
    """What the page of confirmation sends back is what was sent, with what the person had seen before."""
    client, user = client_of(world.root), world.viewer.account
    held = str(role(world.tenant, Role.VIEWER).pk)
    data = {**ACCOUNT, "is_superuser": "on", "initial-roles": held, "tenant": "globex", "role": "editor"}
    hidden = client.post(account(user), data).context["hidden"]
    sent: dict[str, Any] = {}
    for name, value in re.findall(r'name="([^"]+)"(?: value="([^"]*)")?', hidden):
        sent.setdefault(name, []).append(value)
    client.post(account(user), {**sent, "sure": "1"})
    assert fresh(world.viewer).is_superuser
    assert set(fresh(world.viewer).groups.values_list("tenant_role__tenant__slug", "tenant_role__role")) == {
        ("globex", "editor")
    }


def test_what_somebody_else_changed_meanwhile_stays(world: World) -> None:
    client, user = client_of(world.root), world.viewer.account
    held = str(role(world.tenant, Role.VIEWER).pk)
    data = {**ACCOUNT, "is_staff": "on", "roles": held, "initial-roles": held, "sure": "1"}
    set_account_flags(user, actor=world.root, is_active=False)
    client.post(account(user), data)
    assert (fresh(world.viewer).is_staff, fresh(world.viewer).is_active) == (True, False)


def test_a_role_that_was_given_meanwhile_stays(world: World) -> None:
    client, user = client_of(world.root), world.viewer.account
    held = str(role(world.tenant, Role.VIEWER).pk)
    grant_role(world.other, user, Role.EDITOR, actor=world.root)
    data = {**ACCOUNT, "initial-roles": held}  # the form showed one role, and its tick was taken
    ((label, before, after),) = client.post(account(user), data).context["changes"]
    assert label == "Roles" and "editor" in before and "viewer" in before
    assert "editor" in after and "viewer" not in after
    client.post(account(user), {**data, "sure": "1"})
    left = fresh(world.viewer).groups.values_list("tenant_role__tenant__slug", "tenant_role__role")
    assert list(left) == [("globex", "editor")]


def test_a_role_that_was_never_shown_is_neither_given_nor_taken(world: World) -> None:
    client, user = client_of(world.root), world.viewer.account
    shown, foreign = str(role(world.tenant, Role.VIEWER).pk), str(role(world.other, Role.ADMIN).pk)
    count = AuditEntry.objects.count()
    assert client.post(account(user), {**ACCOUNT, "roles": [shown, foreign], "sure": "1"}).status_code == 422
    client.post(account(user), {**ACCOUNT, "initial-roles": [shown, "x"], "roles": shown, "sure": "1"})
    assert AuditEntry.objects.count() == count
    assert [group.tenant_role.role for group in fresh(world.viewer).groups.all()] == ["viewer"]


def test_a_refusal_is_shown_and_nothing_is_written(world: World) -> None:
    client = client_of(world.root)
    count = AuditEntry.objects.count()
    data = {**ACCOUNT, "initial-is_staff": "True", "initial-is_superuser": "True", "is_staff": "on", "sure": "1"}
    page = client.post(account(world.root.account), data)
    assert page.status_code == 409
    assert "This is the last superuser" in page.content.decode()
    assert fresh(world.root).is_superuser
    data = {**ACCOUNT, "tenant": "nowhere", "role": "viewer", "sure": "1"}
    page = client.post(account(world.second.account), data)
    assert page.status_code == 422
    assert "There is no tenant “nowhere”." in page.content.decode()
    assert AuditEntry.objects.count() == count


@pytest.mark.parametrize("name", ["clerk", "chief"])
def test_verbs_are_for_who_may(world: World, name: str) -> None:
    roles = tuple(Role) if name == "chief" else ()
    make_person(name, tenant=world.tenant, roles=roles)
    User.objects.filter(username=name).update(is_staff=True)
    client = client_of(Actor(User.objects.get(username=name)))
    me = User.objects.get(username=name)
    for method in ("get", "post"):
        data = {**ACCOUNT, "is_superuser": "on", "sure": "1"} if method == "post" else {}
        assert getattr(client, method)(account(me), data).status_code == 403
        assert getattr(client, method)(account(world.outsider.account), data).status_code == 404
        tenant = f"/admin/personas/tenant/{world.tenant.pk}/do"
        hidden = f"/admin/personas/tenant/{world.other.pk}/do"
        assert getattr(client, method)(f"{tenant}/move/", {}).status_code == (403 if roles else 404)
        assert getattr(client, method)(f"{hidden}/rules/", {}).status_code == 404
        assert getattr(client, method)("/admin/personas/tenant/do/create/", {}).status_code == 403
    rules = client.get(f"{tenant}/rules/")
    assert rules.status_code == (200 if roles else 404)
    assert not User.objects.get(username=name).is_superuser
    assert last().verb == "access.refused"


def test_a_tenant_is_made_moved_and_ruled(world: World) -> None:
    client = client_of(world.root)
    data = {"slug": "labs", "name": "Labs", "parent": "acme", "required_approvals": "2", "sure": "1"}
    made = client.post("/admin/personas/tenant/do/create/", data)
    labs = Tenant.objects.get(slug="labs")
    assert made["Location"] == f"/admin/personas/tenant/{labs.pk}/change/"
    assert (labs.parent, labs.required_approvals, labs.roles.count()) == (world.tenant, 2, 4)
    base = f"/admin/personas/tenant/{labs.pk}/do"
    client.post(f"{base}/move/", {"parent": "globex", "initial-parent": "acme", "sure": "1"})
    labs = Tenant.objects.get(slug="labs")
    assert labs.parent == world.other
    assert last().verb == "tenant.moved"
    rules = {"required_approvals": "2", "initial-required_approvals": "2", "require_second_person": "on"}
    client.post(f"{base}/rules/", {**rules, "initial-require_second_person": "False", "sure": "1"})
    assert Tenant.objects.get(slug="labs").require_second_person
    assert last().verb == "tenant.rules_set"


def test_a_loop_of_tenants_is_refused(world: World) -> None:
    child = make_tenant("child", parent=world.tenant)
    data = {"parent": "child", "initial-parent": "", "sure": "1"}
    page = client_of(world.root).post(f"/admin/personas/tenant/{world.tenant.pk}/do/move/", data)
    assert page.status_code == 422
    assert "under itself or one of its own descendants" in page.content.decode()
    assert Tenant.objects.get(pk=world.tenant.pk).parent is None
    assert child.parent == world.tenant


def test_a_form_with_faults_says_where(world: World) -> None:
    data = {"slug": "acme labs", "name": "", "required_approvals": "9", "sure": "1"}
    page = client_of(superuser()).post("/admin/personas/tenant/do/create/", data)
    assert page.status_code == 422
    assert set(page.context["form"].errors) == {"slug", "name", "required_approvals"}
    taken = {"slug": "acme", "name": "Acme", "required_approvals": "1", "sure": "1"}
    page = client_of(superuser()).post("/admin/personas/tenant/do/create/", taken)
    assert page.status_code == 422
    assert "This slug is taken." in page.content.decode()
