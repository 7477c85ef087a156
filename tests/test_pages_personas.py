"""The pages of personas, and the changes that start there."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.models import AgentPersona
from personas.services import personas
from tests.factory import World
from tests.pages import client_of, form, served, url


def test_proposing_a_change(world: World) -> None:
    persona = world.persona(text="One.")
    client, page = client_of(world.editor), f"/t/acme/personas/{persona.pk}/propose/"
    assert "One." in client.get(page).content.decode()
    same = client.post(page, {"base_revision": 1, "instructions": "One.", "note": "x"})
    assert same.status_code == 422 and "This changes nothing" in same.content.decode()
    sent = client.post(page, {"base_revision": 1, "instructions": "Two.\r\n", "note": "Because."})
    made = DirectiveProposal.objects.get()
    assert sent["Location"] == url(made)
    assert (made.instructions, made.rationale, served(world)) == ("Two.\n", "Because.", "One.")
    twice = client.post(page, {"base_revision": 1, "instructions": "Two.\n", "note": "Again."})
    assert twice.status_code == 409 and "waits already" in twice.content.decode()


def test_a_proposal_against_an_older_revision_is_kept_as_stale(world: World) -> None:
    persona = world.persona(text="One.")
    personas.revise_persona(persona, actor=world.reviewer, instructions="One!")
    data = {"base_revision": 1, "instructions": "Two.", "note": ""}
    client_of(world.editor).post(f"/t/acme/personas/{persona.pk}/propose/", data)
    assert DirectiveProposal.objects.get().is_stale


@pytest.mark.parametrize(("action", "verb"), [("disable", "is disabled"), ("archive", "is archived")])
def test_stopping_a_persona(world: World, action: str, verb: str) -> None:
    persona = world.persona(text="One.")
    page = f"/t/acme/personas/{persona.pk}/state/{action}/"
    assert "stops answering" in client_of(world.reviewer).get(page).content.decode()
    done = client_of(world.reviewer).post(page, {"note": "Enough.", "expected_revision": 1}, follow=True)
    assert verb in done.content.decode()
    assert served(world) == "Answer briefly."


def test_without_the_right_stopping_becomes_a_proposal(world: World) -> None:
    persona = world.persona(text="One.")
    page = f"/t/acme/personas/{persona.pk}/state/disable/"
    assert "this becomes a proposal" in client_of(world.editor).get(page).content.decode()
    client_of(world.editor).post(page, {"note": "Wrong answers.", "expected_revision": 1})
    made = DirectiveProposal.objects.get()
    assert (made.action, served(world)) == ("disable", "One.")
    assert client_of(world.reviewer).post(url(made, "approve"), form(made)).status_code == 302
    assert served(world) == "Answer briefly."


def test_enabling_and_rolling_back(world: World) -> None:
    persona = world.persona(text="One.", enable=False)
    client, page = client_of(world.reviewer), f"/t/acme/personas/{persona.pk}"
    client.post(f"{page}/state/enable/", {"note": "", "expected_revision": 1})
    assert served(world) == "One."
    personas.revise_persona(AgentPersona.objects.get(pk=persona.pk), actor=world.reviewer, instructions="Two.")
    shown = client.get(f"{page}/instructions/1/roll-back/").content.decode()
    assert "Revision 2 is replaced at once" in shown
    client.post(f"{page}/instructions/1/roll-back/", {"note": "Complaints.", "expected_revision": 2})
    assert served(world) == "One."
    assert "Complaints." in client.get(f"{page}/instructions/").content.decode()


def test_an_unknown_action_or_revision_is_not_found(world: World) -> None:
    page = f"/t/acme/personas/{world.persona().pk}"
    for rest in ("/state/explode/", "/instructions/7/", "/instructions/7/roll-back/", "/instructions/0/"):
        assert client_of(world.reviewer).get(page + rest).status_code == 404


def test_the_margin_names_who_vouches(world: World) -> None:
    persona = world.persona(text="One.\nTwo.")
    proposal = propose(persona, actor=world.editor, instructions="One.\nTwo.\nThree.", rationale="")
    review.approve(proposal, actor=world.second, expected_revision=persona.live_revision)
    page = client_of(world.viewer).get(f"/t/acme/personas/{persona.pk}/").content.decode()
    told = re.findall(r'>r(\d)<span class="unseen">.*?<span>([^<]*)</span></div><p><bdi>(.*?)</bdi>', page, re.DOTALL)
    assert told == [("1", "Reviewer", "One.\nTwo."), ("2", "Second", "Three.")]


def test_lists_a_thousand_by_name_in_pages(world: World) -> None:
    first = world.persona("a0", enable=False)
    AgentPersona.objects.bulk_create(
        AgentPersona(tenant=world.tenant, agent_class=world.support, name=f"n{n:04}", name_key=f"n{n:04}",
                     run_as=world.service, live_revision=first.live_revision)
        for n in range(999)
    )  # fmt: skip
    client = client_of(world.viewer)
    with CaptureQueriesContext(connection) as statements:
        page = client.get("/t/acme/personas/").content.decode()
    assert "1000 in Acme" in page and "Page 1 of 20" in page
    assert len(statements) <= 16
    assert "n0998" in client.get("/t/acme/personas/?page=20").content.decode()
    assert "n0500" in client.get("/t/acme/personas/?q=n0500").content.decode()
    assert "Nothing matches" in client.get("/t/acme/personas/?state=live").content.decode()


def test_any_two_revisions_can_be_compared(world: World) -> None:
    persona = world.persona(text="One.")
    for text in ("Two.", "Three."):
        personas.revise_persona(persona, actor=world.reviewer, instructions=text)
    client, page = client_of(world.viewer), f"/t/acme/personas/{persona.pk}/instructions/"
    assert "Two." in client.get(f"{page}3/").content.decode()
    compared = client.get(f"{page}3/?with=1").content.decode()
    assert "One." in compared and "Two." not in compared
    assert client.get(f"{page}3/?with=nonsense").status_code == 200


def test_what_starts_is_what_was_seen(world: World) -> None:
    """A draft that somebody changed meanwhile does not start unseen, nor is a newer revision rolled back unseen."""
    persona = world.persona(text="First.", enable=False)
    client, page = client_of(world.reviewer), f"/t/acme/personas/{persona.pk}"
    personas.revise_persona(persona, actor=world.second, instructions="Second.")
    for action in ("state/enable/", "instructions/1/roll-back/"):
        refused = client.post(f"{page}/{action}", {"note": "", "expected_revision": 1})
        assert refused.status_code == 409
        assert "Revision 2 by Second is there by now" in refused.content.decode()
    assert served(world) == "Answer briefly."
    assert client.post(f"{page}/state/enable/", {"note": "", "expected_revision": 2}).status_code == 302
    assert served(world) == "Second."


def test_hidden_characters_of_a_draft_ask_for_a_tick_before_it_starts(world: World) -> None:
    persona = world.persona(text="Say\u200b it.", enable=False)
    client, page = client_of(world.reviewer), f"/t/acme/personas/{persona.pk}/state/enable/"
    assert "1 character you cannot see" in client.get(page).content.decode()
    refused = client.post(page, {"note": "", "expected_revision": 1})
    assert refused.status_code == 422
    proposal = propose(persona, actor=world.editor, action=DirectiveProposal.Action.ENABLE, rationale="")
    assert "1 character you cannot see" in client.get(url(proposal)).content.decode()
    assert client.post(url(proposal, "approve"), form(proposal)).status_code == 422
    assert served(world) == "Answer briefly."
    assert client.post(url(proposal, "approve"), form(proposal, seen_invisible="on")).status_code == 302
    assert served(world) == "Say\u200b it."


def test_archived_personas_come_back_and_locked_ones_are_unlocked(world: World) -> None:
    persona = world.persona(text="One.")
    client, page = client_of(world.reviewer), f"/t/acme/personas/{persona.pk}"
    assert "is locked" in client.post(f"{page}/state/lock/", follow=True).content.decode()
    assert client_of(world.editor).post(f"{page}/state/unlock/").status_code == 403
    proposal = propose(persona, actor=world.editor, instructions="Two.", rationale="")
    assert client.post(url(proposal, "approve"), form(proposal)).status_code == 409
    assert "is unlocked" in client.post(f"{page}/state/unlock/", follow=True).content.decode()
    client.post(f"{page}/state/archive/", {"note": "", "expected_revision": 1})
    assert "Restore as a draft" in client.get(f"{page}/").content.decode()
    assert "is back, as a draft" in client.post(f"{page}/state/restore/", follow=True).content.decode()
    assert client.get(f"{page}/state/restore/").status_code == 302
    assert served(world) == "Answer briefly."


def test_tools_that_the_ceiling_takes_are_named(world: World) -> None:
    persona = world.persona(allowed_tools=("kb.search", "shell.run"))
    page = client_of(world.viewer).get(f"/t/acme/personas/{persona.pk}/").content.decode()
    assert "removed by the ceiling of the binding: <code>shell.run</code>" in page
