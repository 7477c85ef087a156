"""The members of a tenant: what they are given and lose, over HTTP, at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from personas import hooks
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Right, Role
from personas.models import APIToken, AuditEntry, TenantRole, User
from personas.permissions import give, holds, rights_on
from personas.services import accounts, tokens
from personas.services.invitations import invite_member
from personas.services.members import remove_member, retire_account
from personas.services.staff import set_account_flags
from tests.factory import PASSWORD, World, make_person, make_tenant, superuser
from tests.pages import client_of

MEMBERS = "/t/acme/members/"


def page_of(actor: Actor | User) -> str:
    return f"{MEMBERS}{(actor.account if isinstance(actor, Actor) else actor).pk}/"


def call(secret: str) -> int:
    header = {"Authorization": f"Bearer {secret}"}
    status: int = Client().get("/api/v1/resolve?agent_class=Support", headers=header).status_code
    return status


def fresh(actor: Actor) -> User:
    return User.objects.get(pk=actor.account.pk)


def test_the_page_shows_who_holds_what(world: World) -> None:
    accounts.grant_role(world.tenant, world.viewer.account, Role.REVIEWER, actor=superuser())
    tokens.create_token(world.tenant, world.service, name="t", may_review=False, actor=None)
    tokens.create_token(world.other, world.outsider.account, name="t", may_review=False, actor=None)
    world.persona()
    page = client_of(world.viewer).get(MEMBERS).content.decode()
    assert "5 people, 1 service account" in page and "3 people can make a text live" in page
    assert "editor@example.test" in page and "svc-acme</code>, runs 1 persona" in page
    assert "outsider" not in page.lower()
    row = page[page.index("<b>Viewer</b>") :].split("</tr>")[0]
    assert row.count('aria-label="yes"') == 2 and 'class="tag">you' in row
    assert "Add a person" not in page and "Add a person" in client_of(world.admin).get(MEMBERS).content.decode()


def test_two_hundred_members_in_pages(world: World) -> None:
    group = TenantRole.objects.get(tenant=world.tenant, role="viewer").group
    crowd = User.objects.bulk_create(
        User(username=f"n{n:03}", name=f"Person {n:03}", email=f"n{n:03}@example.test", password="!")
        for n in range(200)
    )
    group.user_set.add(*crowd)
    client = client_of(world.admin)
    with CaptureQueriesContext(connection) as statements:
        page = client.get(MEMBERS).content.decode()
    assert "205 people" in page and "Page 1 of 3" in page
    assert len(statements) <= 30
    assert "Person 199" in client.get(f"{MEMBERS}?page=3").content.decode()
    found = client.get(f"{MEMBERS}?q=n150@").content.decode()
    assert "Person 150" in found and "Person 151" not in found
    assert "Nobody matches" in client.get(f"{MEMBERS}?q=zzz").content.decode()


def test_a_role_is_given_and_taken_after_saying_what_it_means(world: World) -> None:
    client, own = client_of(world.admin), client_of(world.viewer)
    persona = world.persona()
    propose = f"/t/acme/personas/{persona.pk}/propose/"
    _, secret = tokens.create_token(world.tenant, world.viewer.account, name="t", may_review=False, actor=None)
    role = f"{page_of(world.viewer)}roles/reviewer/"
    assert "can make a text live" in client.get(role).content.decode()
    assert own.get(propose).status_code == 403
    assert client.post(role, {"do": "give"})["Location"] == page_of(world.viewer)
    assert own.get(propose).status_code == 200
    assert "Take the role" in client.get(role).content.decode()
    client.post(role, {"do": "take"})
    assert own.get(propose).status_code == 403 and call(secret) == 200
    client.post(f"{page_of(world.viewer)}roles/viewer/", {"do": "take"})
    assert own.get("/t/acme/").status_code == 404 and call(secret) != 200
    changes = AuditEntry.objects.filter(tenant=world.tenant, verb__startswith="role.").order_by("created_at")
    verbs = list(changes.values_list("verb", flat=True))
    assert verbs[-3:] == ["role.granted", "role.revoked", "role.revoked"]


def test_nobody_changes_their_own_roles_but_to_leave(world: World) -> None:
    client = client_of(world.admin)
    refused = client.post(f"{page_of(world.admin)}roles/reviewer/", {"do": "give"})
    assert refused.status_code == 403 and "Nobody gives a role" in refused.content.decode()
    persona = world.persona()
    data = {"do": "give", "persona": str(persona.pk), "right": "activate-directive"}
    assert client.post(f"{page_of(world.admin)}personas/", data).status_code == 403
    assert not holds(world.admin, Right.ACTIVATE_DIRECTIVE, persona)
    laid_down = client_of(world.editor).post(f"{page_of(world.editor)}roles/editor/", {"do": "take"})
    assert laid_down["Location"] == "/"
    assert rights_on(world.editor, world.tenant) == frozenset()


@pytest.mark.parametrize("way", ["roles/admin/", "remove/"])
def test_the_last_admin_stays(world: World, way: str) -> None:
    page = page_of(world.admin) + way
    for client in (client_of(world.admin), client_of(world.root)):
        assert "The only admin" in client.get(page).content.decode()
        refused = client.post(page, {"do": "take"})
        assert refused.status_code == 409 and "last admin" in refused.content.decode()
    with pytest.raises(Conflict):
        retire_account(world.admin.account, actor=world.root)
    with pytest.raises(Conflict):
        set_account_flags(world.admin.account, is_active=False, actor=world.root)
    assert holds(Actor(fresh(world.admin)), Right.MANAGE_MEMBERS, world.tenant)
    stopped = make_person("stopped", tenant=world.tenant, roles=(Role.ADMIN,))
    User.objects.filter(pk=stopped.account.pk).update(is_active=False)
    assert client_of(world.admin).post(page, {"do": "take"}).status_code == 409
    make_person("second-admin", tenant=world.tenant, roles=(Role.ADMIN,))
    assert client_of(world.admin).post(page, {"do": "take"}).status_code == 302


def test_removing_takes_everything_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(hooks, "person_removed", [lambda user, tenant, actor: heard.append((user, tenant, actor))])
    persona = world.persona()
    person, session = world.reviewer, client_of(world.reviewer)
    accounts.grant_persona_right(persona, person.account, Right.CHANGE_PERSONA, actor=superuser())
    give(Right.VIEW_AUDIT, person.account, world.tenant)
    _, secret = tokens.create_token(world.tenant, person.account, name="t", may_review=True, actor=None)
    assert session.get("/t/acme/").status_code == 200 and call(secret) == 200
    confirm = client_of(world.admin).get(f"{page_of(person)}remove/").content.decode()
    assert "the role reviewer" in confirm and "Desk" in confirm and "1 token " in confirm
    assert client_of(world.admin).post(f"{page_of(person)}remove/")["Location"] == MEMBERS
    assert session.get("/t/acme/").status_code == 302 and call(secret) == 401
    gone = fresh(person)
    assert (gone.username, gone.name, gone.email, gone.is_active) == ("former-member-1", "former member 1", "", False)
    assert not gone.has_usable_password() and not gone.groups.exists()
    assert not APIToken.objects.filter(user=gone, revoked_at=None).exists()
    gone.is_active = True  # not even then
    assert rights_on(Actor(gone), world.tenant) == frozenset() and not holds(Actor(gone), Right.VIEW_PERSONA, persona)
    assert [(user.pk, tenant, actor.account.username) for user, tenant, actor in heard] == [
        (gone.pk, world.tenant, "admin")
    ]


def test_names_stay_where_they_were_written(world: World) -> None:
    persona = world.persona()
    remove_member(world.tenant, world.reviewer.account, actor=world.admin)
    assert persona.revisions.get().author_name == "Reviewer"
    assert persona.activations.first().actor_name == "Reviewer"
    entry = AuditEntry.objects.get(verb="member.removed")
    assert (entry.object_label, entry.actor_name) == ("Reviewer", "Admin")
    assert entry.before["roles"] == ["reviewer"]
    assert AuditEntry.objects.get(verb="account.retired").object_label == "Reviewer"
    page = client_of(world.admin).get(MEMBERS).content.decode()
    assert "1 former member" in page and "reviewer@example.test" not in page


def test_who_belongs_elsewhere_keeps_the_account(world: World) -> None:
    accounts.grant_role(world.other, world.reviewer.account, Role.VIEWER, actor=superuser())
    _, secret = tokens.create_token(world.other, world.reviewer.account, name="t", may_review=False, actor=None)
    session = client_of(world.reviewer)
    page = client_of(world.admin).get(f"{page_of(world.reviewer)}remove/").content.decode()
    assert "Globex" not in page
    remove_member(world.tenant, world.reviewer.account, actor=world.admin)
    assert fresh(world.reviewer).name == "Reviewer"
    assert session.get("/t/globex/").status_code == 200 and session.get("/t/acme/").status_code == 404
    assert call(secret) == 200


@pytest.mark.parametrize("flag", ["is_staff", "is_superuser"])
def test_staff_are_not_retired(world: World, flag: str) -> None:
    User.objects.filter(pk=world.reviewer.account.pk).update(**{flag: True})
    remove_member(world.tenant, fresh(world.reviewer), actor=world.admin)
    assert fresh(world.reviewer).is_active and fresh(world.reviewer).username == "reviewer"


def test_former_members_are_numbered(world: World) -> None:
    User.objects.create(username="former-member-9", password="!")
    User.objects.create(username="former-member-x", password="!")
    for actor in (world.viewer, world.editor):
        remove_member(world.tenant, actor.account, actor=world.admin)
    assert [fresh(actor).name for actor in (world.viewer, world.editor)] == ["former member 10", "former member 11"]


def test_leaving(world: World) -> None:
    _, secret = tokens.create_token(world.tenant, world.editor.account, name="t", may_review=False, actor=None)
    client = client_of(world.editor)
    assert "Leave Acme" in client.get(f"{page_of(world.editor)}remove/").content.decode()
    assert client.post(f"{page_of(world.editor)}remove/")["Location"] == "/"
    assert call(secret) == 401 and fresh(world.editor).username == "former-member-1"


def test_only_members_can_be_removed_and_only_by_who_manages_them(world: World) -> None:
    with pytest.raises(Invalid):
        remove_member(world.tenant, world.outsider.account, actor=world.admin)
    with pytest.raises(Invalid):
        remove_member(world.tenant, world.service, actor=world.admin)
    for actor in (world.editor, world.reviewer, world.outsider):
        with pytest.raises(NotPermitted):
            remove_member(world.tenant, world.viewer.account, actor=actor)
    with pytest.raises(NotPermitted):
        retire_account(world.viewer.account, actor=world.admin)
    assert fresh(world.outsider).is_active and fresh(world.viewer).is_active
    assert not AuditEntry.objects.filter(verb="member.removed").exists()


def test_a_superuser_retires_an_account_everywhere(world: World) -> None:
    for actor in (world.outsider, world.viewer):
        accounts.grant_role(world.other, actor.account, Role.ADMIN, actor=superuser())
    persona = world.persona()
    accounts.grant_persona_right(persona, world.outsider.account, Right.VIEW_PERSONA, actor=superuser())
    User.objects.filter(pk=world.outsider.account.pk).update(is_staff=True)
    retire_account(fresh(world.outsider), actor=world.root)
    gone = fresh(world.outsider)
    assert (gone.username, gone.is_active, gone.is_staff) == ("former-member-1", False, False)
    removed = AuditEntry.objects.filter(verb="member.removed").values_list("tenant__slug", flat=True)
    assert sorted(removed) == ["acme", "globex"]
    with pytest.raises(Conflict):
        retire_account(world.root.account, actor=world.root)


def test_what_runs_as_somebody_is_listed_before(world: World) -> None:
    persona = world.persona()
    type(persona).objects.filter(pk=persona.pk).update(run_as=world.editor.account)
    client = client_of(world.admin)
    for page in (f"{page_of(world.editor)}remove/", page_of(world.editor), f"{page_of(world.editor)}roles/editor/"):
        assert "Personas that run as this account" in client.get(page).content.decode()
    client.post(f"{page_of(world.editor)}remove/")
    persona.refresh_from_db()
    assert persona.enabled and persona.run_as_id == world.editor.account.pk


def test_a_right_on_one_persona(world: World) -> None:
    persona, hidden = world.persona(), world.persona("Hidden", enable=False)
    client, own = client_of(world.admin), client_of(world.viewer)
    data = {"do": "give", "persona": str(persona.pk), "right": "activate-directive"}
    assert client.post(f"{page_of(world.viewer)}personas/", data).status_code == 302
    assert holds(world.viewer, Right.ACTIVATE_DIRECTIVE, persona)
    assert not holds(world.viewer, Right.ACTIVATE_DIRECTIVE, hidden)
    assert "of this persona live" in client.get(MEMBERS).content.decode()
    accounts.revoke_role(world.tenant, world.viewer.account, Role.VIEWER, actor=world.admin)
    assert own.get(f"/t/acme/personas/{persona.pk}/").status_code == 200 and own.get(MEMBERS).status_code == 404
    assert client.get(page_of(world.viewer)).status_code == 200
    client.post(f"{page_of(world.viewer)}personas/", {**data, "do": "take"})
    client.post(f"{page_of(world.viewer)}personas/", {**data, "do": "take", "right": "view_persona"})
    assert own.get(f"/t/acme/personas/{persona.pk}/").status_code == 404
    wrong = client.post(f"{page_of(world.editor)}personas/", {"do": "give", "right": "view_persona", "persona": ""})
    assert wrong.status_code == 422 and "Choose a persona" in wrong.content.decode()


def test_accounts_of_other_tenants_do_not_exist(world: World) -> None:
    client = client_of(world.admin)
    for rest in ("", "roles/viewer/", "remove/", "state/deactivate/"):
        assert client.get(page_of(world.outsider) + rest).status_code == 404
    for rest in ("roles/viewer/", "remove/", "personas/"):
        assert client.post(page_of(world.outsider) + rest, {"do": "give"}).status_code == 404
    assert rights_on(world.outsider, world.tenant) == frozenset()


def test_a_service_account_from_the_page(world: World) -> None:
    client = client_of(world.admin)
    assert "svc-acme." in client.get(f"{MEMBERS}service-accounts/add/").content.decode()
    data = {"suffix": "site-42", "name": "Site 42", "role": "editor"}
    made = client.post(f"{MEMBERS}service-accounts/add/", data)
    account = User.objects.get(username="svc-acme.site-42")
    assert made["Location"] == page_of(account)
    assert (account.tenant, account.kind, account.name) == (world.tenant, "service", "Site 42")
    assert Right.MANAGE_PERSONAS in rights_on(Actor(account), world.tenant)
    assert "Site 42" in client.get(MEMBERS).content.decode()
    for wrong in ({"role": "reviewer"}, {"suffix": ""}, {"suffix": "site-42"}, {"suffix": "a b"}, {"name": "a\u202e"}):
        assert client.post(f"{MEMBERS}service-accounts/add/", {**data, "suffix": "x", **wrong}).status_code == 422
    assert User.objects.filter(kind="service", tenant=world.tenant).count() == 2
    assert client.post(f"{page_of(account)}roles/reviewer/", {"do": "give"}).status_code == 422


def test_a_service_account_is_stopped_at_once(world: World) -> None:
    persona = world.persona()
    _, secret = tokens.create_token(world.tenant, world.service, name="t", may_review=False, actor=None)
    client, page = client_of(world.admin), page_of(world.service)
    assert call(secret) == 200
    confirm = client.get(f"{page}state/deactivate/").content.decode()
    assert "Desk" in confirm and "1 token " in confirm
    assert client.post(f"{page}state/deactivate/")["Location"] == page
    assert call(secret) == 401
    persona.refresh_from_db()
    assert persona.enabled
    assert "not active" in client.get(MEMBERS).content.decode()
    client.post(f"{page}state/activate/")
    assert call(secret) == 401  # for good
    _, another = tokens.create_token(
        world.tenant, User.objects.get(pk=world.service.pk), name="t", may_review=False, actor=world.admin
    )
    assert call(another) == 200
    verbs = AuditEntry.objects.filter(verb__startswith="service_account.").values_list("verb", flat=True)
    assert sorted(verbs)[:2] == ["service_account.activated", "service_account.created"]
    assert client.get(f"{page}state/explode/").status_code == 404
    with pytest.raises(Invalid):
        accounts.deactivate_service_account(world.viewer.account, actor=world.root)


def test_a_tenant_cannot_try_the_names_of_another(world: World) -> None:
    child = make_tenant("acme-support", parent=world.tenant)
    make_person("chief", tenant=child, roles=(Role.ADMIN,))
    chief, add = Actor(User.objects.get(username="chief")), "service-accounts/add/"
    data = {"name": "", "role": "viewer"}
    made = client_of(chief).post(f"/t/acme-support/members/{add}", {**data, "suffix": "site"})
    assert made.status_code == 302
    for suffix in ("support.site", "-support.site", "support-site"):
        assert client_of(world.admin).post(f"{MEMBERS}{add}", {**data, "suffix": suffix}).status_code == 302
    names = User.objects.filter(kind="service", tenant=child).values_list("username", flat=True)
    assert list(names) == ["svc-acme-support.site"]


@pytest.mark.parametrize("username", ["runtime", "svc-", "SVC", "svc-a\u200bb"])
def test_a_service_account_is_known_by_its_prefix(world: World, username: str) -> None:
    with pytest.raises(Invalid) as refused:
        accounts.create_service_account(world.tenant, username, name="", actor=world.admin)
    assert refused.value.field == "username"


def test_a_stopped_account_is_given_nothing(world: World) -> None:
    User.objects.filter(username="outsider").update(is_active=False)
    with pytest.raises(Invalid):
        accounts.grant_role(world.tenant, world.outsider.account, Role.VIEWER, actor=world.admin)
    with pytest.raises(Invalid):
        accounts.grant_persona_right(world.persona(), world.outsider.account, Right.VIEW_PERSONA, actor=world.admin)


def test_an_address_has_one_account_in_any_spelling(world: World) -> None:
    for email in ("VIEWER@example.test", " viewer@EXAMPLE.test"):
        with pytest.raises(Invalid):
            accounts.create_person("somebody", name="S", email=email, password=PASSWORD, actor=superuser())
    made = accounts.create_person("somebody", name="S", email="Some@Body.test", password=PASSWORD, actor=superuser())
    assert made.email == "some@body.test"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["leave", "each other", "role"])
def test_two_admins_cannot_go_at_once(way: str) -> None:
    world = World()
    barrier = Barrier(2)

    def go(actor: Actor, user: User) -> str:
        try:
            barrier.wait(10)
            if way == "role":
                accounts.revoke_role(world.tenant, user, Role.ADMIN, actor=actor)
            else:
                remove_member(world.tenant, user, actor=actor)
        except (Conflict, NotPermitted) as refused:
            return refused.code
        finally:
            connections.close_all()
        return "gone"

    for turn in range(4):
        admins = list(User.objects.filter(groups__tenant_role__tenant=world.tenant, groups__tenant_role__role="admin"))
        admins.append(make_person(f"admin-{turn}", tenant=world.tenant, roles=(Role.ADMIN,)).account)
        first, second = admins
        invite_member(world.tenant, f"new{turn}@example.test", roles=[Role.ADMIN], actor=Actor(first))
        pairs = [(first, second), (second, first)] if way == "each other" else [(first, first), (second, second)]
        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(go, Actor(actor), user) for actor, user in pairs]
            answers = sorted(each.result(30) for each in calls)
        assert answers in (["conflict", "gone"], ["gone", "not_permitted"])
        left = User.objects.filter(groups__tenant_role__tenant=world.tenant, groups__tenant_role__role="admin")
        assert left.filter(is_active=True).count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_many_are_removed_at_once_and_each_gets_a_number() -> None:
    world = World()
    crowd = [make_person(f"crowd-{n}", tenant=world.tenant, roles=(Role.VIEWER,)).account for n in range(6)]

    def remove(user: User) -> None:
        try:
            remove_member(world.tenant, user, actor=world.admin)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as pool:
        for each in [pool.submit(remove, user) for user in crowd]:
            each.result(30)
    names = {User.objects.get(pk=user.pk).username for user in crowd}
    assert names == {f"former-member-{n}" for n in range(1, 7)}
