"""Logging in and out, and what monitors ask."""

import re
from urllib.parse import urlencode

import pytest
from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from personas_site.logs import current_id
from tests.factory import PASSWORD, World
from tests.pages import client_of

FORM = "application/x-www-form-urlencoded"


def test_log_in_goes_where_one_wanted(world: World) -> None:
    client = Client()
    wanted = client.get("/t/acme/review/")
    assert wanted["Location"] == "/accounts/login/?next=/t/acme/review/"
    done = client.post(wanted["Location"], {"username": "viewer", "password": PASSWORD, "next": "/t/acme/review/"})
    assert done["Location"] == "/t/acme/review/"
    client.post("/accounts/logout/")
    assert client.get("/").status_code == 302


def test_a_wrong_password_says_so(world: World) -> None:
    page = Client().post("/accounts/login/", {"username": "viewer", "password": "wrong"})
    assert "do not belong together" in page.content.decode()


def test_another_site_is_not_where_one_goes(world: World) -> None:
    data = {"username": "viewer", "password": PASSWORD, "next": "https://evil.example/"}
    assert Client().post("/accounts/login/", data)["Location"] == "/"


def test_monitors_are_answered(db: None) -> None:
    assert Client().get("/healthz").content == b"ok"
    assert Client().get("/readyz").content == b"ready"


def test_a_request_keeps_its_id(db: None) -> None:
    assert Client().get("/healthz", headers={"X-Request-ID": "abc-1"})["X-Request-ID"] == "abc-1"
    made = Client().get("/healthz", headers={"X-Request-ID": "bad id\n"})["X-Request-ID"]
    assert re.fullmatch(r"[0-9a-f]{32}", made)


def test_addresses_that_no_text_can_have(world: World) -> None:
    client = client_of(world.reviewer)
    for page in (
        "/?q=%00",
        "/t/acme/review/?q=a%00b",
        "/t/acme/personas/?agent_class=%00",
        "/t/acme/personas/?page=%00",
    ):
        assert client.get(page).status_code == 400
    naive = signing.dumps(["2024-01-01T00:00:00", 5])
    for cursor in ("x", "W10=", "WyIyMDI0LTAxLTAxVDAwOjAwOjAwIiw1XQ==", naive, "[" * 2000, "é"):
        assert client.get("/t/acme/review/", {"after": cursor}).status_code == 200


def test_too_much_at_once_says_how_much_is_taken(world: World) -> None:
    client, persona = client_of(world.reviewer), world.persona()
    data = {"base_revision": 1, "instructions": "x" * 5_000_000, "note": ""}
    response = client.post(f"/t/acme/personas/{persona.pk}/propose/", urlencode(data), content_type=FORM)
    assert response.status_code == 413
    assert "More than 4 MB were sent" in response.content.decode()


def test_the_log_names_the_request(world: World, caplog: pytest.LogCaptureFixture) -> None:
    client = client_of(world.outsider)
    client.get("/t/acme/", headers={"X-Request-ID": "find-me"})
    assert current_id.get() == "find-me"


def test_a_body_that_says_it_is_too_long_is_not_read(db: None) -> None:
    """Files of a form are outside Django's own limit."""
    big = SimpleUploadedFile("big.bin", b"x" * 5_000_000)
    response = Client().post("/accounts/login/", {"username": "a", "password": "b", "file": big})
    assert response.status_code == 413
    assert "More than 4 MB were sent" in response.content.decode()


def test_every_answer_has_its_policies(db: None) -> None:
    response = Client().get("/accounts/login/")
    assert "camera=()" in response["Permissions-Policy"]
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Frame-Options"] == "DENY"
