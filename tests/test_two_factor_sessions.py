"""What the second factor does to sessions: others end, and one without a code opens nothing."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice

from personas.models import Tenant
from personas_site.login_proof import PROVED
from tests.factory import PASSWORD, World
from tests.test_two_factor import PAGE, Phone, password_of, phone, set_up, strict

__all__ = ["phone", "strict"]  # fixtures


def elsewhere(name: str, code: str = "") -> Client:
    """Another session of the person, opened with a code if there is one."""
    client = Client()
    first = password_of(name, client)
    if code:
        client.post(first["Location"], {"code": code})
    assert client.get("/").status_code == 200
    return client


def is_out(client: Client) -> bool:
    return str(client.get("/").headers.get("Location", "")).startswith("/accounts/login/?")


def test_turning_it_on_ends_sessions_opened_before(world: World, phone: Phone) -> None:
    older, other = elsewhere("viewer"), elsewhere("editor")
    client, _ = set_up("viewer", phone)
    old = TOTPDevice.objects.get().key
    assert older.post(f"{PAGE}move/", {"code": phone.code(), "proof": PASSWORD}).status_code == 401
    assert TOTPDevice.objects.get().key == old
    assert is_out(older) and not is_out(other) and not is_out(client)


def test_moving_and_turning_off_end_other_sessions(world: World, phone: Phone) -> None:
    client, _ = set_up("viewer", phone)
    older = elsewhere("viewer", phone.next_code())
    phone.key = client.get(f"{PAGE}move/").context["key"]
    assert client.post(f"{PAGE}move/", {"code": phone.code(), "proof": PASSWORD}).status_code == 200
    assert is_out(older) and not is_out(client)
    older = elsewhere("viewer", phone.next_code())
    assert client.post(f"{PAGE}off/", {"proof": PASSWORD})["Location"] == PAGE
    assert is_out(older) and client.get(PAGE).status_code == 200


def test_the_operator_ends_every_session(world: World, phone: Phone) -> None:
    client, _ = set_up("viewer", phone)
    other = elsewhere("editor")
    call_command("reset_two_factor", "viewer", stdout=StringIO())
    assert is_out(client) and not is_out(other)


def test_a_code_counts_for_the_factor_it_was_given_for(world: World, phone: Phone) -> None:
    client, _ = set_up("viewer", phone)
    TOTPDevice.objects.update(key="00" * 20)
    assert client.get("/")["Location"].startswith("/accounts/login/code/")


@pytest.mark.parametrize("address", [
    "/", PAGE, f"{PAGE}move/", "/accounts/me/", "/accounts/invitation/", "/accounts/password/forgotten/",
    "/accounts/password/reset/x/y/", "/admin/login/",
])  # fmt: skip
def test_without_a_code_nothing_is_open(world: World, phone: Phone, address: str) -> None:
    client, _ = set_up("viewer", phone)
    session = client.session
    session[PROVED] = ""
    session.save()
    assert client.get(address)["Location"].startswith("/accounts/login/code/")
    key = TOTPDevice.objects.get().key
    for post in ("/accounts/invitation/", f"{PAGE}move/", f"{PAGE}off/", f"{PAGE}codes/", f"{PAGE}codes.txt"):
        assert client.post(post, {"proof": PASSWORD}).status_code == 403
    assert TOTPDevice.objects.get().key == key
    assert client.get("/healthz").status_code == 200
    assert client.get("/accounts/invitation/secret/")["Location"] == "/accounts/invitation/"
    assert client.post("/accounts/logout/").status_code == 302


def test_no_tenant_is_named_before_the_set_up(world: World, strict: Tenant, phone: Phone) -> None:
    client = Client()
    password_of("reviewer", client)
    for page in (client.get(PAGE), client.get("/no/such/page/"), client.post("/accounts/password/")):
        assert "/t/acme/" not in page.content.decode() and strict.name not in page.content.decode()
    phone.key = client.get(PAGE).context["key"]
    done = client.post(PAGE, {"code": phone.code(), "proof": PASSWORD})
    assert strict.name in done.content.decode()
