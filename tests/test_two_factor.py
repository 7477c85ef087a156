"""Two-factor log-in: setting it up, being asked for it, having to have it, and losing the phone."""

import re
from base64 import b32decode
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp import models as totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from personas.actors import Actor
from personas.domain.errors import Conflict, NotPermitted
from personas.domain.rights import Right
from personas.models import AuditEntry, Tenant, User
from personas.services import accounts, second_factor, tokens
from personas_site.login import PENDING
from personas_site.login_proof import PROVED
from tests.factory import PASSWORD, World, make_person, superuser
from tests.totp import code_of

PAGE = "/accounts/two-factor/"
START = 1_800_000_000


class Phone:
    """An app with a clock of its own, which the server is made to share."""

    def __init__(self) -> None:
        self.now, self.key = float(START), ""

    def code(self, step: int = 0) -> str:
        return code_of(self.key, self.now, step)

    def next_code(self) -> str:
        self.now += 30
        return self.code()


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> Phone:
    device = Phone()
    monkeypatch.setattr(totp, "time", SimpleNamespace(time=lambda: device.now))
    return device


def password_of(name: str, client: Client, **extra: Any) -> HttpResponse:
    return client.post("/accounts/login/", {"username": name, "password": PASSWORD}, **extra)


def set_up(name: str, phone: Phone) -> tuple[Client, list[str]]:
    """Log in as somebody and turn it on, through the pages. Returns the session and the recovery codes."""
    client = Client()
    password_of(name, client)
    page = client.get(PAGE)
    phone.key = re.search(r'id="key">([A-Z2-7 ]+)<', page.content.decode()).group(1)  # type: ignore[union-attr]
    done = client.post(PAGE, {"code": phone.code(), "proof": PASSWORD})
    assert done.status_code == 200
    return client, list(done.context["codes"])


def asked(name: str, code: str, **extra: Any) -> HttpResponse:
    """What a log-in with password and code answers."""
    client = Client()
    first = password_of(name, client, **extra)
    assert first["Location"].startswith("/accounts/login/code/"), first
    assert client.get("/").status_code == 302
    return client.post(first["Location"], {"code": code}, **extra)


def verbs(person: User) -> list[str]:
    rows = AuditEntry.objects.filter(object_id=str(person.pk), verb__startswith="mfa.").order_by("created_at")
    return list(rows.values_list("verb", flat=True))


@pytest.fixture
def strict(world: World, settings: Any) -> Tenant:
    settings.MFA_REQUIRED = True
    world.tenant.require_second_person = True
    world.tenant.save()
    return world.tenant


def test_our_codes_are_those_of_the_standard() -> None:
    key = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # of RFC 6238, appendix B
    assert [code_of(key, moment) for moment in (59, 1111111109, 20000000000)] == ["287082", "081804", "353130"]


def test_setting_up_and_logging_in(world: World, phone: Phone) -> None:
    _, codes = set_up("viewer", phone)
    assert len(set(codes)) == 10
    assert asked("viewer", phone.next_code())["Location"] == "/"
    assert verbs(world.viewer.account) == ["mfa.enabled"]


def test_the_page_shows_the_key_as_shapes_under_the_strict_policy(world: World, phone: Phone) -> None:
    client = Client()
    password_of("viewer", client)
    page = client.get(PAGE)
    html = page.content.decode()
    assert "<svg" in html and "data:" not in html and "style=" not in html
    assert "img-src 'self'" in page["Content-Security-Policy"] and "no-store" in page["Cache-Control"]
    assert client.get(PAGE).context["key"] == page.context["key"]


def test_a_wrong_code_turns_nothing_on(world: World, phone: Phone) -> None:
    client = Client()
    password_of("viewer", client)
    phone.key = client.get(PAGE).context["key"]
    for code in (phone.code(5), "", "abcdef"):
        assert client.post(PAGE, {"code": code, "proof": PASSWORD}).status_code == 422
    assert not TOTPDevice.objects.exists()
    assert client.post(PAGE, {"code": phone.code(), "proof": PASSWORD}).status_code == 200


