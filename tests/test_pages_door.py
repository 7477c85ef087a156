"""Logging in and out, and what monitors ask."""

import re

from django.test import Client

from tests.factory import PASSWORD, World


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
