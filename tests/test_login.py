"""The one log-in form: who gets in, who is locked out, and what a session is worth."""

import re
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import identify_hasher, make_password
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import Client, override_settings
from django.utils import timezone

from personas.models import AuditEntry, User
from personas_site.login_limits import counted_address
from tests.factory import PASSWORD, World

ADDRESS = "/accounts/login/"
HASHERS = [f"django.contrib.auth.hashers.{name}PasswordHasher" for name in ("Argon2", "PBKDF2", "Scrypt", "MD5")]


def log_in(name: str, password: str = PASSWORD, client: Client | None = None, **extra: Any) -> HttpResponse:
    return (client or Client()).post(ADDRESS, {"username": name, "password": password}, **extra)


def verbs(person: User) -> list[str]:
    return list(
        AuditEntry.objects.filter(object_id=str(person.pk)).order_by("created_at").values_list("verb", flat=True)
    )


@pytest.mark.parametrize("name", ["viewer", "VIEWER", "viewer@example.test", "Viewer@Example.test"])
def test_user_name_and_address_let_in(world: World, name: str) -> None:
    client = Client()
    assert log_in(name, client=client)["Location"] == "/"
    assert client.get("/").context["user"] == world.viewer.user
    assert verbs(world.viewer.account)[-1] == "person.logged_in"


def test_a_name_that_is_another_ones_address_means_the_name(world: World) -> None:
    User.objects.filter(username="editor").update(username="viewer@example.test")
    client = Client()
    log_in("viewer@example.test", client=client)
    assert client.get("/").context["user"] == world.editor.user


def test_every_refusal_reads_the_same(world: World) -> None:
    User.objects.filter(username="editor").update(is_active=False)
    world.service.set_password(PASSWORD)
    world.service.save()
    wrong = [("viewer", "wrong"), ("nobody", PASSWORD), ("editor", PASSWORD), ("svc-acme", PASSWORD), ("", PASSWORD)]
    pages = set()
    for name, password in wrong[:-1]:
        page = log_in(name, password)
        assert page.status_code == 422
        hidden = r'name="csrfmiddlewaretoken" value="\w+"|value="(?:viewer|nobody|editor|svc-acme)"'
        pages.add(re.sub(hidden, "", page.content.decode()))
    assert len(pages) == 1 and "do not belong together" in pages.pop()
    assert log_in(*wrong[-1]).status_code == 422
    assert not Session.objects.exists()