def test_setting_it_up_asks_for_the_password(world: World, phone: Phone) -> None:
    client = Client()
    password_of("viewer", client)
    phone.key = client.get(PAGE).context["key"]
    for proof, words in (("", "Type your password."), ("guess", "This is not your password.")):
        refused = client.post(PAGE, {"code": phone.code(), "proof": proof})
        html = refused.content.decode()
        assert refused.status_code == 422 and words in html and 'aria-describedby="proof-fault"' in html
    assert not TOTPDevice.objects.exists()
    assert [client.post(PAGE, {"code": phone.code(), "proof": "guess"}).status_code for _ in range(4)][-1] == 429


def test_a_code_is_taken_once(world: World, phone: Phone) -> None:
    set_up("viewer", phone)
    assert asked("viewer", phone.code()).status_code == 422  # the one that set it up
    TOTPDevice.objects.update(throttling_failure_count=0)
    code = phone.next_code()
    assert asked("viewer", code).status_code == 302
    assert asked("viewer", code).status_code == 422


def test_a_recovery_code_is_taken_once_however_it_is_typed(world: World, phone: Phone) -> None:
    _, codes = set_up("viewer", phone)
    assert asked("viewer", codes[0].upper().replace("-", " ")).status_code == 302
    assert asked("viewer", codes[0]).status_code == 422
    assert asked("viewer", codes[1].replace("-", "")).status_code == 302
    assert second_factor.recovery_codes_left(world.viewer.account) == 8
    assert verbs(world.viewer.account) == ["mfa.enabled", "mfa.recovery_used", "mfa.recovery_used"]
    kept = "".join(StaticToken.objects.values_list("token", flat=True))
    assert not any(code.replace("-", "") in kept for code in codes)


def test_the_code_of_somebody_else_proves_nothing(world: World, phone: Phone) -> None:
    _, codes = set_up("editor", phone)
    other = Phone()
    set_up("viewer", other)
    other.key, stolen = phone.key, phone.next_code()
    assert asked("viewer", stolen).status_code == 422
    assert asked("viewer", codes[0]).status_code == 422


def test_codes_cannot_be_guessed(world: World, phone: Phone) -> None:
    set_up("viewer", phone)
    for _ in range(4):
        assert asked("viewer", phone.code(7)).status_code == 422
    assert asked("viewer", phone.code(7)).status_code == 429
    client = Client()
    assert password_of("viewer", client).status_code == 429
    elsewhere = asked("viewer", phone.next_code(), REMOTE_ADDR="192.0.2.7")
    assert elsewhere.status_code == 422  # many addresses help nobody: each failure doubled the wait
    assert "is taken in" in elsewhere.content.decode()
    for _ in range(20):
        TOTPDevice.objects.update(throttling_failure_timestamp=None)
        second_factor.check_code(world.viewer.account, phone.code(7), actor=world.viewer)
    assert second_factor.seconds_to_wait(world.viewer.account) <= 512


def test_a_recovery_code_ends_the_wait(world: World, phone: Phone) -> None:
    _, codes = set_up("viewer", phone)
    asked("viewer", phone.code(7))
    assert asked("viewer", codes[0]).status_code == 302
    assert asked("viewer", phone.next_code()).status_code == 302


def test_the_code_page_needs_the_password_first_and_soon(world: World, phone: Phone) -> None:
    set_up("viewer", phone)
    client = Client()
    assert client.post("/accounts/login/code/", {"code": phone.next_code()})["Location"].startswith("/accounts/login/?")
    password_of("viewer", client)
    session = client.session
    session[PENDING] = {**session[PENDING], "until": 0}
    session.save()
    assert client.post("/accounts/login/code/", {"code": phone.next_code()})["Location"].startswith("/accounts/login/?")
    password_of("viewer", client)
    User.objects.filter(username="viewer").update(is_active=False)
    assert client.post("/accounts/login/code/", {"code": phone.next_code()})["Location"].startswith("/accounts/login/?")


def test_a_password_changed_meanwhile_ends_a_log_in_half_way(world: World, phone: Phone) -> None:
    set_up("viewer", phone)
    client = Client()
    password_of("viewer", client)
    world.viewer.account.set_password("another one entirely")
    world.viewer.account.save()
    assert client.post("/accounts/login/code/", {"code": phone.next_code()})["Location"].startswith("/accounts/login/?")


