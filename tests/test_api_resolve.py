"""The hot path over HTTP: one statement, its statuses, its ETag."""

import hashlib
from dataclasses import fields
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from learning.services.proposals import propose
from personas.models import APIToken
from personas.resolve import Resolved
from personas.services import accounts, agents, bindings
from tests.api_client import Caller, code_of, token_for
from tests.factory import MANIFEST, World, make_tenant, superuser


@pytest.fixture
def runtime(world: World) -> Caller:
    from personas.actors import Actor

    return Caller.of(Actor(world.service), world.tenant)


def test_it_answers_with_the_fields_of_the_reference_in_their_order(world: World, runtime: Caller) -> None:
    persona = world.persona("Desk", "Be kind.", context_type="site", context_id="42", acts_as="bot", priority=3)
    response = runtime.get("/resolve", agent_class="Support", context_type="site", context_id="42")
    assert response.status_code == 200 and response["Content-Type"] == "application/json"
    answer = response.json()
    assert list(answer) == [field.name for field in fields(Resolved)]
    assert answer == {
        "tenant": "acme",
        "agent_class": "@acme/agents:Support",
        "manifest_version": 1,
        "persona_id": str(persona.pk),
        "name": "Desk",
        "instructions": "Be kind.",
        "revision": 1,
        "allowed_tools": ["kb.search", "ticket.comment"],
        "run_as": "svc-acme",
        "acts_as": "bot",
        "memory_scope": f"persona:{persona.pk}",
        "priority": 3,
        "context_type": "site",
        "context_id": "42",
        "source": "persona",
        "persona_source": "explicit",
        "source_tenant": "acme",
        "available": True,
        "instance_key": str(persona.pk),
        "dispatch_subscriber": f"@acme/agents:Support#{persona.pk}",
        "profile_sha256": None,
    }


def test_without_a_persona_the_manifest_answers(world: World, runtime: Caller) -> None:
    answer = runtime.get("/resolve", agent_class="@acme/agents:Support").json()
    assert (answer["source"], answer["persona_id"], answer["name"]) == ("default", None, "default")
    assert answer["instructions"] == MANIFEST["instructions"]
    assert (answer["instance_key"], answer["dispatch_subscriber"]) == (None, "@acme/agents:Support")


def test_a_disabled_agent_is_not_available_and_has_no_tools(world: World, runtime: Caller) -> None:
    world.persona()
    bindings.disable_agent(world.tenant, world.support, actor=superuser())
    answer = runtime.get("/resolve", agent_class="Support").json()
    assert (answer["available"], answer["allowed_tools"]) == (False, [])


def test_it_takes_one_statement_and_another_once_an_hour(world: World, runtime: Caller) -> None:
    world.persona()
    token = APIToken.objects.get()

    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert runtime.get("/resolve", agent_class="Support").status_code == 200
        return len(captured)

    assert token.last_used_at is None
    assert statements() == 2
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    assert statements() == 1
    APIToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=59))
    assert statements() == 1
    APIToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=61))
    assert statements() == 2
    token.refresh_from_db()
    assert token.last_used_at is not None and token.last_used_at >= first


