"""A POST with an Idempotency-Key has its effect once, and its answer again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from learning import api as learning_api
from learning.models import Decision, DirectiveProposal
from learning.services.proposals import propose
from personas.models import APIToken, StoredAnswer
from tests.api_client import Caller, code_of, token_for
from tests.factory import World


def body_for(world: World, text: str = "New.") -> dict[str, str]:
    persona = world.tenant.personas.first() or world.persona()
    return {"persona_id": str(persona.pk), "instructions": text, "rationale": "because"}


def keyed(caller: Caller, body: Any, key: str = "key-1", path: str = "/proposals") -> Any:
    return caller.post(path, body, headers={"Idempotency-Key": key})


@pytest.fixture
def editor(world: World) -> Caller:
    return Caller.of(world.editor, world.tenant)


def test_the_same_call_again_has_the_same_answer_and_no_effect(world: World, editor: Caller) -> None:
    body = body_for(world)
    first = keyed(editor, body)
    again = keyed(editor, body)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content and again["Content-Type"] == first["Content-Type"]
    assert DirectiveProposal.objects.count() == 1 and StoredAnswer.objects.count() == 1


def test_the_answer_is_that_of_then(world: World) -> None:
    persona = world.persona()
    proposal = propose(persona, actor=world.editor, instructions="New.", rationale="x")
    reviewer = Caller.of(world.reviewer, world.tenant)
    path = f"/proposals/{proposal.pk}/approve"
    first = keyed(reviewer, {"expected_revision": 1}, path=path)
    assert (first.status_code, first.json()["revision"]) == (200, 2)
    assert keyed(reviewer, {"expected_revision": 1}, path=path).content == first.content
    assert keyed(reviewer, {"expected_revision": 1}, key="key-2", path=path).status_code == 409
    assert Decision.objects.count() == 1


def test_another_body_is_a_mismatch(world: World, editor: Caller) -> None:
    keyed(editor, body_for(world))
    other = keyed(editor, body_for(world, "Other."))
    assert (other.status_code, code_of(other)) == (422, "idempotency_mismatch")
    assert DirectiveProposal.objects.count() == 1


def test_a_key_belongs_to_one_token_and_one_path(world: World, editor: Caller) -> None:
    first = keyed(editor, body_for(world))
    other = keyed(Caller.of(world.editor, world.tenant), body_for(world, "Other."))
    assert (first.status_code, other.status_code) == (201, 201)
    reviewer = Caller.of(world.reviewer, world.tenant)
    for ident in (first.json()["id"], other.json()["id"]):
        assert keyed(reviewer, {"note": "no"}, path=f"/proposals/{ident}/reject").status_code == 200
    assert StoredAnswer.objects.count() == 4


def test_a_refusal_is_not_kept(world: World, editor: Caller) -> None:
    persona = world.persona()
    waiting = propose(persona, actor=world.editor, instructions="New.", rationale="x")
    refused = keyed(editor, body_for(world))
    assert (refused.status_code, code_of(refused)) == (409, "conflict")
    assert not StoredAnswer.objects.exists()
    Caller.of(world.reviewer, world.tenant).post(f"/proposals/{waiting.pk}/reject", {"note": "no"})
    assert keyed(editor, body_for(world)).status_code == 201


def test_a_key_is_forgotten_after_a_day(world: World, editor: Caller) -> None:
    first = keyed(editor, body_for(world))
    StoredAnswer.objects.update(created_at=timezone.now() - timedelta(hours=23, minutes=59))
    assert keyed(editor, body_for(world)).content == first.content
    StoredAnswer.objects.update(created_at=timezone.now() - timedelta(hours=24, seconds=1))
    assert keyed(editor, body_for(world, "Other.")).status_code == 201
    assert StoredAnswer.objects.count() == 1


@pytest.mark.parametrize("key", ["", " ", "two words", "x" * 201, "schlüssel", "tab\t"])
def test_a_key_has_a_form(world: World, editor: Caller, key: str) -> None:
    response = keyed(editor, body_for(world), key)
    assert (response.status_code, code_of(response)) == (422, "invalid")
    assert response.json()["errors"][0]["field"] == "Idempotency-Key"
    assert not DirectiveProposal.objects.exists()


def test_the_longest_key_is_fine(world: World, editor: Caller) -> None:
    assert keyed(editor, body_for(world), "~" * 200).status_code == 201


def test_answers_of_other_tokens_stay_when_one_cleans_up(world: World, editor: Caller) -> None:
    keyed(Caller.of(world.reviewer, world.tenant), body_for(world, "Other."))
    StoredAnswer.objects.update(created_at=timezone.now() - timedelta(days=2))
    keyed(editor, body_for(world))
    assert StoredAnswer.objects.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_calls_at_once_have_one_effect() -> None:
    world = World()
    body, (_, secret) = body_for(world), token_for(world.editor, world.tenant)
    barrier = Barrier(2)

    for round_ in range(5):
        body["instructions"] = f"Text {round_}"
        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(call_with, f"key-{round_}", barrier, secret, body) for _ in range(2)]
            answers = [call.result(30) for call in calls]
        statuses = sorted(answer.status_code for answer in answers)
        assert statuses in ([201, 201], [201, 409])
        if statuses == [201, 201]:
            assert answers[0].content == answers[1].content
        assert DirectiveProposal.objects.count() == round_ + 1


def call_with(key: str, barrier: Barrier, secret: str, body: dict[str, str]) -> Any:
    try:
        barrier.wait(10)
        return keyed(Caller(secret), body, key)
    finally:
        connections.close_all()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_while_the_first_call_runs_the_second_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    body, (_, secret) = body_for(world), token_for(world.editor, world.tenant)
    inside, go_on = Event(), Event()

    def slow(*args: Any, **options: Any) -> DirectiveProposal:
        made = propose(*args, **options)
        inside.set()
        assert go_on.wait(20)
        return made

    def first() -> Any:
        try:
            return keyed(Caller(secret), body)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(learning_api, "propose", slow)
        running = pool.submit(first)
        assert inside.wait(20)
        second = keyed(Caller(secret), body)
        other_key = StoredAnswer.objects.count()
        go_on.set()
        answer = running.result(20)
    assert (second.status_code, code_of(second)) == (409, "idempotency_running")
    assert other_key == 0 and answer.status_code == 201
    assert keyed(Caller(secret), body).content == answer.content
    assert DirectiveProposal.objects.count() == 1 and APIToken.objects.count() == 1