def test_next_goes_through_both_steps(world: World, phone: Phone) -> None:
    set_up("viewer", phone)
    client = Client()
    first = client.post("/accounts/login/", {"username": "viewer", "password": PASSWORD, "next": "/t/acme/"})
    page = client.get(first["Location"])
    data = {"code": phone.next_code(), "next": page.context["next"]}
    assert client.post("/accounts/login/code/", data)["Location"] == "/t/acme/"
    for step in (client, Client()):
        assert "evil" not in step.get("/accounts/login/code/?next=https://evil.example/")["Location"]


def test_the_session_gets_a_new_key_at_each_step(world: World, phone: Phone) -> None:
    client, _ = set_up("viewer", phone)
    client = Client()
    client.get("/accounts/login/")
    first = password_of("viewer", client)
    before = client.cookies["sessionid"].value
    client.post(first["Location"], {"code": phone.next_code()})
    assert client.cookies["sessionid"].value != before


def test_new_recovery_codes_need_proof_and_end_the_old(world: World, phone: Phone) -> None:
    client, codes = set_up("viewer", phone)
    assert client.post(f"{PAGE}codes/", {"proof": "wrong"}).status_code == 422
    fresh = client.post(f"{PAGE}codes/", {"proof": PASSWORD}).context["codes"]
    assert not set(fresh) & set(codes)
    assert asked("viewer", codes[0]).status_code == 422
    assert asked("viewer", fresh[0]).status_code == 302


def test_codes_come_as_a_file_with_nothing_else_in_it(world: World, phone: Phone) -> None:
    client, codes = set_up("viewer", phone)
    answer = client.post(f"{PAGE}codes.txt", {"code": [*codes, "<script>", "x" * 19]})
    assert "attachment" in answer["Content-Disposition"]
    assert answer.content.decode().split("\r\n")[2:-1] == codes


def test_turning_it_off_needs_proof(world: World, phone: Phone) -> None:
    client, _ = set_up("viewer", phone)
    assert client.post(f"{PAGE}off/", {"proof": "wrong"}).status_code == 422
    assert client.post(f"{PAGE}off/", {"proof": PASSWORD})["Location"] == PAGE
    assert password_of("viewer", Client())["Location"] == "/"
    client, _ = set_up("viewer", phone)
    assert client.post(f"{PAGE}off/", {"proof": phone.next_code()})["Location"] == PAGE
    assert verbs(world.viewer.account) == ["mfa.enabled", "mfa.disabled"] * 2


def test_proof_is_not_to_be_guessed_in_an_open_session(world: World, phone: Phone) -> None:
    client, _ = set_up("viewer", phone)
    statuses = [client.post(f"{PAGE}off/", {"proof": "wrong"}).status_code for _ in range(5)]
    assert statuses == [422] * 4 + [429]
    assert client.post(f"{PAGE}off/", {"proof": PASSWORD}).status_code == 429
    assert second_factor.has_second_factor(world.viewer.account)


def test_moving_to_another_phone(world: World, phone: Phone, strict: Tenant) -> None:
    client, codes = set_up("reviewer", phone)
    old = phone.key
    page = client.get(f"{PAGE}move/")
    phone.key = page.context["key"]
    assert phone.key != old
    assert client.post(f"{PAGE}move/", {"code": phone.code(), "proof": "wrong"}).status_code == 422
    assert client.post(f"{PAGE}move/", {"code": phone.code(9), "proof": PASSWORD}).status_code == 422
    assert TOTPDevice.objects.get(user=world.reviewer.account).bin_key == b32decode(old.replace(" ", ""))
    assert client.post(f"{PAGE}move/", {"code": phone.code(), "proof": PASSWORD}).status_code == 200
    assert TOTPDevice.objects.filter(user=world.reviewer.account).count() == 1
    assert asked("reviewer", codes[0]).status_code == 422
    assert asked("reviewer", phone.next_code()).status_code == 302
    assert client.get("/").status_code == 200


def test_it_is_set_up_once(world: World, phone: Phone) -> None:
    set_up("viewer", phone)
    with pytest.raises(Conflict):
        second_factor.enable_second_factor(world.viewer.account, "00" * 20, phone.code(), actor=world.viewer)


