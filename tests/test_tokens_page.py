"""The tokens page: who may make what, a secret that is shown once, and tokens that end at once."""

import json
import logging
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from django.views.debug import ExceptionReporter

from learning.models import DirectiveProposal
from personas.actors import Actor
from personas.domain.errors import NotPermitted
from personas.domain.rights import Role
from personas.models import APIToken, AuditEntry, User
from personas.services import accounts, tokens
from personas.views import tokens as views
from tests.api_client import Caller, token_for
from tests.factory import PASSWORD, World, superuser
from tests.pages import client_of

LIST, NEW = "/t/acme/tokens/", "/t/acme/tokens/new/"


@pytest.fixture
def admin(world: World) -> Client:
    return client_of(world.admin)


def typed(actor: Actor | User, **changes: Any) -> dict[str, Any]:
    account = actor.account if isinstance(actor, Actor) else actor
    return {"name": "Runtime", "user": str(account.pk), "expires": "", **changes}


def secret_in(response: Any) -> str:
    found = re.findall(r"per_[A-Za-z0-9_-]{43}", response.content.decode())
    assert len(found) == 1
    return str(found[0])


def test_the_secret_is_on_the_answer_and_nowhere_else(world: World, admin: Client) -> None:
    response = admin.post(NEW, typed(world.admin))
    secret = secret_in(response)
    assert response.status_code == 200 and response["Cache-Control"] == "no-store"
    assert response["Referrer-Policy"] == "same-origin"
    token = APIToken.objects.get()
    assert (token.user, token.created_by, token.tenant) == (world.admin.account, world.admin.account, world.tenant)
    assert token.may_review is False and token.expires_at is None and token.digest == tokens.token_digest(secret)
    assert Caller(secret).get("/personas").status_code == 200
    for address in (LIST, NEW, f"{LIST}{token.pk}/revoke/", f"{LIST}?show=ended"):
        assert secret not in admin.get(address).content.decode()
    assert all(secret not in json.dumps(session.get_decoded()) for session in Session.objects.all())
    assert secret not in repr(list(APIToken.objects.values())) + repr(token) + repr(Actor(token.user, token))
    assert secret not in repr(list(AuditEntry.objects.values()))
    assert token.prefix in admin.get(LIST).content.decode()


def test_a_service_account_gets_one(world: World, admin: Client) -> None:
    secret = secret_in(admin.post(NEW, typed(world.service, expires="30")))
    token = APIToken.objects.get()
    assert token.user == world.service and token.created_by == world.admin.account
    assert token.expires_at is not None and abs(token.expires_at - timezone.now() - timedelta(days=30)).seconds < 60
    assert Caller(secret).get("/resolve", agent_class="Support").status_code == 200
    entry = AuditEntry.objects.get(verb="token.created")
    assert entry.actor == world.admin.account and entry.after["user"] == "svc-acme" and entry.after["expires_at"]


def test_nobody_makes_one_for_another_person(world: World, admin: Client) -> None:
    foreign = accounts.create_service_account(world.other, "svc-globex", name="", actor=superuser())
    for account in (world.reviewer.account, world.outsider.account, foreign):
        response = admin.post(NEW, typed(account))
        assert response.status_code == 422 and "per_" not in response.content.decode()
        with pytest.raises(NotPermitted):
            tokens.create_token(world.tenant, account, name="x", may_review=False, actor=world.admin)
    assert not APIToken.objects.exists()


def test_the_form_offers_oneself_and_the_service_accounts_here(world: World, admin: Client) -> None:
    accounts.create_service_account(world.other, "svc-globex", name="", actor=superuser())
    page = admin.get(NEW).content.decode()
    assert "Yourself (admin)" in page and "svc-acme" in page
    assert "svc-globex" not in page and "reviewer" not in page


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "Say what it is for."),
        ({"name": "x" * 151}, "name", "150"),
        ({"name": "a\u200bb"}, "name", "invisible"),
        ({"name": "a\nb"}, "name", "line break"),
        ({"user": ""}, "user", "Choose an account."),
        ({"user": "nobody"}, "user", "valid"),
        ({"expires": "forever"}, "expires", "valid"),
        ({"expires": "date"}, "until", "Choose a date."),
        ({"expires": "date", "until": "soon"}, "until", "2026-12-31"),
        ({"expires": "date", "until": "2020-01-01"}, "until", "from today on"),
        ({"expires": "date", "until": "9999-12-31"}, "until", "from today on"),
    ],
)
def test_what_is_wrong_is_said_beside_the_field(
    world: World, admin: Client, changes: dict[str, str], field: str, words: str
) -> None:
    response = admin.post(NEW, {**typed(world.admin, name="Kept name"), **changes})
    page = response.content.decode()
    assert response.status_code == 422 and not APIToken.objects.exists()
    assert re.search(rf'<p class="fault" id="{field}-fault">[^<]*{words}', page)
    assert "Kept name" in page or "name" in changes


