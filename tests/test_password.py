"""Changing a password, and setting a new one through a link sent by mail."""

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator, default_token_generator
from django.core import mail
from django.test import Client
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from personas.domain.errors import Invalid, NotPermitted
from personas.models import AuditEntry, User
from personas.services import passwords
from personas_site.mail import mailer
from personas_site.settings import env
from tests.factory import PASSWORD, World

NEW = "another horse entirely"
FORGOTTEN = "/accounts/password/forgotten/"


def log_in(name: str, password: str = PASSWORD) -> Client:
    client = Client()
    client.post("/accounts/login/", {"username": name, "password": password})
    return client


def is_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def change(client: Client, old: str = PASSWORD, new: str = NEW, again: str = "") -> Any:
    data = {"old_password": old, "new_password1": new, "new_password2": again or new}
    return client.post("/accounts/password/", data)


def mailed_link() -> str:
    (message,) = mail.outbox
    return re.search(r"https?://testserver(/\S+)", str(message.body)).group(1)  # type: ignore[union-attr]


def test_changing_it_ends_every_other_session(world: World) -> None:
    here, there = log_in("viewer"), log_in("viewer")
    assert change(here)["Location"] == "/accounts/me/"
    assert is_in(here) and not is_in(there)
    assert not is_in(log_in("viewer")) and is_in(log_in("viewer", NEW))
    entry = AuditEntry.objects.get(verb="password.changed")
    assert (entry.actor, entry.tenant) == (world.viewer.user, None)
    assert NEW not in str(entry.__dict__)


@pytest.mark.parametrize(("old", "new", "again", "word"), [
    ("wrong", NEW, NEW, "old password was entered incorrectly"),
    (PASSWORD, NEW, "something else", "match"),
    (PASSWORD, "password1", "password1", "too common"),
    (PASSWORD, "viewer12", "viewer12", "too similar"),
])  # fmt: skip
def test_what_is_refused(world: World, old: str, new: str, again: str, word: str) -> None:
    client = log_in("viewer")
    page = change(client, old, new, again)
    assert page.status_code == 422
    assert word in page.content.decode()
    assert is_in(log_in("viewer"))
    assert not AuditEntry.objects.filter(verb="password.changed").exists()


def test_the_service_refuses_a_weak_one_too(world: World) -> None:
    with pytest.raises(Invalid, match="too short"):
        passwords.change_password(world.viewer.account, "short", actor=world.viewer)


def test_the_old_one_cannot_be_guessed_in_an_open_session(world: World) -> None:
    client = log_in("viewer")
    statuses = [change(client, "wrong").status_code for _ in range(5)]
    assert statuses == [422] * 4 + [429]
    assert change(client).status_code == 429


def test_a_link_sets_a_new_one_and_ends_every_session(world: World) -> None:
    elsewhere = log_in("viewer")
    client = Client()
    assert client.post(FORGOTTEN, {"email": "VIEWER@example.test"})["Location"] == f"{FORGOTTEN}sent/"
    link = mailed_link()
    form = client.get(link)
    assert form["Location"].endswith("/set-password/")  # the secret leaves the address
    done = client.post(form["Location"], {"new_password1": NEW, "new_password2": NEW})
    assert done["Location"] == "/accounts/login/"
    assert not is_in(client) and not is_in(elsewhere) and is_in(log_in("viewer", NEW))
    assert [e.verb for e in AuditEntry.objects.filter(verb__startswith="password.").order_by("created_at")] == [
        "password.reset_asked",
        "password.reset",
    ]
    assert "This link does not work" in Client().get(link).content.decode()


def test_a_weak_one_is_refused_and_the_link_still_works(world: World) -> None:
    client = Client()
    client.post(FORGOTTEN, {"email": "viewer@example.test"})
    form = client.get(mailed_link())["Location"]
    refused = client.post(form, {"new_password1": "password1", "new_password2": "password1"})
    assert "too common" in refused.content.decode()
    assert client.post(form, {"new_password1": NEW, "new_password2": NEW}).status_code == 302