def test_personas_and_levels_cost_no_further_statement(world: World) -> None:
    child = make_tenant("acme-child", parent=world.tenant)
    from personas.domain.rights import Role

    accounts.grant_role(child, world.viewer.account, Role.VIEWER, actor=superuser())
    caller = Caller.of(world.viewer, child)
    for number in range(5):
        world.persona(f"Desk {number}")
    caller.get("/resolve", agent_class="Support")
    with CaptureQueriesContext(connection) as captured:
        answer = caller.get("/resolve", agent_class="Support").json()
    assert len(captured) == 1
    assert (answer["tenant"], answer["source_tenant"], answer["persona_source"]) == ("acme-child", "acme", "inherited")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_prepared_statement_is_all_that_runs_and_opens_no_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.persona()
    caller = Caller.of(world.viewer, world.tenant)
    caller.get("/resolve", agent_class="Support")
    ran: list[Any] = []
    plain = psycopg.Cursor.execute

    def execute(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        ran.append((str(query), options.get("prepare")))
        return plain(self, query, params, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    assert caller.get("/resolve", agent_class="Support").status_code == 200
    assert [prepare for _, prepare in ran] == [True]
    assert "personas_apitoken" in ran[0][0]
    assert connection.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_without_a_valid_token_it_is_401(world: World) -> None:
    world.persona()
    revoked, revoked_secret = token_for(world.viewer, world.tenant)
    APIToken.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    expired, expired_secret = token_for(world.viewer, world.tenant)
    APIToken.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    _, inactive_secret = token_for(world.editor, world.tenant)
    world.editor.account.is_active = False
    world.editor.account.save()
    bodies = set()
    for caller in (
        Caller(),
        Caller("per_" + "x" * 43),
        Caller(revoked_secret),
        Caller(expired_secret),
        Caller(inactive_secret),
    ):
        response = caller.get("/resolve", agent_class="Support")
        assert (response.status_code, code_of(response)) == (401, "unauthenticated")
        assert response["WWW-Authenticate"] == "Bearer"
        bodies.add(response.content)
    assert len(bodies) == 1


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic dTpw", "per_secret"])
def test_other_authorization_headers_are_401(world: World, header: str) -> None:
    response = Caller().get("/resolve", headers={"Authorization": header}, agent_class="Support")
    assert (response.status_code, code_of(response)) == (401, "unauthenticated")


def test_the_scheme_is_written_in_any_case(world: World) -> None:
    _, secret = token_for(world.viewer, world.tenant)
    assert (
        Caller().get("/resolve", headers={"Authorization": f"bearer {secret}"}, agent_class="Support").status_code
        == 200
    )


def test_who_may_not_see_the_tenant_any_more_gets_404(world: World) -> None:
    from personas.domain.rights import Role

    world.persona()
    caller = Caller.of(world.viewer, world.tenant)
    accounts.revoke_role(world.tenant, world.viewer.account, Role.VIEWER, actor=superuser())
    response = caller.get("/resolve", agent_class="Support")
    assert (response.status_code, code_of(response)) == (404, "not_found")
    assert caller.get("/resolve", agent_class="Suport").content == response.content


def test_another_tenant_is_not_found_whether_it_exists_or_not(world: World, runtime: Caller) -> None:
    assert runtime.get("/resolve", agent_class="Support", tenant="acme").status_code == 200
    foreign = runtime.get("/resolve", agent_class="Support", tenant="globex")
    absent = runtime.get("/resolve", agent_class="Support", tenant="nowhere")
    assert (foreign.status_code, code_of(foreign)) == (404, "not_found")
    assert (absent.status_code, absent.content) == (404, foreign.content)


def test_an_unknown_class_is_404_with_suggestions(world: World, runtime: Caller) -> None:
    agents.define_agent_class("@acme/agents:Writer", display_name="Writer", manifest=MANIFEST, actor=superuser())
    response = runtime.get("/resolve", agent_class="Suport")
    assert (response.status_code, code_of(response)) == (404, "unknown_agent_class")
    assert response.json()["suggestions"] == ["@acme/agents:Support"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "agent_class"),
        ({"agent_class": ""}, "agent_class"),
        ({"agent_class": "x" * 201}, "agent_class"),
        ({"agent_class": "Sup\0port"}, "agent_class"),
        ({"agent_class": "Support", "context_id": "42"}, "context_type"),
        ({"agent_class": "Support", "context_type": "si\0te"}, "context_type"),
        ({"agent_class": "Support", "context_type": "x" * 201}, "context_type"),
        ({"agent_class": "Support", "context_type": "site", "context_id": "x" * 201}, "context_id"),
        ({"agent_class": "Support", "context_type": "site", "context_id": "\0"}, "context_id"),
        ({"agent_class": "Support", "tenant": "\0"}, "tenant"),
        ({"agent_class": "Support", "colour": "red"}, "colour"),
    ],
)
def test_wrong_parameters_are_422_and_named(world: World, runtime: Caller, query: dict[str, str], field: str) -> None:
    response = runtime.get("/resolve", **query)
    assert (response.status_code, code_of(response)) == (422, "invalid")
    assert [error["field"] for error in response.json()["errors"]] == [field]


def test_the_etag_is_over_the_body_and_spares_it(world: World, runtime: Caller) -> None:
    persona = world.persona(text="Old.")
    response = runtime.get("/resolve", agent_class="Support")
    etag = response["ETag"]
    assert etag == f'"{hashlib.sha256(response.content).hexdigest()}"'
    assert (response["Cache-Control"], response["Vary"]) == ("private", "Authorization")
    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        same = runtime.get("/resolve", headers={"If-None-Match": known}, agent_class="Support")
        assert (same.status_code, same.content, same["ETag"]) == (304, b"", etag)
        assert (same["Cache-Control"], same["Vary"]) == ("private", "Authorization")
    for known in ('"other"', etag.strip('"'), ""):
        assert runtime.get("/resolve", headers={"If-None-Match": known}, agent_class="Support").status_code == 200

    proposal = propose(persona, actor=world.editor, instructions="New.", rationale="because")
    reviewer = Caller.of(world.reviewer, world.tenant)
    assert reviewer.post(f"/proposals/{proposal.pk}/approve", {"expected_revision": 1}).status_code == 200
    changed = runtime.get("/resolve", headers={"If-None-Match": etag}, agent_class="Support")
    assert (changed.status_code, changed.json()["instructions"]) == (200, "New.")
    assert changed["ETag"] != etag


def test_a_head_request_is_answered_like_a_get(world: World, runtime: Caller) -> None:
    whole = runtime.get("/resolve", agent_class="Support")
    head = runtime.request("HEAD", "/resolve?agent_class=Support")
    assert (head.status_code, head["ETag"], head.content) == (200, whole["ETag"], b"")