def test_a_date_is_good_to_the_end_of_that_day(world: World, admin: Client) -> None:
    day = timezone.now().astimezone(UTC).date()
    admin.post(NEW, typed(world.admin, expires="date", until=day.isoformat()))
    ends = APIToken.objects.get().expires_at
    assert ends == datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)


def test_reviewing_asks_for_the_password(world: World) -> None:
    accounts.grant_role(world.tenant, world.admin.account, Role.REVIEWER, actor=superuser())
    admin = client_of(world.admin)
    for password, words in (("", "Type your password"), ("guess", "This is not your password")):
        response = admin.post(NEW, typed(world.admin, may_review="on", password=password))
        page = response.content.decode()
        assert response.status_code == 422 and words in page
        assert password == "" or password not in page
    assert not APIToken.objects.exists()
    secret_in(admin.post(NEW, typed(world.admin, may_review="on", password=PASSWORD)))
    assert APIToken.objects.get().may_review is True


def test_guessing_the_password_ends(world: World, admin: Client) -> None:
    guess = typed(world.admin, may_review="on", password="guess")
    assert [admin.post(NEW, guess).status_code for _ in range(5)] == [422] * 4 + [429]
    cache.clear()  # what somebody else can flush keeps no count
    response = admin.post(NEW, {**guess, "password": PASSWORD})
    assert response.status_code == 429 and "Too many tries" in response.content.decode()
    assert AuditEntry.objects.filter(verb="person.locked_out", object_id=str(world.admin.account.pk)).exists()
    assert not APIToken.objects.exists()
    assert admin.post(NEW, typed(world.admin)).status_code == 200


def test_a_service_account_never_reviews(world: World, admin: Client) -> None:
    response = admin.post(NEW, typed(world.service, may_review="on", password=PASSWORD))
    assert response.status_code == 422 and "never decides proposals" in response.content.decode()
    assert not APIToken.objects.exists()


def test_revoking_asks_first_and_is_audited(world: World, admin: Client) -> None:
    secret = secret_in(admin.post(NEW, typed(world.service, name="Old runtime")))
    token = APIToken.objects.get()
    address = f"{LIST}{token.pk}/revoke/"
    assert "Old runtime" in admin.get(address).content.decode()
    assert Caller(secret).get("/personas").status_code == 200
    assert admin.post(address)["Location"] == LIST
    assert Caller(secret).get("/personas").status_code == 401
    assert "is revoked" in admin.get(LIST).content.decode()
    assert "Old runtime" in admin.get(f"{LIST}?show=ended").content.decode()
    admin.post(address)
    entry = AuditEntry.objects.get(verb="token.revoked")
    assert entry.before["name"] == "Old runtime" and entry.actor == world.admin.account


def test_a_token_of_another_tenant_does_not_exist(world: World, admin: Client) -> None:
    token, secret = token_for(world.outsider, world.other)
    address = f"{LIST}{token.pk}/revoke/"
    assert (admin.get(address).status_code, admin.post(address).status_code) == (404, 404)
    assert Caller(secret).get("/personas").status_code == 200
    assert token.prefix not in admin.get(LIST).content.decode()


def expire(token: APIToken) -> None:
    APIToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())


def deactivate(token: APIToken) -> None:
    User.objects.filter(pk=token.user_id).update(is_active=False)


def strip(token: APIToken) -> None:
    accounts.revoke_role(token.tenant, token.user, Role.REVIEWER, actor=superuser())


