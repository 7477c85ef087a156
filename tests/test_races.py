"""Two people at once, on PostgreSQL, with real threads: one wins and the other is told."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted, Refused
from personas.models import AgentPersona, PersonaRevision, Tenant, TenantAncestor
from personas.resolve import resolve_for_tenant
from personas.services import personas, tenants
from tests.factory import World, make_tenant, superuser

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Start every call at the same moment, each on a connection of its own; their results or refusals, in order."""
    barrier = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(index: int, call: Callable[[], Any]) -> None:
        try:
            barrier.wait(timeout=10)
            results[index] = call()
        except Exception as error:
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    return results


@pytest.fixture
def scene(transactional_db: None) -> World:
    return World()


def approve(proposal: DirectiveProposal, actor: Actor) -> Callable[[], review.Outcome]:
    live = proposal.persona.live_revision
    assert live is not None
    return lambda: review.approve(proposal, actor=actor, expected_revision=live)


def fresh(proposal: DirectiveProposal) -> DirectiveProposal:
    return DirectiveProposal.objects.select_related("persona__live_revision").get(pk=proposal.pk)


@pytest.mark.parametrize("turn", range(5))
def test_of_two_approvals_exactly_one_wins(scene: World, turn: int) -> None:
    proposal = propose(scene.persona(text="One."), actor=scene.editor, instructions="Two.", rationale="")
    results = at_once(approve(fresh(proposal), scene.reviewer), approve(fresh(proposal), scene.second))
    won = [result for result in results if isinstance(result, review.Outcome)]
    lost = [result for result in results if isinstance(result, review.NotPending)]
    assert (len(won), len(lost)) == (1, 1)
    winner = proposal.decisions.get()
    assert winner.reviewer_name in lost[0].message
    assert PersonaRevision.objects.filter(persona=proposal.persona).count() == 2
    assert proposal.persona.activations.filter(source=f"proposal:{proposal.pk}").count() == 1


def test_of_two_proposals_for_one_revision_one_goes_stale(scene: World) -> None:
    persona = scene.persona(text="One.")
    pair = [propose(persona, actor=scene.editor, instructions=text, rationale="") for text in ("Two.", "Three.")]
    results = at_once(approve(fresh(pair[0]), scene.reviewer), approve(fresh(pair[1]), scene.second))
    assert sorted(type(result).__name__ for result in results) == ["Outcome", "Stale"]
    won = next(row for row, result in zip(pair, results, strict=True) if isinstance(result, review.Outcome))
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).instructions == won.instructions


def test_approve_against_reject(scene: World) -> None:
    proposal = propose(scene.persona(text="One."), actor=scene.editor, instructions="Two.", rationale="")
    results = at_once(
        approve(fresh(proposal), scene.reviewer), lambda: review.reject(fresh(proposal), actor=scene.second, note="No.")
    )
    assert len([result for result in results if isinstance(result, review.NotPending)]) == 1
    proposal.refresh_from_db()
    assert proposal.decisions.count() == 1
    expected = {"approved": "Two.", "rejected": "One."}[proposal.status]
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).instructions == expected


def test_approve_against_a_direct_edit(scene: World) -> None:
    persona = scene.persona(text="One.")
    proposal = propose(persona, actor=scene.editor, instructions="Two.", rationale="")
    live = persona.live_revision

    def edit() -> PersonaRevision:
        return personas.revise_persona(persona, actor=scene.second, instructions="Mine.", expected_revision=live)

    results = at_once(approve(fresh(proposal), scene.reviewer), edit)
    refused = [result for result in results if isinstance(result, Conflict)]
    assert len(refused) == 1
    numbers = list(persona.revisions.order_by("number").values_list("number", flat=True))
    assert numbers == [1, 2]


def test_two_approvals_are_counted_once_each(scene: World) -> None:
    tenants.set_review_rules(scene.tenant, require_second_person=False, required_approvals=2, actor=superuser())
    persona = scene.persona(text="One.", enable=False)
    proposal = propose(persona, actor=scene.editor, action=DirectiveProposal.Action.ENABLE, rationale="")
    results = at_once(approve(fresh(proposal), scene.reviewer), approve(fresh(proposal), scene.second))
    assert sorted(result.revision is not None for result in results) == [False, True]
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).instructions == "One."