def test_who_must_have_it(world: World, strict: Tenant) -> None:
    Tenant.objects.update(require_second_person=False)
    persona = world.persona()
    Tenant.objects.filter(pk=strict.pk).update(require_second_person=True)
    make_person("staff")
    keeper = make_person("keeper")
    User.objects.filter(username="staff").update(is_staff=True)
    accounts.grant_persona_right(persona, keeper.account, Right.ACTIVATE_DIRECTIVE, actor=superuser())
    cast = {**world.cast, "staff": Actor(User.objects.get(username="staff")), "keeper": keeper}
    must = {name for name, actor in cast.items() if second_factor.needs_second_factor(actor.account)}
    assert must == {"root", "staff", "keeper", "reviewer", "second"}
    strict.require_second_person = False
    strict.save()
    must = {name for name, actor in cast.items() if second_factor.needs_second_factor(actor.account)}
    assert must == {"root", "staff"}


def test_the_rule_holds_without_a_persona(world: World, strict: Tenant) -> None:
    assert second_factor.needs_second_factor(world.reviewer.account)


def test_the_setting_waives_it(world: World, strict: Tenant, settings: Any) -> None:
    settings.MFA_REQUIRED = False
    assert not second_factor.needs_second_factor(world.reviewer.account)
    assert not second_factor.needs_second_factor(superuser().account)


def test_every_page_leads_to_the_set_up_until_it_is_done(world: World, strict: Tenant, phone: Phone) -> None:
    client = Client()
    password_of("reviewer", client)
    for page in ("/", "/t/acme/", "/t/acme/review/", "/accounts/me/", "/accounts/password/"):
        assert client.get(page)["Location"].startswith(f"{PAGE}?next="), page
    sent = client.post("/accounts/password/", {"old_password": PASSWORD, "new_password1": "x", "note": "My long text."})
    assert sent.status_code == 403 and "My long text." in sent.content.decode()
    part = client.get("/", headers={"HX-Request": "true"})
    assert (part.status_code, part["HX-Redirect"]) == (403, PAGE)
    shown = client.get(f"{PAGE}?next=/t/acme/")
    assert "This comes first" in shown.content.decode() and shown.context["next"] == "/t/acme/"
    phone.key = shown.context["key"]
    assert client.post(PAGE, {"code": phone.code(), "proof": PASSWORD}).status_code == 200
    assert client.get("/").status_code == 200
    assert client.post(f"{PAGE}off/", {"proof": PASSWORD}).status_code == 403
    assert second_factor.has_second_factor(world.reviewer.account)
    assert client.post("/accounts/logout/").status_code == 302


def test_others_are_not_held_up(world: World, strict: Tenant) -> None:
    client = Client()
    password_of("editor", client)
    assert client.get("/t/acme/").status_code == 200


def test_a_session_from_before_the_rule_is_asked_for_a_code(world: World, phone: Phone, settings: Any) -> None:
    before, _ = set_up("reviewer", phone)
    session = before.session
    session[PROVED] = True  # what such a session holds
    session.save()
    settings.MFA_REQUIRED = True
    Tenant.objects.filter(slug="acme").update(require_second_person=True)
    led = before.get("/t/acme/")
    assert led["Location"].startswith("/accounts/login/code/?next=")
    key = before.cookies["sessionid"].value
    assert before.post(led["Location"], {"code": phone.next_code()})["Location"] == "/t/acme/"
    assert before.cookies["sessionid"].value != key
    assert before.get("/t/acme/").status_code == 200


def test_tokens_are_not_held_up(world: World, strict: Tenant) -> None:
    _, secret = tokens.create_token(strict, world.reviewer.account, name="x", may_review=False, actor=None)
    answer = Client().get("/api/v1/personas", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200


def test_only_superusers_turn_off_that_of_others(world: World, phone: Phone) -> None:
    set_up("viewer", phone)
    with pytest.raises(NotPermitted):
        second_factor.disable_second_factor(world.viewer.account, actor=world.admin)
    second_factor.disable_second_factor(world.viewer.account, actor=superuser())
    assert not second_factor.has_second_factor(world.viewer.account)


def test_the_operator_helps_who_lost_everything(world: World, phone: Phone, strict: Tenant) -> None:
    set_up("reviewer", phone)
    out = StringIO()
    call_command("reset_two_factor", "reviewer@example.test", stdout=out)
    assert "reviewer is off" in out.getvalue()
    assert AuditEntry.objects.get(verb="mfa.disabled").note == "by the operator"
    for name, what in (("reviewer", "off already"), ("nobody", "no account")):
        with pytest.raises(CommandError, match=what):
            call_command("reset_two_factor", name)