def test_a_log_in_makes_an_earlier_link_worthless(world: World) -> None:
    client = Client()
    client.post(FORGOTTEN, {"email": "viewer@example.test"})
    log_in("viewer")
    assert "This link does not work" in client.get(mailed_link()).content.decode()


def test_a_link_from_before_the_account_was_stopped_sets_nothing(world: World) -> None:
    client = Client()
    client.post(FORGOTTEN, {"email": "viewer@example.test"})
    link = mailed_link()
    form = client.get(link)["Location"]
    User.objects.filter(username="viewer").update(is_active=False)
    client.post(form, {"new_password1": NEW, "new_password2": NEW})
    assert "This link does not work" in Client().get(link).content.decode()
    with pytest.raises(NotPermitted):  # the one in hand still says active
        passwords.reset_password(world.viewer.account, NEW, actor=world.viewer)
    assert User.objects.get(username="viewer").check_password(PASSWORD)


def test_a_link_ends_after_two_hours(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    person = world.viewer.account
    token = default_token_generator.make_token(person)
    now = PasswordResetTokenGenerator._now
    for later, good in ((timedelta(minutes=119), True), (timedelta(minutes=121), False)):
        monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda self, later=later: now(self) + later)
        assert default_token_generator.check_token(person, token) is good


def test_the_answer_tells_nobody_who_has_an_account(world: World) -> None:
    User.objects.filter(username="editor").update(is_active=False)
    User.objects.filter(pk=world.service.pk).update(email="svc@example.test")
    world.service.refresh_from_db()
    world.service.set_password(PASSWORD)
    world.service.save()
    answers = set()
    for name in ("nobody", "editor", "svc", "viewer"):
        client = Client()
        sent = client.post(FORGOTTEN, {"email": f"{name}@example.test"})
        answers.add((sent.status_code, sent["Location"], client.get(sent["Location"]).content))
    assert len(answers) == 1
    assert [message.to for message in mail.outbox] == [["viewer@example.test"]]


def test_nobody_is_flooded_with_links(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        Client().post(FORGOTTEN, {"email": "viewer@example.test"})
    assert len(mail.outbox) == 3
    later = timezone.now() + timedelta(minutes=61)
    monkeypatch.setattr(passwords, "timezone", SimpleNamespace(now=lambda: later))
    Client().post(FORGOTTEN, {"email": "viewer@example.test"})
    assert len(mail.outbox) == 4


def test_a_mail_names_no_host_that_the_sender_made_up(world: World) -> None:
    answer = Client().post(FORGOTTEN, {"email": "viewer@example.test"}, headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert mail.outbox == []


def test_a_new_password_does_not_pass_by_the_second_factor(world: World) -> None:
    TOTPDevice.objects.create(user=world.viewer.account, name="app")
    client = Client()
    client.post(FORGOTTEN, {"email": "viewer@example.test"})
    client.post(client.get(mailed_link())["Location"], {"new_password1": NEW, "new_password2": NEW})
    first = client.post("/accounts/login/", {"username": "viewer", "password": NEW})
    assert first["Location"].startswith("/accounts/login/code/")
    assert not is_in(client)


@pytest.mark.parametrize(("url", "kind", "options"), [
    ("consolemail://", "console", {}),
    ("filemail:///var/mail", "filebased", {"file_path": "/var/mail"}),
    ("smtp+tls://ann:p%40ss@mail.example:587", "smtp",
     {"host": "mail.example", "port": 587, "username": "ann", "password": "p@ss", "use_tls": True}),
    ("smtp+ssl://mail.example:465", "smtp", {"host": "mail.example", "port": 465, "use_tls": False, "use_ssl": True}),
])  # fmt: skip
def test_where_mail_goes(url: str, kind: str, options: dict[str, Any]) -> None:
    made = mailer(env.email_url_config(url))
    assert made["BACKEND"] == f"django.core.mail.backends.{kind}.EmailBackend"
    assert {name: made["OPTIONS"][name] for name in options} == options