def test_one_reviewer_clicking_twice_counts_once(scene: World) -> None:
    tenants.set_review_rules(scene.tenant, require_second_person=False, required_approvals=2, actor=superuser())
    persona = scene.persona(text="One.", enable=False)
    proposal = propose(persona, actor=scene.editor, action=DirectiveProposal.Action.ENABLE, rationale="")
    at_once(*[approve(fresh(proposal), scene.reviewer)] * 2)
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).source == "default"
    assert fresh(proposal).status == "pending"


def test_revisions_are_numbered_without_gaps(scene: World) -> None:
    persona = scene.persona(text="0")

    def edit(text: str) -> Callable[[], Any]:
        return lambda: personas.revise_persona(persona, actor=scene.reviewer, instructions=text)

    results = at_once(*(edit(str(number)) for number in range(1, 9)))
    assert all(isinstance(result, PersonaRevision) for result in results), results
    assert list(persona.revisions.order_by("number").values_list("number", flat=True)) == list(range(1, 10))
    live = AgentPersona.objects.select_related("live_revision").get(pk=persona.pk).live_revision
    assert live is not None and live.number == 9


def test_one_name_is_given_once(scene: World) -> None:
    results = at_once(*[lambda: scene.persona("Twin", enable=False)] * 4)
    assert sum(isinstance(result, AgentPersona) for result in results) == 1
    refused = [result for result in results if not isinstance(result, AgentPersona)]
    assert all(isinstance(result, Invalid) and "has this name" in result.message for result in refused), results


def test_two_personas_that_displace_each_other(scene: World) -> None:
    first, second = scene.persona("First", "1.", enable=False), scene.persona("Second", "2.", enable=False)
    results = at_once(
        lambda: personas.enable_persona(first, actor=scene.reviewer),
        lambda: personas.enable_persona(second, actor=scene.second),
    )
    assert not any(isinstance(result, Exception) for result in results), results
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).instructions == "1."


def test_a_right_on_one_persona_cannot_slip_past_another_that_starts(scene: World) -> None:
    """The keeper of one persona may enable it only while nobody else answers there, whoever comes first."""
    from personas.domain.rights import Right
    from personas.services import accounts
    from tests.factory import make_person

    mine, theirs = scene.persona("A", "mine", enable=False), scene.persona("B", "theirs", enable=False)
    keeper = make_person("keeper")
    for right in (Right.ACTIVATE_DIRECTIVE, Right.CHANGE_PERSONA):
        accounts.grant_persona_right(mine, keeper.account, right, actor=superuser())
    results = at_once(
        lambda: personas.enable_persona(mine, actor=keeper),
        lambda: personas.enable_persona(theirs, actor=scene.reviewer),
    )
    kept = not isinstance(results[0], Refused)
    assert kept or isinstance(results[0], NotPermitted)
    if not kept:
        assert resolve_for_tenant(scene.tenant, "Support", ("", "")).instructions == "theirs"


@pytest.mark.parametrize("turn", range(5))
def test_two_moves_never_make_a_loop(scene: World, turn: int) -> None:
    one, two = make_tenant("one"), make_tenant("two")
    results = at_once(
        lambda: tenants.move_tenant(one, to=two, actor=superuser()),
        lambda: tenants.move_tenant(two, to=one, actor=superuser()),
    )
    assert sorted(isinstance(result, Refused) for result in results) == [False, True], results
    parents = dict(Tenant.objects.filter(slug__in=["one", "two"]).values_list("slug", "parent__slug"))
    assert sorted(parents.values(), key=str) in (["one", None], [None, "two"], ["two", None], [None, "one"])
    assert TenantAncestor.objects.filter(tenant__in=[one, two]).count() == 3


@pytest.mark.parametrize("turn", range(3))
def test_an_import_and_a_start_wait_for_each_other(scene: World, turn: int) -> None:
    """Both want the path of the tenant and the persona: whoever is first has both."""
    from learning.services import imports
    from personas.domain.imports import read_edits
    from personas.services.imports import Terms

    line = {
        "id": "a1",
        "persona": "Desk",
        "date": "2024-01-01T00:00:00Z",
        "note": "n",
        "current": "One.",
        "proposed": "Two.",
    }
    records = read_edits(json.dumps(line).encode(), "edits.jsonl").records
    terms = Terms(tenant=scene.tenant, agent_class=scene.support, run_as=scene.service, actor=scene.reviewer)
    draft = scene.persona("Desk", "One.", enable=False)
    results = at_once(
        lambda: imports.import_proposals(records, terms),
        lambda: personas.enable_persona(draft, actor=scene.second),
    )
    assert not any(isinstance(result, Exception) for result in results), results
    assert DirectiveProposal.objects.get().persona == draft
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).instructions == "One."
