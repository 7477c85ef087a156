"""Failed tokens are counted by address; valid ones are never in the way of it."""

from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from personas import limits
from personas.api_support import bearer
from personas.api_support.problems import Problem
from personas.http import client_address
from personas.limits import Limit, network_of
from tests.api_client import ROOT, Caller, code_of, token_for
from tests.factory import World

MOST = bearer.FAILURES.most
CALLS = ("/personas", "/resolve?agent_class=Support")


def wrong(number: int) -> str:
    return f"per_{number:043d}"


def ask(secret: str, path: str = "/personas", address: str = "192.0.2.1", **headers: str) -> Any:
    return Caller(secret).client.get(
        ROOT + path, headers={"Authorization": f"Bearer {secret}", **headers}, REMOTE_ADDR=address
    )


def exhaust(address: str = "192.0.2.1") -> None:
    for number in range(MOST):
        assert ask(wrong(number), CALLS[number % 2], address).status_code == 401


@pytest.mark.parametrize("path", CALLS)
def test_after_twenty_failures_the_next_is_told_to_wait(world: World, path: str) -> None:
    exhaust()
    response = ask(wrong(MOST), path)
    assert (response.status_code, code_of(response)) == (429, "too_many_failures")
    assert 1 <= int(response["Retry-After"]) <= 60
    assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", CALLS)
def test_a_secret_that_failed_before_costs_no_statement(world: World, path: str) -> None:
    exhaust()
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert [ask(wrong(3), path).status_code for _ in range(5)] == [429] * 5
    assert len(asked) == 0


@pytest.mark.parametrize("path", CALLS)
def test_a_valid_token_is_answered_from_the_same_address(world: World, path: str) -> None:
    _, secret = token_for(world.viewer, world.tenant)
    exhaust()
    assert ask(wrong(1), path).status_code == 429
    assert ask(secret, path).status_code == 200


def test_a_token_that_ends_is_counted_like_any_other(world: World) -> None:
    token, secret = token_for(world.viewer, world.tenant)
    exhaust()
    type(token).objects.update(revoked_at=token.created_at)
    assert ask(secret).status_code == 429
    with CaptureQueriesContext(connection) as asked:
        assert ask(secret).status_code == 429
    assert len(asked) == 0


def test_another_address_is_not_counted_with_it(world: World) -> None:
    exhaust()
    assert ask(wrong(1), address="192.0.2.2").status_code == 401


def test_the_count_starts_anew_after_a_minute(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    exhaust()
    assert ask(wrong(1)).status_code == 429
    now = limits.time.time()
    monkeypatch.setattr(limits.time, "time", lambda: now + 61)
    assert ask(wrong(1)).status_code == 401


def test_no_token_is_no_failed_token(world: World) -> None:
    for _ in range(MOST + 5):
        assert Caller().get("/personas").status_code == 401


def statements(secret: str, path: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert ask(secret, path).status_code == 200
        return len(asked)  # the log is emptied by the next request


def test_a_valid_token_costs_the_statements_it_did(world: World) -> None:
    world.persona()
    _, secret = token_for(world.viewer, world.tenant)
    ask(secret)
    before = [statements(secret, path) for path in CALLS]
    exhaust()
    assert [statements(secret, path) for path in CALLS] == before
    assert before[1] == 1


@given(st.integers(1, 6), st.lists(st.sampled_from(["a", "b"]), max_size=20))
def test_a_limit_is_reached_by_its_own_failures_alone(most: int, failing: list[str]) -> None:
    cache.clear()
    limit, other = Limit("one", most=most), Limit("two", most=1)
    for counted in failing:
        limit.fail(counted)
    for counted in ("a", "b"):
        assert limit.reached(counted) == (failing.count(counted) >= most)
        assert not other.reached(counted)


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        ("::1", "::"),
        ("unknown", "unknown"),
    ],
)
def test_a_whole_network_of_ipv6_counts_as_one(address: str, source: str) -> None:
    assert network_of(address) == source


@pytest.mark.parametrize(
    ("behind", "forwarded", "remote", "found"),
    [
        (False, None, "192.0.2.1", "192.0.2.1"),
        (False, "198.51.100.7", "192.0.2.1", "192.0.2.1"),
        (True, "198.51.100.7", "192.0.2.1", "198.51.100.7"),
        (True, "203.0.113.9, 198.51.100.7", "192.0.2.1", "198.51.100.7"),
        (True, "2001:DB8::1", "192.0.2.1", "2001:db8::1"),
        (True, None, "192.0.2.1", "192.0.2.1"),
        (True, "nonsense", "192.0.2.1", "unknown"),
        (False, None, "::ffff:192.0.2.1", "192.0.2.1"),
        (False, None, "", "unknown"),
    ],
)
def test_only_a_trusted_proxy_says_where_a_request_came_from(
    settings: Any, behind: bool, forwarded: str | None, remote: str, found: str
) -> None:
    settings.BEHIND_PROXY = behind
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    assert client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote)) == found


def test_who_forges_the_header_is_still_counted(world: World) -> None:
    for number in range(MOST + 1):
        response = ask(wrong(number), **{"X-Forwarded-For": f"203.0.113.{number}"})
    assert response.status_code == 429


def test_a_secret_is_never_a_key_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []
    for name in ("get", "set", "add"):
        plain = getattr(cache, name)

        def spy(key: str, *args: Any, plain: Any = plain) -> Any:
            keys.append(key)
            return plain(key, *args)

        monkeypatch.setattr(cache, name, spy)
    request: HttpRequest = RequestFactory().get("/", headers={"Authorization": f"Bearer {wrong(1)}"})
    digest = bearer.digest_of(request)
    assert isinstance(bearer.failure(request, digest), Problem)
    assert keys and not any(wrong(1) in key for key in keys)
