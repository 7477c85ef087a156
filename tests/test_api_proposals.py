"""The API about proposals: looking, proposing, deciding."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from learning.api import PROPOSALS_ORDER
from learning.models import Decision, DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.rights import Role
from personas.domain.text import digest
from personas.models import AgentPersona, AuditEntry
from personas.services import accounts, personas, tenants
from tests.api_client import Caller, code_of
from tests.factory import World, superuser
from tests.test_api_personas import every_page

FIELDS = [
    "id", "persona_id", "status", "base_revision", "live_revision", "current_instructions", "proposed_instructions",
    "proposed_settings", "edited_instructions", "rationale", "confidence", "evidence", "proposed_by", "created_at",
    "action",
]  # fmt: skip


@pytest.fixture
def persona(world: World) -> AgentPersona:
    return world.persona(text="One.\nTwo.\nThree.")


@pytest.fixture
def editor(world: World) -> Caller:
    return Caller.of(world.editor, world.tenant)


@pytest.fixture
def reviewer(world: World) -> Caller:
    return Caller.of(world.reviewer, world.tenant)


def make(world: World, persona: AgentPersona, text: str = "One.\nZwei.\nThree.") -> DirectiveProposal:
    return propose(persona, actor=world.editor, instructions=text, rationale="because")


def test_proposing_answers_what_waits(world: World, persona: AgentPersona, editor: Caller) -> None:
    body = {"persona_id": str(persona.pk), "instructions": "One.\r\nZwei.\nThree.", "rationale": "German, please"}
    response = editor.post("/proposals", body, headers={"X-Request-ID": "req-7"})
    assert response.status_code == 201
    answer = dict(response.json())
    assert list(answer) == [*FIELDS, "hunks"]
    row = DirectiveProposal.objects.get()
    created = answer.pop("created_at")
    assert answer == {
        "id": str(row.pk),
        "persona_id": str(persona.pk),
        "status": "pending",
        "base_revision": 1,
        "live_revision": 1,
        "current_instructions": "One.\nTwo.\nThree.",
        "proposed_instructions": "One.\nZwei.\nThree.",
        "proposed_settings": persona.settings.dump(),
        "edited_instructions": None,
        "rationale": "German, please",
        "confidence": None,
        "evidence": [],
        "proposed_by": "Editor",
        "action": "change",
        "hunks": [{"was_start": 2, "was_lines": 1, "now_start": 2, "now_lines": 1}],
    }
    assert created.endswith("Z")
    assert editor.get(f"/proposals/{row.pk}").json() == response.json()
    assert row.origin == "person"
    entry = AuditEntry.objects.get(verb="proposal.created")
    assert entry.request_id == response["X-Request-ID"] == "req-7" and entry.token_prefix.startswith("per_")


def test_a_service_account_proposes_as_a_runtime(world: World, persona: AgentPersona) -> None:
    accounts.grant_role(world.tenant, world.service, Role.EDITOR, actor=superuser())
    caller = Caller.of(Actor(world.service), world.tenant)
    body = {"persona_id": str(persona.pk), "instructions": "New.", "rationale": "learnt"}
    assert caller.post("/proposals", body).json()["proposed_by"] == "Acme runtime"
    assert DirectiveProposal.objects.get().origin == "runtime"


def test_a_proposal_may_be_written_against_an_older_revision(
    world: World, persona: AgentPersona, editor: Caller
) -> None:
    personas.revise_persona(persona, actor=world.reviewer, instructions="Live now.")
    body = {"persona_id": str(persona.pk), "base_revision": 1, "instructions": "Mine.", "rationale": "x"}
    answer = editor.post("/proposals", body).json()
    assert (answer["base_revision"], answer["live_revision"], answer["current_instructions"]) == (1, 2, "Live now.")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"persona_id": None}, "persona_id"),
        ({"persona_id": "nonsense"}, "persona_id"),
        ({"instructions": None}, "instructions"),
        ({"instructions": ""}, "instructions"),
        ({"instructions": "a\0b"}, "instructions"),
        ({"instructions": "x" * 100_001}, "instructions"),
        ({"instructions": 7}, "instructions"),
        ({"instructions": "One.\nTwo.\nThree."}, "instructions"),
        ({"rationale": None}, "rationale"),
        ({"rationale": ""}, "rationale"),
        ({"rationale": "\0"}, "rationale"),
        ({"rationale": "x" * 5001}, "rationale"),
        ({"base_revision": 9}, "base_revision"),
        ({"base_revision": 0}, "base_revision"),
        ({"base_revision": 10**30}, "base_revision"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_wrong_proposals_are_422_and_named(
    world: World, persona: AgentPersona, editor: Caller, change: dict[str, Any], field: str
) -> None:
    body = {"persona_id": str(persona.pk), "instructions": "New.", "rationale": "because", **change}
    response = editor.post("/proposals", {name: value for name, value in body.items() if value is not None})
    assert (response.status_code, code_of(response)) == (422, "invalid")
    assert [error["field"] for error in response.json()["errors"]] == [field]
    assert not DirectiveProposal.objects.exists()


def test_the_same_change_twice_is_a_conflict(world: World, persona: AgentPersona, editor: Caller) -> None:
    body = {"persona_id": str(persona.pk), "instructions": "New.", "rationale": "because"}
    assert editor.post("/proposals", body).status_code == 201
    again = editor.post("/proposals", body)
    assert (again.status_code, code_of(again)) == (409, "conflict")


def test_nothing_is_proposed_for_an_archived_persona(world: World, persona: AgentPersona, editor: Caller) -> None:
    personas.archive_persona(persona, actor=world.reviewer)
    response = editor.post(
        "/proposals", {"persona_id": str(persona.pk), "instructions": "New.", "rationale": "because"}
    )
    assert (response.status_code, code_of(response)) == (409, "conflict")


def test_approving_makes_the_text_live_at_once(world: World, persona: AgentPersona, reviewer: Caller) -> None:
    proposal = make(world, persona)
    assert reviewer.get("/resolve", agent_class="Support").json()["instructions"] == "One.\nTwo.\nThree."
    body = {"expected_revision": 1, "seen_sha256": digest(proposal.instructions), "note": "good"}
    response = reviewer.post(f"/proposals/{proposal.pk}/approve", body, headers={"X-Request-ID": "req-8"})
    assert response.status_code == 200
    answer = response.json()
    assert list(answer) == [*FIELDS, "revision", "standing"]
    assert (answer["status"], answer["revision"], answer["live_revision"]) == ("approved", 2, 2)
    assert answer["standing"] == {"missing": 0, "needs_other": False}
    assert answer["current_instructions"] == "One.\nZwei.\nThree."
    resolved = reviewer.get("/resolve", agent_class="Support").json()
    assert (resolved["instructions"], resolved["revision"]) == ("One.\nZwei.\nThree.", 2)
    assert AuditEntry.objects.get(verb="proposal.approved").request_id == "req-8"
    assert Decision.objects.get().note == "good"


def test_approving_with_an_edit_keeps_both_texts(world: World, persona: AgentPersona, reviewer: Caller) -> None:
    proposal = make(world, persona)
    body = {"expected_revision": 1, "instructions": "One.\nDeux.\nThree."}
    answer = reviewer.post(f"/proposals/{proposal.pk}/approve", body).json()
    assert answer["proposed_instructions"] == "One.\nZwei.\nThree."
    assert answer["edited_instructions"] == answer["current_instructions"] == "One.\nDeux.\nThree."
    one = reviewer.get(f"/proposals/{proposal.pk}").json()
    assert one["edited_instructions"] == "One.\nDeux.\nThree."


def test_an_approval_that_is_not_enough_says_what_is_missing(world: World, persona: AgentPersona) -> None:
    tenants.set_review_rules(world.tenant, require_second_person=False, required_approvals=2, actor=superuser())
    proposal = make(world, persona)
    path, body = f"/proposals/{proposal.pk}/approve", {"expected_revision": 1}
    first = Caller.of(world.reviewer, world.tenant).post(path, body).json()
    assert (first["status"], first["revision"]) == ("pending", None)
    assert first["standing"] == {"missing": 1, "needs_other": False}
    second = Caller.of(world.second, world.tenant).post(path, body).json()
    assert (second["status"], second["revision"], second["standing"]["missing"]) == ("approved", 2, 0)


def test_the_first_edit_waits_for_a_second_person(world: World, persona: AgentPersona, reviewer: Caller) -> None:
    tenants.set_review_rules(world.tenant, require_second_person=True, required_approvals=1, actor=superuser())
    proposal = make(world, persona)
    body = {"expected_revision": 1, "instructions": "Mine."}
    answer = reviewer.post(f"/proposals/{proposal.pk}/approve", body).json()
    assert (answer["revision"], answer["standing"]) == (None, {"missing": 0, "needs_other": True})
    assert reviewer.get(f"/proposals/{proposal.pk}").json()["hunks"] == [
        {"was_start": 1, "was_lines": 3, "now_start": 1, "now_lines": 1}
    ]


def test_each_conflict_of_an_approval_has_its_code(world: World, persona: AgentPersona, reviewer: Caller) -> None:
    proposal = make(world, persona)
    path, body = f"/proposals/{proposal.pk}/approve", {"expected_revision": 1}

    def refused(**change: Any) -> str:
        response = reviewer.post(path, {**body, **change})
        assert response.status_code == 409
        return code_of(response)

    assert refused(seen_sha256=digest("another text")) == "stale_revision"
    personas.set_locked(persona, locked=True, actor=world.reviewer)
    assert refused() == "locked"
    personas.set_locked(persona, locked=False, actor=world.reviewer)
    tenants.set_review_rules(world.tenant, require_second_person=True, required_approvals=1, actor=superuser())
    own = propose(persona, actor=world.reviewer, instructions="Mine.", rationale="x")
    mine = reviewer.post(f"/proposals/{own.pk}/approve", body)
    assert (mine.status_code, code_of(mine)) == (409, "second_person_required")
    tenants.set_review_rules(world.tenant, require_second_person=False, required_approvals=1, actor=superuser())
    personas.revise_persona(persona, actor=world.reviewer, instructions="Meanwhile.")
    assert refused() == "stale_revision"
    assert refused(expected_revision=2) == "stale_revision"
    review.reject(proposal, actor=world.second, note="no")
    assert refused() == "not_pending"
    assert "Second" in reviewer.post(path, body).json()["detail"]
    personas.archive_persona(persona, actor=world.reviewer)
    assert refused() == "conflict"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "expected_revision"),
        ({"expected_revision": 7}, "expected_revision"),
        ({"expected_revision": "one"}, "expected_revision"),
        ({"expected_revision": 1, "seen_sha256": "abc"}, "seen_sha256"),
        ({"expected_revision": 1, "instructions": " "}, "instructions"),
        ({"expected_revision": 1, "instructions": "One.\nTwo.\nThree."}, "instructions"),
        ({"expected_revision": 1, "note": "\0"}, "note"),
        ({"expected_revision": 1, "force": True}, "force"),
    ],
)
def test_wrong_approvals_are_422_and_named(
    world: World, persona: AgentPersona, reviewer: Caller, body: dict[str, Any], field: str
) -> None:
    response = reviewer.post(f"/proposals/{make(world, persona).pk}/approve", body)
    assert (response.status_code, code_of(response)) == (422, "invalid")
    assert [error["field"] for error in response.json()["errors"]] == [field]
    assert not Decision.objects.exists()


def test_rejecting_is_final(world: World, persona: AgentPersona, reviewer: Caller) -> None:
    proposal = make(world, persona)
    path = f"/proposals/{proposal.pk}/reject"
    response = reviewer.post(path, {"note": "too terse"})
    assert response.status_code == 200
    assert list(response.json()) == FIELDS and response.json()["status"] == "rejected"
    assert Decision.objects.get().note == "too terse"
    again = reviewer.post(path, {"note": "still"})
    assert (again.status_code, code_of(again)) == (409, "not_pending")
    for wrong in ({}, {"note": ""}, {"note": " \n"}, {"note": "\0"}):
        assert code_of(reviewer.post(f"/proposals/{make(world, persona, repr(wrong)).pk}/reject", wrong)) == "invalid"


def test_a_token_that_may_not_review_decides_nothing(world: World, persona: AgentPersona) -> None:
    proposal = make(world, persona)
    caller = Caller.of(world.reviewer, world.tenant, may_review=False)
    for verb, body in (("approve", {"expected_revision": 1}), ("reject", {"note": "no"})):
        response = caller.post(f"/proposals/{proposal.pk}/{verb}", body)
        assert (response.status_code, code_of(response)) == (403, "not_permitted")
    proposal.refresh_from_db()
    assert proposal.is_pending and not Decision.objects.exists()


def test_proposals_are_listed_newest_first_and_filtered(world: World, persona: AgentPersona, reviewer: Caller) -> None:
    other = world.persona("Other")
    first, second = make(world, persona, "1"), make(world, persona, "2")
    third = make(world, other, "3")
    review.reject(second, actor=world.reviewer, note="no")

    def ids(**query: Any) -> list[str]:
        return [item["id"] for item in reviewer.get("/proposals", **query).json()["items"]]

    assert ids() == [str(row.pk) for row in (third, second, first)]
    assert ids(status="rejected") == [str(second.pk)]
    assert ids(status="pending", persona_id=str(persona.pk)) == [str(first.pk)]
    assert ids(persona_id=str(uuid4())) == []
    assert list(reviewer.get("/proposals").json()["items"][0]) == FIELDS
    for wrong in ({"status": "open"}, {"persona_id": "x"}, {"cursor": "x"}, {"limit": "0"}):
        assert code_of(reviewer.get("/proposals", **wrong)) == "invalid"


def test_pages_follow_each_other_even_where_times_are_equal(
    world: World, persona: AgentPersona, reviewer: Caller
) -> None:
    rows = [make(world, persona, str(number)) for number in range(6)]
    DirectiveProposal.objects.update(created_at=rows[0].created_at)
    whole = reviewer.get("/proposals").json()["items"]
    assert len(whole) == 6
    for limit in (1, 2, 4, 6):
        assert every_page(reviewer, "/proposals", limit=limit) == whole
    assert DirectiveProposal.objects.order_by(*PROPOSALS_ORDER).totally_ordered


def test_a_longer_list_takes_no_more_statements(world: World, persona: AgentPersona, reviewer: Caller) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert reviewer.get("/proposals").status_code == 200
        return len(captured)

    review.reject(make(world, persona, "0"), actor=world.reviewer, note="no")
    statements()
    few = statements()
    for number in range(1, 6):
        review.reject(make(world, persona, str(number)), actor=world.reviewer, note="no")
    assert statements() == few == 3


def test_what_is_foreign_is_answered_as_what_is_absent(world: World, persona: AgentPersona) -> None:
    proposal = make(world, persona)
    outsider = Caller.of(world.outsider, world.other)
    assert outsider.get("/proposals").json()["items"] == []
    assert outsider.get("/proposals", persona_id=str(persona.pk)).json()["items"] == []
    for path, body in (
        ("/proposals/{}", None),
        ("/proposals/{}/approve", {"expected_revision": 1}),
        ("/proposals/{}/reject", {"note": "no"}),
    ):
        answers = []
        for ident in (proposal.pk, uuid4()):
            target = path.format(ident)
            answers.append(outsider.get(target) if body is None else outsider.post(target, body))
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].content == answers[1].content and code_of(answers[0]) == "not_found"
    bodies = [
        outsider.post("/proposals", {"persona_id": str(ident), "instructions": "New.", "rationale": "x"})
        for ident in (persona.pk, uuid4())
    ]
    assert [answer.status_code for answer in bodies] == [404, 404] and bodies[0].content == bodies[1].content
    proposal.refresh_from_db()
    assert proposal.is_pending and DirectiveProposal.objects.count() == 1
