"""Who may call what: every kind of caller against every route and method."""

from collections.abc import Callable
from itertools import count

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.rights import Role
from personas.services import accounts
from tests.api_client import ROOT, Caller, code_of, token_for
from tests.factory import PASSWORD, World, make_person, superuser

text = count(1)


def anonymous(world: World) -> Caller:
    return Caller()


def bad_token(world: World) -> Caller:
    return Caller("per_" + "0" * 43)


def outsider(world: World) -> Caller:
    return Caller.of(world.outsider, world.other)


def other_tenant(world: World) -> Caller:
    """A reviewer here, with a token for elsewhere."""
    accounts.grant_role(world.other, world.reviewer.account, Role.REVIEWER, actor=superuser())
    return Caller.of(world.reviewer, world.other)


def service(world: World) -> Caller:
    return Caller.of(Actor(world.service), world.tenant)


def service_editor(world: World) -> Caller:
    accounts.grant_role(world.tenant, world.service, Role.EDITOR, actor=superuser())
    return Caller.of(Actor(world.service), world.tenant)


def no_review(world: World) -> Caller:
    return Caller.of(world.reviewer, world.tenant, may_review=False)


def inactive(world: World) -> Caller:
    person = make_person("leaver", tenant=world.tenant, roles=tuple(Role))
    _, secret = token_for(person, world.tenant)
    person.account.is_active = False
    person.account.save()
    return Caller(secret)


def stripped(world: World) -> Caller:
    """A token whose account has lost its role."""
    person = make_person("stripped", tenant=world.tenant, roles=(Role.REVIEWER,))
    caller = Caller.of(person, world.tenant)
    accounts.revoke_role(world.tenant, person.account, Role.REVIEWER, actor=superuser())
    return caller


def root(world: World) -> Caller:
    return Caller.of(world.root, world.tenant)


def having(role: Role) -> Callable[[World], Caller]:
    return lambda world: Caller.of(world.cast[role.value], world.tenant)


READS = (
    "GET /resolve",
    "GET /agents",
    "GET /personas",
    "GET /personas/{persona_id}",
    "GET /personas/{persona_id}/revisions",
    "GET /proposals",
    "GET /proposals/{proposal_id}",
)
PROPOSE, REJECT, APPROVE = (
    "POST /proposals",
    "POST /proposals/{proposal_id}/reject",
    "POST /proposals/{proposal_id}/approve",
)
ROUTES = (*READS, PROPOSE, REJECT, APPROVE)


def row(reads: int, propose: int, decide: int) -> dict[str, int]:
    return {**dict.fromkeys(READS, reads), PROPOSE: propose, REJECT: decide, APPROVE: decide}


# A token that may not see the tenant finds nothing of it; its lists are empty, or not found when they name it.
BLIND = {**row(404, 404, 404), "GET /personas": 200, "GET /proposals": 200}
TABLE = [
    (anonymous, row(401, 401, 401)),
    (bad_token, row(401, 401, 401)),
    (inactive, row(401, 401, 401)),
    (outsider, row(404, 404, 404)),
    (other_tenant, row(404, 404, 404)),
    (stripped, BLIND),
    (having(Role.VIEWER), row(200, 403, 403)),
    (service, row(200, 403, 403)),
    (service_editor, row(200, 201, 403)),
    (having(Role.EDITOR), row(200, 201, 403)),
    (having(Role.ADMIN), row(200, 201, 403)),
    (no_review, row(200, 201, 403)),
    (having(Role.REVIEWER), row(200, 201, 200)),
    (root, row(200, 201, 200)),
]


@pytest.mark.parametrize(("make_caller", "expected"), TABLE)
def test_who_may_call_what(world: World, make_caller: Callable[[World], Caller], expected: dict[str, int]) -> None:
    persona = world.persona()
    caller = make_caller(world)
    found = {}
    for route in ROUTES:
        method, path = route.split()
        proposal = propose(persona, actor=world.editor, instructions=f"Text {next(text)}", rationale="x")
        path = path.format(persona_id=persona.pk, proposal_id=proposal.pk)
        if method == "GET":
            query = {"agent_class": "Support"} if path == "/resolve" else {}
            response = caller.get(path, tenant="acme", **query)
        else:
            bodies = {
                PROPOSE: {"persona_id": str(persona.pk), "instructions": f"Text {next(text)}", "rationale": "x"},
                REJECT: {"note": "no"},
                APPROVE: {"expected_revision": 1},
            }
            response = caller.post(path, bodies[route])
        found[route] = response.status_code
        if response.status_code == 401:
            assert response["WWW-Authenticate"] == "Bearer"
        if response.status_code >= 400:
            assert (
                code_of(response)
                == {401: "unauthenticated", 403: "not_permitted", 404: "not_found"}[response.status_code]
            )
    assert found == expected


def test_who_may_see_nothing_gets_empty_lists(world: World) -> None:
    propose(world.persona(), actor=world.editor, instructions="New.", rationale="x")
    caller = stripped(world)
    for path in ("/personas", "/proposals"):
        assert caller.get(path).json() == {"items": [], "next": None}


def test_the_table_knows_every_route() -> None:
    from personas_site.api import api

    document = api.get_openapi_schema()
    known = {
        f"{method.upper()} {path.removeprefix(ROOT)}"
        for path, methods in document["paths"].items()
        for method in methods
    }
    assert known == set(ROUTES)


@pytest.mark.parametrize("path", sorted({route.split()[1] for route in ROUTES} | {"/openapi.json"}))
def test_other_methods_are_405_and_name_those_that_work(world: World, path: str) -> None:
    known = {route.split()[0] for route in ROUTES if route.split()[1] == path} or {"GET"}
    ident = world.service.pk
    for caller in (Caller(), Caller.of(world.viewer, world.tenant)):
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - known:
            response = caller.request(method, path.format(persona_id=ident, proposal_id=ident))
            assert (response.status_code, code_of(response)) == (405, "method_not_allowed"), method
            allowed = known | ({"HEAD"} if "GET" in known else set())
            assert set(response["Allow"].split(", ")) == allowed


def test_a_log_in_is_no_token_and_a_token_no_log_in(world: World) -> None:
    client = Client()
    client.post("/accounts/login/", {"username": "reviewer", "password": PASSWORD})
    assert client.get("/").status_code == 200
    assert client.get(f"{ROOT}/personas").status_code == 401
    assert client.get(f"{ROOT}/resolve?agent_class=Support").status_code == 401
    Session.objects.all().delete()
    caller = Caller.of(world.reviewer, world.tenant)
    for path in ("/personas", "/resolve?agent_class=Support"):
        response = caller.request("GET", path)
        assert response.status_code == 200
        assert not response.cookies and response["Vary"] == "Authorization"
    assert not Session.objects.exists()


def test_use_is_noted_once_an_hour_on_every_call(world: World) -> None:
    token, secret = token_for(world.viewer, world.tenant)
    Caller(secret).get("/personas")
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    Caller(secret).get("/agents")
    token.refresh_from_db()
    assert token.last_used_at == first
