"""Invitations: sent by mail, tied to an address, accepted once."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Right, Role
from personas.models import AuditEntry, Invitation, User
from personas.permissions import holds, rights_on
from personas.services import accounts
from personas.services.invitations import (
    Gone,
    accept_invitation,
    find_invitation,
    invite_member,
    join_by_invitation,
    revoke_invitation,
)
from personas.services.members import remove_member, retire_account
from personas.services.staff import set_account_flags
from personas.services.tokens import token_digest
from tests.factory import PASSWORD, World, make_person, superuser
from tests.pages import client_of

MEMBERS = "/t/acme/members/"
STRONG = "a perfectly fine passphrase"


def link_in_mail() -> str:
    found = re.search(r"https?://[^/]+(/accounts/invitation/\S+)", str(mail.outbox[-1].body))
    assert found
    return found[1]


def offered(world: World, email: str = "new@example.test", *roles: Role) -> tuple[Invitation, str]:
    return invite_member(world.tenant, email, roles=list(roles or (Role.EDITOR,)), actor=world.admin)


def opened(secret: str, client: Client | None = None) -> Client:
    client = client or Client()
    assert client.get(f"/accounts/invitation/{secret}/")["Location"] == "/accounts/invitation/"
    return client


def sent_form(invitation: Invitation, **changes: Any) -> dict[str, Any]:
    data = {"username": "newbie", "name": "New Bie", "new_password1": STRONG, "new_password2": STRONG}
    return {"invitation": str(invitation.pk), **data, **changes}


def test_a_new_person_is_invited_and_joins(world: World) -> None:
    data = {"email": " New@Example.TEST ", "roles": ["reviewer", "viewer"]}
    assert client_of(world.admin).post(f"{MEMBERS}invite/", data)["Location"] == MEMBERS
    invitation = Invitation.objects.get()
    assert (invitation.email, invitation.roles) == ("new@example.test", ["reviewer", "viewer"])
    assert invitation.expires_at - invitation.created_at == timedelta(days=7)
    message = mail.outbox[-1]
    assert message.to == ["new@example.test"] and "Admin invites you to Acme" in message.subject
    assert "can make a text live" in str(message.body)

    client = Client()
    page = client.get(link_in_mail(), follow=True).content.decode()
    assert "Admin invites" in page and "new@example.test" in page and "can make a text live" in page
    done = client.post("/accounts/invitation/", sent_form(invitation))
    assert done["Location"] == "/accounts/login/?next=%2Ft%2Facme%2F"
    person = User.objects.get(username="newbie")
    assert (person.email, person.name, person.kind) == ("new@example.test", "New Bie", "person")
    assert rights_on(Actor(person), world.tenant) >= {Right.ACTIVATE_DIRECTIVE, Right.VIEW_TENANT}
    assert rights_on(Actor(person), world.other) == frozenset()
    entered = client.post("/accounts/login/", {"username": "newbie", "password": STRONG, "next": "/t/acme/"})
    assert entered["Location"] == "/t/acme/"
    invitation.refresh_from_db()
    assert invitation.accepted_by == person
    audited = AuditEntry.objects.order_by("created_at").values_list("verb", "actor__username")
    verbs = [row for row in audited if row[0] not in ("tenant.created",)][-5:]
    assert {("role.granted", "admin"), ("invitation.accepted", "newbie"), ("person.created", "newbie")} <= set(verbs)


def test_the_secret_is_kept_nowhere(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client_of(world.admin).post(f"{MEMBERS}invite/", {"email": "new@example.test", "roles": ["viewer"]})
        link = link_in_mail()
        secret = link.split("/")[-2]
        client = Client()
        invitation = Invitation.objects.get()
        page = client.get(link, follow=True)
        weak = client.post("/accounts/invitation/", sent_form(invitation, new_password1="x", new_password2="x"))
        assert weak.status_code == 422
        revoke_invitation(invitation, actor=world.admin)
        assert client.get(link, follow=True).status_code == 410
    assert len(secret) == 43
    assert secret not in caplog.text and secret not in page.content.decode()
    assert invitation.digest == token_digest(secret)
    rows = [str(value) for entry in AuditEntry.objects.values() for value in entry.values()]
    assert not [text for text in rows if secret in text or "new@example.test" in text]
    assert secret not in str(dict(client.session))


def test_somebody_with_that_address_accepts_with_one_button(world: World) -> None:
    _, secret = offered(world, "OUTSIDER@example.test", Role.REVIEWER)
    client = opened(secret, client_of(world.outsider))
    page = client.get("/accounts/invitation/").content.decode()
    assert "Accept as Outsider" in page and "new_password1" not in page
    assert client.get("/t/acme/").status_code == 404
    done = client.post("/accounts/invitation/", {"invitation": str(Invitation.objects.get().pk)})
    assert done["Location"] == "/t/acme/"
    assert client.get("/t/acme/").status_code == 200  # at once, in the same session
    assert holds(world.outsider, Right.ACTIVATE_DIRECTIVE, world.tenant)


def test_another_account_is_told_so_and_nothing_happens(world: World) -> None:
    invitation, secret = offered(world)
    client = opened(secret, client_of(world.outsider))
    page = client.get("/accounts/invitation/")
    assert page.status_code == 200 and "This invitation is for another address" in page.content.decode()
    assert client.post("/accounts/invitation/", sent_form(invitation)).status_code == 403
    invitation.refresh_from_db()
    assert invitation.accepted_at is None and not User.objects.filter(username="newbie").exists()
    assert rights_on(world.outsider, world.tenant) == frozenset()


def test_an_existing_account_is_asked_to_log_in_first(world: World) -> None:
    invitation, secret = offered(world, "outsider@example.test")
    client = opened(secret)
    page = client.get("/accounts/invitation/").content.decode()
    assert "This address has an account" in page and "new_password1" not in page
    assert client.post("/accounts/invitation/", sent_form(invitation)).status_code == 409
    assert User.objects.filter(email="outsider@example.test").count() == 1
    data = {"username": "outsider", "password": PASSWORD, "next": "/accounts/invitation/"}
    after = client.post("/accounts/login/", data, follow=True)
    assert "Accept as Outsider" in after.content.decode()


def test_a_stopped_account_cannot_be_joined_anew(world: World) -> None:
    User.objects.filter(username="outsider").update(is_active=False)
    _, secret = offered(world, "outsider@example.test")
    page = opened(secret).get("/accounts/invitation/").content.decode()
    assert "was stopped" in page and "new_password1" not in page


@pytest.mark.parametrize("end", ["used", "revoked", "expired", "never", "inviter", "removed", "stopped"])
def test_what_is_over_is_gone(world: World, end: str) -> None:
    make_person("boss", tenant=world.tenant, roles=(Role.ADMIN,))
    boss = Actor(User.objects.get(username="boss"))
    invitation, secret = invite_member(world.tenant, "new@example.test", roles=[Role.VIEWER], actor=boss)
    client = opened(secret)
    assert client.get("/accounts/invitation/").status_code == 200
    if end == "used":
        join_by_invitation(invitation, username="first", name="First", password=STRONG)
    elif end == "revoked":
        revoke_invitation(invitation, actor=world.admin)
    elif end == "expired":
        Invitation.objects.update(created_at=timezone.now() - timedelta(days=8), expires_at=timezone.now())
    elif end == "never":
        client, secret = Client(), "x" * 43
    elif end == "inviter":
        accounts.revoke_role(world.tenant, boss.account, Role.ADMIN, actor=world.admin)
    elif end == "removed":
        remove_member(world.tenant, boss.account, actor=world.admin)
    else:
        User.objects.filter(username="boss").update(is_active=False)
    assert client.get("/accounts/invitation/").status_code == 410
    assert client.post("/accounts/invitation/", sent_form(invitation)).status_code == 410
    answer = Client().get(f"/accounts/invitation/{secret}/", follow=True)
    assert answer.status_code == 410 and "used or revoked" in answer.content.decode()
    assert not User.objects.filter(username="newbie").exists()
    assert find_invitation(token_digest(secret)) is None


def test_an_inviter_who_comes_back_has_invited_nobody(world: World) -> None:
    boss = make_person("boss", tenant=world.tenant, roles=(Role.ADMIN,))
    invitation, _ = invite_member(world.tenant, "new@example.test", roles=[Role.VIEWER], actor=boss)
    accounts.revoke_role(world.tenant, boss.account, Role.ADMIN, actor=world.admin)
    accounts.grant_role(world.tenant, boss.account, Role.ADMIN, actor=world.admin)
    with pytest.raises(Gone):
        join_by_invitation(invitation, username="newbie", name="N", password=STRONG)


def test_who_is_removed_does_not_walk_back_in(world: World) -> None:
    persona, address = world.persona(), "walker@example.test"
    walker = accounts.create_person("walker", name="W", email=address, password=PASSWORD, actor=superuser())
    accounts.grant_persona_right(persona, walker, Right.VIEW_PERSONA, actor=world.admin)
    here, secret = invite_member(world.tenant, address, roles=[Role.EDITOR], actor=world.admin)
    other, elsewhere = invite_member(world.other, address, roles=[Role.VIEWER], actor=world.outsider)
    remove_member(world.tenant, walker, actor=world.admin)
    assert find_invitation(token_digest(secret)) is None
    assert find_invitation(token_digest(elsewhere)) == other  # what another tenant offers is its own affair
    with pytest.raises(Gone):
        join_by_invitation(here, username="walker2", name="W", password=STRONG)
    entry = AuditEntry.objects.get(verb="invitation.revoked")
    assert (entry.object_id, entry.tenant, entry.actor) == (str(here.pk), world.tenant, world.admin.account)
    assert entry.before == {"roles": ["editor"]} and entry.note == "The person with this address was removed."
    assert "walker" not in entry.object_label


def test_who_is_retired_is_invited_nowhere(world: World) -> None:
    address = world.viewer.account.email
    invite_member(world.other, address, roles=[Role.VIEWER], actor=world.outsider)
    retire_account(world.viewer.account, actor=superuser())
    entry = AuditEntry.objects.get(verb="invitation.revoked")
    assert (entry.tenant, entry.note) == (world.other, "The person with this address was retired.")
    assert not Invitation.objects.waiting().exists()


@pytest.mark.parametrize(("way", "word"), [("role", "admin"), ("remove", "removed"), ("stop", "deactivated")])
def test_what_an_inviter_leaves_behind_ends_in_the_audit(world: World, way: str, word: str) -> None:
    boss = make_person("boss", tenant=world.tenant, roles=(Role.ADMIN,))
    kept, _ = offered(world, "kept@example.test")
    invitation, secret = invite_member(world.tenant, "new@example.test", roles=[Role.VIEWER], actor=boss)
    if way == "role":
        accounts.revoke_role(world.tenant, boss.account, Role.ADMIN, actor=world.admin)
    elif way == "remove":
        remove_member(world.tenant, boss.account, actor=world.admin)
    else:
        set_account_flags(boss.account, is_active=False, actor=superuser())
        set_account_flags(User.objects.get(username="boss"), is_active=True, actor=superuser())
    assert find_invitation(token_digest(secret)) is None
    entry = AuditEntry.objects.get(verb="invitation.revoked")
    assert (entry.object_id, entry.tenant) == (str(invitation.pk), world.tenant) and word in entry.note
    assert Invitation.objects.waiting().get() == kept


def test_only_what_is_shown_can_be_accepted(world: World) -> None:
    first, secret = offered(world, "new@example.test", Role.VIEWER)
    other, second = invite_member(world.other, "new@example.test", roles=[Role.ADMIN], actor=world.outsider)
    client = opened(second, opened(secret))
    answer = client.post("/accounts/invitation/", sent_form(first))
    assert answer.status_code == 409 and "Globex" in answer.content.decode()
    assert client.post("/accounts/invitation/", sent_form(other)).status_code == 302


def test_a_dead_link_ends_the_one_opened_before(world: World) -> None:
    client = opened(offered(world)[1])
    assert opened("y" * 43, client).get("/accounts/invitation/").status_code == 410


def test_inviting_again_replaces_the_link(world: World) -> None:
    _, first = offered(world, "new@example.test", Role.ADMIN)
    _, second = offered(world, "New@example.test", Role.VIEWER)
    assert find_invitation(token_digest(first)) is None
    found = find_invitation(token_digest(second))
    assert found is not None and found.roles == ["viewer"]
    assert Invitation.objects.waiting().count() == 1


@pytest.mark.parametrize(("changes", "field"), [
    ({"username": "svc-mine"}, "username"), ({"username": "Former-Member-3"}, "username"),
    ({"username": "two words"}, "username"), ({"username": "admin@example.test"}, "username"),
    ({"username": "ADMIN"}, None), ({"username": "a\u200bb"}, "username"), ({"name": "Ev\u202eil"}, "name"),
    ({"name": "a\nb"}, "name"), ({"name": " "}, "name"), ({"name": "former member 7"}, "name"),
    ({"password": "password"}, "password"), ({"password": "newbie99"}, "password"),
])  # fmt: skip
def test_what_an_account_cannot_be_called(world: World, changes: dict[str, str], field: str | None) -> None:
    invitation, _ = offered(world)
    values = {"username": "newbie99", "name": "New", "password": STRONG, **changes}
    with pytest.raises(Invalid) as refused:
        join_by_invitation(invitation, **values)
    assert refused.value.field == field
    invitation.refresh_from_db()
    assert invitation.accepted_at is None and not User.objects.filter(email="new@example.test").exists()


def test_names_are_composed(world: World) -> None:
    invitation, _ = offered(world)
    person = join_by_invitation(invitation, username="ﬁnn", name=" Zoe\u0308 ", password=STRONG)
    assert (person.username, person.name) == ("finn", "Zo\u00eb")


def test_the_two_passwords_must_agree(world: World) -> None:
    invitation, secret = offered(world)
    answer = opened(secret).post("/accounts/invitation/", sent_form(invitation, new_password2="another one"))
    page = answer.content.decode()
    assert answer.status_code == 422 and "The two passwords differ" in page
    assert 'value="newbie"' in page and STRONG not in page


def test_a_form_from_elsewhere_is_refused(world: World) -> None:
    invitation, secret = offered(world)
    client = opened(secret, Client(enforce_csrf_checks=True))
    assert client.post("/accounts/invitation/", sent_form(invitation)).status_code == 403
    assert not User.objects.filter(username="newbie").exists()


@pytest.mark.parametrize(("email", "roles", "word"), [
    ("admin@example.test", ["reviewer"], "Nobody invites themselves"),
    ("ADMIN@Example.test", ["reviewer"], "Nobody invites themselves"),
    ("editor@example.test", ["reviewer"], "a member already"),
    ("new@example.test", [], "at least one role"),
    ("new@example", ["viewer"], "a whole e-mail address"),
    ("", ["viewer"], "Write an e-mail address"),
    ("new@example.test", ["owner"], "Select a valid choice"),
])  # fmt: skip
def test_who_and_what_cannot_be_invited(world: World, email: str, roles: list[str], word: str) -> None:
    answer = client_of(world.admin).post(f"{MEMBERS}invite/", {"email": email, "roles": roles})
    assert answer.status_code in (403, 422) and word in answer.content.decode()
    assert not Invitation.objects.exists() and not mail.outbox


@pytest.mark.parametrize("email", ["a\u200bb@example.test", "a@ex\u202eample.test", "a b@example.test", "\0@b.test"])
def test_an_address_is_plain(world: World, email: str) -> None:
    with pytest.raises(Invalid) as refused:
        invite_member(world.tenant, email, roles=[Role.VIEWER], actor=world.admin)
    assert refused.value.field == "email"


def test_inviting_does_not_say_who_has_an_account(world: World) -> None:
    answers = []
    for email in ("outsider@example.test", "nobody@example.test"):
        answer = client_of(world.admin).post(f"{MEMBERS}invite/", {"email": email, "roles": ["viewer"]}, follow=True)
        start = answer.content.decode().index('<div class="page"')
        shown = re.sub(r"[0-9a-f-]{36}|value=\"\w+\"|<time.*?</time>", "", answer.content.decode()[start:])
        answers.append(shown.replace(email, "somebody"))
        revoke_invitation(Invitation.objects.waiting().get(), actor=world.admin)
    assert answers[0] == answers[1]
    assert mail.outbox[0].subject == mail.outbox[1].subject


def test_one_persona_alone(world: World) -> None:
    persona, hidden = world.persona(), world.persona("Hidden", enable=False)
    data = {"email": "new@example.test", "persona": str(persona.pk), "persona_right": "activate-directive"}
    assert client_of(world.admin).post(f"{MEMBERS}invite/", data).status_code == 302
    client = Client()
    assert "of this persona live" in client.get(link_in_mail(), follow=True).content.decode()
    client.post("/accounts/invitation/", sent_form(Invitation.objects.get()))
    person = Actor(User.objects.get(username="newbie"))
    assert holds(person, Right.ACTIVATE_DIRECTIVE, persona) and not holds(person, Right.VIEW_PERSONA, hidden)
    assert rights_on(person, world.tenant) == frozenset()
    assert "New Bie" in client_of(world.admin).get(MEMBERS).content.decode()


def test_a_persona_of_another_tenant_cannot_be_offered(world: World) -> None:
    persona = world.persona()
    accounts.grant_role(world.tenant, world.outsider.account, Role.VIEWER, actor=superuser())
    data = {"email": "new@example.test", "persona": str(persona.pk), "persona_right": "view_persona"}
    assert client_of(world.outsider).post("/t/globex/members/invite/", data).status_code == 422
    with pytest.raises(Invalid):
        invite_member(
            world.other,
            "new@example.test",
            roles=[],
            persona=persona,
            persona_right=Right.VIEW_PERSONA,
            actor=world.outsider,
        )


def test_without_mail_nobody_is_invited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("personas.views.invitations.send_mail", broken)
    answer = client_of(world.admin).post(f"{MEMBERS}invite/", {"email": "new@example.test", "roles": ["viewer"]})
    page = answer.content.decode()
    assert answer.status_code == 409 and "nobody was invited" in page and "new@example.test" in page
    assert not Invitation.objects.exists() and not AuditEntry.objects.filter(verb="member.invited").exists()


def test_revoking_from_the_page(world: World) -> None:
    invitation, secret = offered(world)
    client = client_of(world.admin)
    assert "new@example.test" in client.get(MEMBERS).content.decode()
    assert "new@example.test" not in client_of(world.viewer).get(MEMBERS).content.decode()
    page = client.post(f"{MEMBERS}invitations/{invitation.pk}/revoke/", follow=True).content.decode()
    assert "does not work any more" in page
    assert opened(secret).get("/accounts/invitation/").status_code == 410
    other, _ = invite_member(world.other, "x@example.test", roles=[Role.VIEWER], actor=world.outsider)
    assert client.post(f"{MEMBERS}invitations/{other.pk}/revoke/").status_code == 404


def test_only_who_manages_members_invites(world: World) -> None:
    for actor in (world.editor, world.reviewer, world.outsider, Actor(world.service)):
        with pytest.raises(NotPermitted):
            invite_member(world.tenant, "new@example.test", roles=[Role.VIEWER], actor=actor)
    invitation, _ = offered(world)
    for actor in (world.editor, world.outsider):
        with pytest.raises(NotPermitted):
            revoke_invitation(invitation, actor=actor)
        with pytest.raises(NotPermitted):
            accept_invitation(invitation, actor=actor)
    join_by_invitation(invitation, username="newbie", name="N", password=STRONG)
    with pytest.raises(Conflict):
        revoke_invitation(invitation, actor=world.admin)


def test_sign_up_elsewhere_stays_closed(world: World) -> None:
    for path in ("/accounts/signup/", "/accounts/register/", "/accounts/join/"):
        assert Client().get(path).status_code in (302, 404)
    assert Client().post("/accounts/invitation/", {"username": "x"}).status_code == 410