def revoke(token: APIToken) -> None:
    tokens.revoke_token(token, actor=superuser())


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (revoke, 401, "Revoked"),
        (expire, 401, "Expired"),
        (deactivate, 401, "account deactivated"),
        (strip, 404, "account may not see this tenant"),
    ],
)
def test_a_token_dies_at_once(
    world: World, admin: Client, end: Callable[[APIToken], None], status: int, words: str
) -> None:
    persona = world.persona()
    token, secret = token_for(world.reviewer, world.tenant)
    caller = Caller(secret)
    body = {"persona_id": str(persona.pk), "instructions": "New.", "rationale": "x"}

    def answers() -> list[int]:
        return [
            caller.get("/resolve", agent_class="Support").status_code,
            caller.get(f"/personas/{persona.pk}").status_code,
            caller.get("/agents").status_code,
            caller.post("/proposals", body).status_code,
        ]

    assert answers() == [200, 200, 200, 201]
    end(token)
    assert answers() == [status] * 4
    assert caller.get("/personas").status_code == 401 or caller.get("/personas").json()["items"] == []
    assert DirectiveProposal.objects.count() == 1
    pages = admin.get(LIST).content.decode() + admin.get(f"{LIST}?show=ended").content.decode()
    assert words in pages and pages.count(token.prefix) == 1


def test_the_list_says_who_made_it_and_when_it_was_used(world: World, admin: Client) -> None:
    token, secret = token_for(world.reviewer, world.tenant)
    assert "never" in admin.get(LIST).content.decode()
    Caller(secret).get("/personas")
    page = admin.get(LIST).content.decode()
    assert "within the hour" in page and "by the operator" in page
    APIToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now() - timedelta(hours=5))
    assert "5 h ago" in admin.get(LIST).content.decode()


def test_statements_do_not_grow_with_the_list(
    world: World, admin: Client, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for index in range(40):
        account = accounts.create_service_account(world.tenant, f"svc-{index}", name="", actor=superuser())
        tokens.create_token(world.tenant, account, name=f"t{index}", may_review=False, actor=superuser())
    with django_assert_max_num_queries(18):
        assert admin.get(LIST).content.decode().count("/revoke/") == 40


def test_names_are_shown_as_typed_and_do_nothing(world: World, admin: Client) -> None:
    name = "<script>alert(1)</script> 客服 👩‍🚒"
    made = admin.post(NEW, typed(world.admin, name=name)).content.decode()
    pages = [made, admin.get(LIST).content.decode()]
    for page in pages:
        assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt; 客服 👩‍🚒" in page


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_tells_no_secret(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any, debug: bool
) -> None:
    settings.DEBUG = debug
    caplog.set_level(logging.DEBUG)
    accounts.grant_role(world.tenant, world.admin.account, Role.REVIEWER, actor=superuser())
    shown: list[str] = []
    reports: list[str] = []

    def fail(request: Any, template: str, context: dict[str, Any], **_: Any) -> None:
        try:
            raise RuntimeError("boom")
        except RuntimeError:
            reporter = ExceptionReporter(request, *sys.exc_info())
            reports.extend([reporter.get_traceback_html(), reporter.get_traceback_text()])
            shown.append(str(context["secret"]))
            raise

    monkeypatch.setattr(views, "render_page", fail)
    client = Client(raise_request_exception=False)
    client.force_login(world.admin.account, backend="personas.permissions.PersonBackend")
    response = client.post(NEW, typed(world.admin, may_review="on", password=PASSWORD))
    assert response.status_code == 500 and "boom" in caplog.text and len(shown) == 1
    # Django's own page for developers shows everything typed; it needs DEBUG, which no deployment has.
    for text in (caplog.text, *([] if debug else [response.content.decode(), *reports])):
        assert shown[0] not in text and PASSWORD not in text


def test_the_bearer_of_a_failing_page_is_not_reported(world: World, settings: Any) -> None:
    settings.DEBUG = False
    _, secret = token_for(world.viewer, world.tenant)
    request = Client().get("/healthz", headers={"Authorization": f"Bearer {secret}"}).wsgi_request
    try:
        raise RuntimeError("boom")
    except RuntimeError:
        reporter = ExceptionReporter(request, *sys.exc_info())
    assert secret not in reporter.get_traceback_text()