@override_settings(PASSWORD_HASHERS=HASHERS[:1])
def test_unknown_names_cost_as_much_work_as_known_ones(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.contrib.auth.hashers import Argon2PasswordHasher

    world.viewer.account.set_password(PASSWORD)
    world.viewer.account.save()
    world.service.set_unusable_password()
    world.service.save()
    work: list[str] = []
    encode = Argon2PasswordHasher.encode
    verify = Argon2PasswordHasher.verify
    monkeypatch.setattr(Argon2PasswordHasher, "encode", lambda *a: (work.append("hash"), encode(*a))[1])
    monkeypatch.setattr(Argon2PasswordHasher, "verify", lambda *a: (work.append("hash"), verify(*a))[1])
    for name in ("viewer", "nobody", "svc-acme"):
        work.clear()
        log_in(name, "wrong")
        assert work == ["hash"], name


def test_who_is_in_is_sent_on(world: World) -> None:
    client = Client()
    log_in("viewer", client=client)
    assert client.get(f"{ADDRESS}?next=/t/acme/")["Location"] == "/t/acme/"
    for elsewhere in ("https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"):
        assert client.get(ADDRESS, {"next": elsewhere})["Location"] == "/"


def test_five_failures_lock_a_name_out_from_one_address(world: World) -> None:
    for number in range(4):
        assert log_in("viewer", "wrong").status_code == 422, number
    fifth = log_in("viewer", "wrong")
    assert fifth.status_code == 429
    assert "in <b>15 minutes</b>" in fifth.content.decode()
    assert 880 < int(fifth["Retry-After"]) <= 900
    for name in ("viewer", "viewer@example.test"):  # one person, however called
        assert log_in(name).status_code == 429
    assert log_in("viewer", REMOTE_ADDR="192.0.2.7").status_code == 302
    assert log_in("editor").status_code == 302
    heard = verbs(world.viewer.account)
    assert (heard.count("person.login_failed"), heard.count("person.locked_out")) == (5, 1)


def test_trying_on_does_not_lengthen_a_lock_out_and_it_ends(world: World) -> None:
    for _ in range(5):
        log_in("viewer", "wrong")
    attempts = AccessAttempt.objects.all()
    attempts.update(attempt_time=timezone.now() - timedelta(minutes=14))
    locked = log_in("viewer", "wrong")
    assert locked.status_code == 429 and 0 < int(locked["Retry-After"]) <= 60
    attempts.update(attempt_time=timezone.now() - timedelta(minutes=15, seconds=1))
    assert log_in("viewer").status_code == 302


def test_a_success_forgives_earlier_failures(world: World) -> None:
    for _ in range(2):
        for _ in range(4):
            log_in("viewer", "wrong")
        assert log_in("viewer").status_code == 302


def test_unknown_names_are_locked_alike_and_not_kept(world: World) -> None:
    statuses = [log_in("my-password-1", "wrong").status_code for _ in range(6)]
    assert statuses == [422] * 4 + [429] * 2
    row = AccessAttempt.objects.get()
    assert "my-password" not in f"{row.username} {row.get_data} {row.post_data}"
    assert "wrong" not in row.post_data


def test_one_address_cannot_try_many_names(world: World) -> None:
    log_in("viewer", "wrong")
    AccessAttempt.objects.update(failures_since_start=4)
    for number in range(45):
        assert log_in(f"guess-{number}", "wrong").status_code == 422, number
    assert log_in("outsider").status_code == 302  # whose success does not wash the address clean
    assert log_in("guess-50", "wrong").status_code == 429
    assert log_in("editor").status_code == 429
    assert log_in("editor", REMOTE_ADDR="192.0.2.7").status_code == 302


def test_an_agent_that_calls_itself_otherwise_is_counted_all_the_same(world: World) -> None:
    statuses = [log_in("viewer", "wrong", HTTP_USER_AGENT=f"agent {n}").status_code for n in range(5)]
    assert statuses == [422] * 4 + [429]


@pytest.mark.parametrize(("remote", "counted"), [
    ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
    ("", None),
])  # fmt: skip
def test_the_address_that_is_counted(rf: Any, remote: str, counted: str | None) -> None:
    assert counted_address(rf.get("/", REMOTE_ADDR=remote)) == counted


def test_only_a_proxy_is_believed_about_the_client(world: World, settings: Any) -> None:
    def fail(*forwarded: str) -> list[int]:
        return [log_in("viewer", "wrong", HTTP_X_FORWARDED_FOR=value).status_code for value in forwarded]

    claims = [f"198.51.100.{n}" for n in range(5)]
    assert fail(*claims) == [422] * 4 + [429]
    AccessAttempt.objects.all().delete()
    settings.BEHIND_PROXY = True
    assert fail(*(f"{claim}, 203.0.113.9" for claim in claims)) == [422] * 4 + [429]
    assert log_in("viewer", HTTP_X_FORWARDED_FOR="203.0.113.10").status_code == 302


def test_a_session_that_was_planted_is_worth_nothing(world: World) -> None:
    client = Client()
    client.get(ADDRESS)
    planted = client.session
    planted["x"] = 1
    planted.save()
    client.cookies["sessionid"] = planted.session_key
    log_in("viewer", client=client)
    assert client.cookies["sessionid"].value != planted.session_key
    thief = Client()
    thief.cookies["sessionid"] = planted.session_key
    assert thief.get("/").status_code == 302


def test_deactivation_ends_a_session_at_once(world: World) -> None:
    client = Client()
    log_in("viewer", client=client)
    User.objects.filter(username="viewer").update(is_active=False)
    assert client.get("/")["Location"].startswith(ADDRESS)


def test_cookies_outside_debug(world: World, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    client = Client()
    client.get(ADDRESS, secure=True)
    response = log_in("viewer", client=client, secure=True)
    session, token = response.cookies["sessionid"], response.cookies["csrftoken"]
    assert session["secure"] and session["httponly"] and session["samesite"] == "Lax"
    assert token["secure"] and token["samesite"] == "Lax"
    assert session["max-age"] == 12 * 3600


@override_settings(PASSWORD_HASHERS=HASHERS)
def test_old_hashes_become_argon2_at_log_in(world: World) -> None:
    old = make_password(PASSWORD, hasher="md5")
    User.objects.filter(username="viewer").update(password=old)
    client = Client()
    log_in("viewer", client=client)
    assert identify_hasher(User.objects.get(username="viewer").password).algorithm == "argon2"
    assert client.get("/").status_code == 200


def test_the_rail_leads_to_the_account(world: World) -> None:
    client = Client()
    log_in("viewer", client=client)
    assert 'href="/accounts/me/"' in client.get("/").content.decode()
    page = client.get("/accounts/me/").content.decode()
    assert "viewer@example.test" in page and "/accounts/password/" in page and "/accounts/two-factor/" in page
