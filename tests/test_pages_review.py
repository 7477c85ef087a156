"""The proposal page: what a reviewer sees, decides and is told."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from learning import reading
from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.services import personas, tenants
from tests.factory import World
from tests.pages import client_of, form, refusal, served, url


@pytest.fixture
def proposal(world: World) -> DirectiveProposal:
    persona = world.persona(text="One.\nTwo.\nThree.")
    return propose(persona, actor=world.editor, instructions="One.\nTwo and a half.\nThree.", rationale="More exact.")


def test_the_page_shows_both_texts_and_what_is_needed(world: World, proposal: DirectiveProposal) -> None:
    page = client_of(world.reviewer).get(url(proposal)).content.decode()
    assert "Two<ins> and a half</ins>." in page
    assert "More exact." in page
    assert "You may activate directives here" in page
    assert "You may look" in client_of(world.viewer).get(url(proposal)).content.decode()


def test_approving_serves_the_text_and_goes_on_to_the_next(world: World, proposal: DirectiveProposal) -> None:
    other = propose(proposal.persona, actor=world.editor, instructions="Quite another.", rationale="")
    response = client_of(world.reviewer).post(url(other, "approve"), form(other))
    assert (response.status_code, response["Location"]) == (302, url(proposal))
    assert served(world) == "Quite another."


def test_approving_the_last_one_goes_to_the_end_of_the_queue(world: World, proposal: DirectiveProposal) -> None:
    client = client_of(world.reviewer)
    response = client.post(url(proposal, "approve"), form(proposal), follow=True)
    assert response.redirect_chain == [("/t/acme/review/", 302)]
    assert "serves revision 2 now" in response.content.decode()
    assert "Nothing waits for you" in response.content.decode()


def test_an_edit_is_served_and_kept_beside_what_was_proposed(world: World, proposal: DirectiveProposal) -> None:
    typed = "One.\r\nTwo and three quarters.\r\nThree."  # as a browser sends line ends
    response = client_of(world.reviewer).post(url(proposal, "approve"), form(proposal, instructions=typed))
    assert response.status_code == 302
    assert served(world) == "One.\nTwo and three quarters.\nThree."
    proposal.refresh_from_db()
    assert proposal.instructions == "One.\nTwo and a half.\nThree."
    assert proposal.decisions.get().edited_instructions == "One.\nTwo and three quarters.\nThree."
    page = client_of(world.viewer).get(url(proposal)).content.decode()
    assert "As it was proposed" in page
    assert "with an edit" in page


def test_rejecting_needs_a_note_and_changes_nothing_served(world: World, proposal: DirectiveProposal) -> None:
    client = client_of(world.reviewer)
    refused = client.post(url(proposal, "reject"), refusal(proposal, "  "))
    assert refused.status_code == 422
    assert "Write a sentence first." in refused.content.decode()
    assert client.post(url(proposal, "reject"), refusal(proposal, "Too vague.")).status_code == 302
    proposal.refresh_from_db()
    assert (proposal.status, served(world)) == ("rejected", "One.\nTwo.\nThree.")
    assert "Too vague." in client.get(url(proposal)).content.decode()


def test_who_was_faster_is_named(world: World, proposal: DirectiveProposal) -> None:
    data = form(proposal)
    review.reject(proposal, actor=world.second, note="No.")
    response = client_of(world.reviewer).post(url(proposal, "approve"), data)
    assert response.status_code == 409
    assert "This proposal was rejected by Second" in response.content.decode()


def test_a_conflict_shows_three_texts_and_keeps_what_was_typed(world: World, proposal: DirectiveProposal) -> None:
    data = form(proposal, instructions="One.\nMy own words.\nThree.")
    personas.revise_persona(proposal.persona, actor=world.second, instructions="One.\nTwo otherwise.\nThree.")
    response = client_of(world.reviewer).post(url(proposal, "approve"), data)
    page = response.content.decode()
    assert response.status_code == 409
    assert served(world) == "One.\nTwo otherwise.\nThree."
    assert "Revision 2 by Second is live by now" in page
    for text in ("<bdi>Two.</bdi>", "<bdi>Two otherwise.</bdi>", "<bdi>Two and a half.</bdi>", "My own words."):
        assert text in page


def test_a_clean_merge_becomes_a_proposal_to_be_seen(world: World, proposal: DirectiveProposal) -> None:
    personas.revise_persona(proposal.persona, actor=world.second, instructions="One.\nTwo.\nThree.\nFour.")
    client = client_of(world.reviewer)
    page = client.get(url(proposal)).content.decode()
    assert "Both changes fit together" in page
    merged_text = re.search(r'<textarea id="merged"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert merged_text and merged_text[1] == "One.\nTwo and a half.\nThree.\nFour."
    assert client.post(url(proposal, "approve"), form(proposal)).status_code == 409
    response = client.post(url(proposal, "merge"), {"expected_revision": 2, "instructions": merged_text[1]})
    proposal.refresh_from_db()
    merged = proposal.replaced_by
    assert (response["Location"], proposal.status) == (url(merged), "superseded")
    assert client.post(url(merged, "approve"), form(merged)).status_code == 302
    assert served(world) == "One.\nTwo and a half.\nThree.\nFour."


def test_marks_of_a_conflict_are_not_merged(world: World, proposal: DirectiveProposal) -> None:
    personas.revise_persona(proposal.persona, actor=world.second, instructions="One.\nTwo otherwise.\nThree.")
    marked = reading.read(DirectiveProposal.objects.get()).merge.marked  # type: ignore[union-attr]
    data = {"expected_revision": 2, "instructions": marked}
    response = client_of(world.reviewer).post(url(proposal, "merge"), data)
    assert response.status_code == 422
    assert "marks of a conflict" in response.content.decode()


def test_another_reviewers_edit_has_to_be_seen(world: World) -> None:
    tenants.set_review_rules(world.tenant, require_second_person=False, required_approvals=1, actor=world.admin)
    persona = world.persona(text="One.")
    proposal = propose(persona, actor=world.editor, instructions="Two.", rationale="")
    tenants.set_review_rules(world.tenant, require_second_person=True, required_approvals=1, actor=world.admin)
    proposal = DirectiveProposal.objects.get()
    stale_form = form(proposal)
    said = client_of(world.reviewer).post(url(proposal, "approve"), form(proposal, instructions="Two!"), follow=True)
    assert "Somebody who wrote none of it has to approve it now." in said.content.decode()
    refused = client_of(world.second).post(url(proposal, "approve"), stale_form)
    assert refused.status_code == 409
    assert "Another reviewer edited this text" in refused.content.decode()
    assert served(world) == "One."
    assert client_of(world.second).post(url(proposal, "approve"), form(proposal)).status_code == 302
    assert served(world) == "Two!"


def test_hidden_characters_ask_for_a_tick(world: World) -> None:
    persona = world.persona(text="Send it to us.")
    proposal = propose(persona, actor=world.editor, instructions="Send it to\u202e su\u202c us.", rationale="")
    client = client_of(world.reviewer)
    page = client.get(url(proposal)).content.decode()
    assert 'title="U+202E right-to-left override">RLO</abbr>' in page
    assert "2 characters you cannot see" in page
    refused = client.post(url(proposal, "approve"), form(proposal))
    assert refused.status_code == 422
    assert "Tick that you have seen them" in refused.content.decode()
    assert served(world) == "Send it to us."
    assert client.post(url(proposal, "approve"), form(proposal, seen_invisible="on")).status_code == 302
    assert served(world) == proposal.instructions


def test_an_edit_that_hides_something_asks_as_well(world: World, proposal: DirectiveProposal) -> None:
    response = client_of(world.reviewer).post(url(proposal, "approve"), form(proposal, instructions="One\u200b."))
    assert response.status_code == 422
    assert "ZWSP in line 1" in response.content.decode()


@pytest.mark.parametrize("changes", [
    {"expected_revision": ""}, {"expected_revision": "99"}, {"expected_revision": "x"}, {"expected_revision": "-1"},
    {"seen_sha256": ""}, {"seen_sha256": "0"}, {"instructions": "a\0b"}, {"instructions": "x" * 100_001},
    {"instructions": " \n "}, {"instructions": ""}, {"note": "n" * 5001}, {"note": "a\0b"},
])  # fmt: skip
def test_a_broken_form_is_refused_in_words(world: World, proposal: DirectiveProposal, changes: dict[str, Any]) -> None:
    response = client_of(world.reviewer).post(url(proposal, "approve"), form(proposal, **changes))
    assert response.status_code == 422
    assert 'role="alert"' in response.content.decode()
    assert served(world) == "One.\nTwo.\nThree."


def test_comments_are_text_not_markup(world: World, proposal: DirectiveProposal) -> None:
    client = client_of(world.editor)
    assert client.post(url(proposal, "comment"), {"note": "<script>alert(1)</script>"}).status_code == 302
    page = client.get(url(proposal)).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


def test_the_preview_compares_what_is_typed(world: World, proposal: DirectiveProposal) -> None:
    response = client_of(world.reviewer).post(url(proposal, "preview"), {"instructions": "One.\r\nTwo.\r\nThree!"})
    part = response.content.decode()
    assert "Three<ins>!</ins>" in part
    assert "<html" not in part


def test_htmx_gets_the_part_and_caches_keep_them_apart(world: World, proposal: DirectiveProposal) -> None:
    client = client_of(world.reviewer)
    for page in (url(proposal), "/t/acme/review/", "/", "/t/acme/personas/"):
        whole, part = client.get(page), client.get(page, headers={"HX-Request": "true"})
        restored = client.get(page, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
        assert "<html" in whole.content.decode()
        assert "<html" not in part.content.decode()
        assert "<html" in restored.content.decode()
        assert all("HX-Request" in response["Vary"] for response in (whole, part))


def test_htmx_decisions_lead_on_and_refusals_come_back_as_the_part(world: World, proposal: DirectiveProposal) -> None:
    client, htmx = client_of(world.reviewer), {"HX-Request": "true"}
    refused = client.post(url(proposal, "reject"), refusal(proposal, ""), headers=htmx)
    assert refused.status_code == 422
    assert "<html" not in refused.content.decode()
    done = client.post(url(proposal, "approve"), form(proposal), headers=htmx)
    assert (done.status_code, done["HX-Redirect"]) == (204, "/t/acme/review/")


def test_an_ended_session_loses_nothing(world: World, proposal: DirectiveProposal) -> None:
    response = Client().post(url(proposal, "approve"), form(proposal, instructions="Hours of work."))
    assert response.status_code == 401
    assert "Hours of work." in response.content.decode()
    part = Client().get("/t/acme/review/", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/"})
    assert (part.status_code, part["HX-Redirect"]) == (401, "/accounts/login/?next=%2F")


def test_a_form_without_its_token_loses_nothing(world: World, proposal: DirectiveProposal) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.reviewer.account, backend="personas.permissions.PersonBackend")
    response = client.post(url(proposal, "approve"), form(proposal, instructions="Hours of work."))
    assert response.status_code == 403
    assert "Hours of work." in response.content.decode()
    assert served(world) == "One.\nTwo.\nThree."


def test_nothing_inline_and_a_strict_policy(world: World, proposal: DirectiveProposal) -> None:
    client = client_of(world.reviewer)
    for page in (url(proposal), "/", "/t/acme/", "/t/acme/personas/", f"/t/acme/personas/{proposal.persona.pk}/"):
        response = client.get(page)
        policy = response["Content-Security-Policy"]
        assert "unsafe" not in policy and "default-src 'none'" in policy
        text = response.content.decode()
        assert not re.search(r"<style|\sstyle=|\son\w+=\"", text)
        for tag in re.findall(r"<script[^>]*>", text):
            assert "src=" in tag


@pytest.mark.parametrize("text", [
    "你好，世界。\n第二行。", "\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308\ne\u0301",
    "שלום עולם\nمرحبا",
    "| a | b |\n|---|---|", "x" * 20_000, "\n\n\n", "<b>&amp;</b>\n</textarea><script>", "\tcode\n    more  ",
])  # fmt: skip
def test_any_text_is_shown_and_survives_the_form(world: World, text: str) -> None:
    persona = world.persona(text="Before.")
    proposal = propose(persona, actor=world.editor, instructions=f"Now: {text}.", rationale=text[:200])
    client = client_of(world.reviewer)
    page = client.get(url(proposal))
    assert page.status_code == 200
    typed = re.search(r'<textarea id="text"[^>]*>\n(.*?)</textarea>', page.content.decode(), re.DOTALL)
    assert typed and unescape(typed[1]) == f"Now: {text}."
    data = form(proposal, instructions=unescape(typed[1]).replace("\n", "\r\n"), seen_invisible="on")
    assert client.post(url(proposal, "approve"), data).status_code == 302
    assert served(world) == f"Now: {text}."
    assert proposal.decisions.get().edited_instructions is None
