"""Refusals of the API are problem documents, whatever goes wrong, and tell nothing they should not."""

import json
import logging
from typing import Any

import pytest
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.test import Client, RequestFactory, override_settings

from learning.models import DirectiveProposal
from personas import api as personas_api
from personas.api_support.described import REFUSALS
from personas.api_support.problems import api_view, refusal
from personas.domain import errors
from personas.http import STATUS_OF
from tests.api_client import ROOT, Caller, code_of, token_for
from tests.factory import World


@pytest.fixture
def editor(world: World) -> Caller:
    return Caller.of(world.editor, world.tenant)


def raw(caller: Caller, body: bytes, content_type: str = "application/json") -> Any:
    return caller.client.post(f"{ROOT}/proposals", body, content_type=content_type, headers=caller.headers)


@pytest.mark.parametrize(
    "path", ["/api/", "/api/x", "/api/v1/", "/api/v1/nothing", "/api/v1/resolve/", "/api/v2/agents"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_unknown_paths_are_problems_for_everyone(db: None, path: str, method: str) -> None:
    response = Client().generic(method, path)
    assert (response.status_code, code_of(response)) == (404, "not_found")
    assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("body", [b"{", b"nonsense", b'{"a": ', b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json_is_400(world: World, editor: Caller, body: bytes) -> None:
    response = raw(editor, body)
    assert (response.status_code, code_of(response)) == (400, "malformed_json")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b'"text"', b"7", b'{"instructions": "\\ud800"}', b'{"\\ud800": 1}']
)
def test_json_of_another_shape_is_422(world: World, editor: Caller, body: bytes) -> None:
    response = raw(editor, body)
    assert (response.status_code, code_of(response)) == (422, "invalid")
    assert all(set(error) == {"field", "message"} for error in response.json()["errors"])


def test_a_form_is_no_json(world: World, editor: Caller) -> None:
    response = raw(editor, b"instructions=New", "application/x-www-form-urlencoded")
    assert (response.status_code, code_of(response)) == (400, "malformed_json")


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000)
def test_a_body_over_the_limit_is_413(world: World, editor: Caller) -> None:
    response = raw(editor, json.dumps({"instructions": "x" * 1000}).encode())
    assert (response.status_code, code_of(response)) == (413, "too_large")
    keyed = editor.post("/proposals", {"instructions": "x" * 1000}, headers={"Idempotency-Key": "k"})
    assert keyed.status_code == 413


def test_too_many_parameters_are_400(world: World, editor: Caller) -> None:
    response = editor.request("GET", "/personas?" + "&".join(f"a{number}=1" for number in range(1001)))
    assert (response.status_code, code_of(response)) == (400, "bad_request")


def test_a_fault_of_ours_is_500_without_its_words(
    world: World, editor: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the inside of the server")

    monkeypatch.setattr(personas_api, "find_persona", fail)
    response = editor.get(f"/personas/{world.service.pk}", headers={"X-Request-ID": "req-9"})
    assert (response.status_code, code_of(response)) == (500, "internal_error")
    assert response.json()["request_id"] == response["X-Request-ID"] == "req-9"
    assert b"inside" not in response.content and b"Traceback" not in response.content
    record = next(record for record in caplog.records if record.name == "personas.api_support.problems")
    assert record.exc_info and "the inside of the server" in caplog.text


def test_a_fault_undoes_what_a_keyed_call_did(world: World, editor: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from learning import api as learning_api

    def fail(*_: Any) -> None:
        raise RuntimeError

    persona = world.persona()
    body = {"persona_id": str(persona.pk), "instructions": "New.", "rationale": "x"}
    with monkeypatch.context() as patch:
        patch.setattr(learning_api.OneProposalOut, "of", fail)
        assert editor.post("/proposals", body, headers={"Idempotency-Key": "k"}).status_code == 500
    assert not DirectiveProposal.objects.exists()
    assert editor.post("/proposals", body, headers={"Idempotency-Key": "k"}).status_code == 201


@pytest.mark.parametrize("error", [SuspiciousOperation(), RequestDataTooBig(), ValueError("secret words")])
def test_faults_outside_an_operation_are_problems_too(error: Exception) -> None:
    def view(request: Any) -> Any:
        raise error

    response: Any = api_view(view)(RequestFactory().get("/api/v1/x"))
    document = json.loads(response.content)
    assert response["Content-Type"] == "application/problem+json" and document["code"]
    assert b"secret words" not in response.content


def every_refusal(kind: type[errors.Refused] = errors.Refused) -> list[type[errors.Refused]]:
    return [sub for direct in kind.__subclasses__() for sub in (direct, *every_refusal(direct))]


def test_every_refusal_of_the_rules_has_a_status() -> None:
    from learning.services import review

    kinds = every_refusal()
    assert errors.Stale in kinds and review.NotPending in kinds
    for kind in kinds:
        made = kind.__new__(kind)  # some take no message, some more than one
        errors.Refused.__init__(made, "x")
        if isinstance(made, errors.UnknownAgentClass):
            made.suggestions = []
        problem = refusal(made)
        assert problem.status in STATUS_OF.values() and problem.document["code"] == kind.code


def test_the_description_is_public_and_names_every_status(db: None) -> None:
    response = Client().get(f"{ROOT}/openapi.json")
    assert response.status_code == 200 and response["Content-Type"] == "application/json"
    document = response.json()
    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"] == {"BearerToken": {"type": "http", "scheme": "bearer"}}
    seen = set()
    for methods in document["paths"].values():
        for method, operation in methods.items():
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            assert operation["security"] == [{"BearerToken": []}]
            statuses = set(operation["responses"])
            assert {"400", "401", "404", "405", "422", "500"} <= statuses
            assert (method == "post") == ({"403", "409", "413"} <= statuses)
            assert "tenant" in {parameter["name"] for parameter in operation["parameters"]}
            for status, answer in operation["responses"].items():
                if int(status) in REFUSALS:
                    assert list(answer["content"]) == ["application/problem+json"]
    every_reference_leads_somewhere(document, document)
    assert Client().get(f"{ROOT}/docs").status_code == 404


def every_reference_leads_somewhere(part: Any, document: dict[str, Any]) -> None:
    if isinstance(part, dict):
        if "$ref" in part:
            target: Any = document
            for step in part["$ref"].removeprefix("#/").split("/"):
                target = target[step]
        for value in part.values():
            every_reference_leads_somewhere(value, document)
    elif isinstance(part, list):
        for value in part:
            every_reference_leads_somewhere(value, document)


def test_no_secret_reaches_the_log(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="django.db.backends")
    settings.DEBUG = True
    persona = world.persona()
    _, secret = token_for(world.reviewer, world.tenant)
    wrong = "per_" + "w" * 43
    for caller in (Caller(secret), Caller(wrong)):
        caller.get("/resolve", agent_class="Support")
        caller.get("/resolve", agent_class="Nobody")
        caller.get("/personas")
        caller.get("/personas", limit="x")
        caller.post("/proposals", {"persona_id": str(persona.pk), "instructions": "New.", "rationale": "x"})
    Caller().get("/personas", headers={"Authorization": f"Token {wrong}"})

    def fail(*_: Any) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(personas_api, "find_persona", fail)
    assert Caller(secret).get(f"/personas/{persona.pk}").status_code == 500
    assert "boom" in caplog.text and "personas_apitoken" in caplog.text
    assert secret not in caplog.text and wrong not in caplog.text
