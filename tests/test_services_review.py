"""Deciding proposals: whose yes counts, what it makes live, and what is refused with which words."""

from typing import Any

import pytest

from learning.models import Decision, DirectiveProposal
from learning.services import merging, review
from learning.services.proposals import propose
from learning.services.review import NotPending
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted, SecondPersonRequired, Stale
from personas.domain.rights import Right, Role
from personas.domain.text import digest
from personas.models import Activation, AgentPersona, AuditEntry, Tenant
from personas.resolve import resolve_for_tenant
from personas.services import accounts, personas
from tests.factory import World, make_person, superuser

Action = DirectiveProposal.Action


@pytest.fixture
def persona(world: World) -> AgentPersona:
    return world.persona(text="One.\nTwo.\nThree.")


def rules(world: World, *, second: bool = False, approvals: int = 1) -> None:
    Tenant.objects.filter(pk=world.tenant.pk).update(require_second_person=second, required_approvals=approvals)


def again(proposal: DirectiveProposal) -> DirectiveProposal:
    return DirectiveProposal.objects.select_related("persona__live_revision", "persona__tenant").get(pk=proposal.pk)


def yes(proposal: DirectiveProposal, actor: Actor, **more: Any) -> review.Outcome:
    proposal = again(proposal)
    return review.approve(proposal, actor=actor, expected_revision=proposal.persona.live_revision, **more)


def served(world: World) -> str:
    return resolve_for_tenant(world.tenant, "Support", ("", "")).instructions


@pytest.mark.parametrize("who", ["viewer", "editor", "admin", "outsider"])
def test_deciding_needs_the_right(world: World, persona: AgentPersona, who: str) -> None:
    proposal = propose(persona, actor=world.editor, instructions="New.")
    with pytest.raises(NotPermitted):
        yes(proposal, world.cast[who])
    with pytest.raises(NotPermitted):
        review.reject(proposal, actor=world.cast[who], note="No.")
    assert again(proposal).is_pending and not Decision.objects.exists()


def test_a_decided_proposal_says_by_whom_and_when(world: World, persona: AgentPersona) -> None:
    proposal = propose(persona, actor=world.editor, instructions="New.")
    yes(proposal, world.reviewer)
    with pytest.raises(NotPending, match=r"was approved by Reviewer, \d+ \w+ \d{4} at \d\d:\d\d UTC"):
        yes(proposal, world.second)
    with pytest.raises(NotPending, match="was approved by Reviewer"):
        review.reject(proposal, actor=world.second, note="No.")


def test_what_was_seen_is_what_is_decided(world: World, persona: AgentPersona) -> None:
    seen = persona.live_revision
    proposal = propose(persona, actor=world.editor, instructions="New.")
    with pytest.raises(Stale, match="edited this text"):
        yes(proposal, world.reviewer, seen_sha256=digest("Another text."))
    personas.revise_persona(persona, actor=world.second, instructions="Meanwhile.")
    for expected in (seen, AgentPersona.objects.get(pk=persona.pk).live_revision):
        with pytest.raises(Stale, match=r"Revision 2 by Second is live by now.*revision 1"):
            review.approve(again(proposal), actor=world.reviewer, expected_revision=expected)
    assert served(world) == "Meanwhile." and not proposal.decisions.exists()


def test_an_edit_goes_live_beside_the_proposed_text(world: World, persona: AgentPersona) -> None:
    proposal = propose(persona, actor=world.editor, instructions="New.")
    outcome = yes(proposal, world.reviewer, instructions="New, and kind.", note="Warmer.")
    assert served(world) == "New, and kind."
    decision = Decision.objects.get()
    assert (decision.edited_instructions, decision.note) == ("New, and kind.", "Warmer.")
    assert again(proposal).instructions == "New." and outcome.revision.author == world.editor.user
    assert review.text_to_decide(proposal) == "New, and kind."


def test_an_edit_that_is_none(world: World, persona: AgentPersona) -> None:
    proposal = propose(persona, actor=world.editor, instructions="New.")
    for text, message in (("One.\nTwo.\nThree.", "takes every change back"), (" ", "must not be empty")):
        with pytest.raises(Invalid, match=message) as refusal:
            yes(proposal, world.reviewer, instructions=text)
        assert refusal.value.field == "instructions"
    yes(proposal, world.reviewer, instructions="New.")
    assert Decision.objects.get().edited_instructions is None


def test_two_approvals(world: World, persona: AgentPersona) -> None:
    rules(world, approvals=2)
    proposal = propose(persona, actor=world.editor, instructions="New.")
    first = yes(proposal, world.reviewer)
    assert (first.standing.missing, first.revision) == (1, None)
    assert yes(proposal, world.reviewer).standing.missing == 1
    assert served(world) != "New."
    assert yes(proposal, world.second).revision is not None
    approvers = Activation.objects.get(source=f"proposal:{proposal.pk}").approvers
    assert {person["name"] for person in approvers} == {"Reviewer", "Second"}


def test_an_edit_voids_what_was_approved_before(world: World, persona: AgentPersona) -> None:
    rules(world, approvals=2)
    proposal = propose(persona, actor=world.editor, instructions="New.")
    yes(proposal, world.reviewer)
    edited = yes(proposal, world.second, instructions="Newer.")
    assert edited.standing.void == (("Reviewer", "approved an earlier text"),) and edited.revision is None
    back = yes(proposal, make_person("third", tenant=world.tenant, roles=(Role.REVIEWER,)), instructions="New.")
    assert back.standing.missing == 1, "an approval from before an edit does not come back with the text"
    assert yes(proposal, world.second).revision is not None
    assert served(world) == "New."


def test_who_lost_the_right_does_not_count_any_more(world: World, persona: AgentPersona) -> None:
    rules(world, approvals=2)
    proposal = propose(persona, actor=world.editor, instructions="New.")
    yes(proposal, world.reviewer)
    accounts.revoke_role(world.tenant, world.reviewer.account, Role.REVIEWER, actor=world.admin)
    outcome = yes(proposal, world.second)
    assert outcome.revision is None and outcome.standing.void[0][1].startswith("may not activate")


def test_the_second_person_wrote_none_of_it(world: World, persona: AgentPersona) -> None:
    rules(world, second=True)
    proposal = propose(persona, actor=world.reviewer, instructions="New.")
    with pytest.raises(SecondPersonRequired, match="author of this text"):
        yes(proposal, world.reviewer)
    assert yes(proposal, world.reviewer, instructions="Newer.").revision is None
    assert yes(proposal, world.second, instructions="Newest.").standing.needs_other
    with pytest.raises(SecondPersonRequired):
        yes(proposal, world.second)
    third = make_person("third", tenant=world.tenant, roles=(Role.REVIEWER,))
    assert yes(proposal, third).revision is not None
    assert served(world) == "Newest."


def test_the_stricter_of_the_rules_then_and_now(world: World, persona: AgentPersona) -> None:
    rules(world, second=True)
    then = propose(persona, actor=world.reviewer, instructions="New.")
    rules(world, second=False)
    with pytest.raises(SecondPersonRequired):
        yes(then, world.reviewer)
    now = propose(persona, actor=world.reviewer, instructions="Newer.")
    rules(world, approvals=3)
    assert (review.rules_of(again(now)).second_person, review.rules_of(again(now)).approvals) == (False, 3)
    assert yes(now, world.second).standing.missing == 2


def test_enabling_ones_own_draft_takes_another(world: World) -> None:
    rules(world, second=True)
    draft = world.persona("Draft", "Mine.", enable=False)
    proposal = propose(draft, actor=world.editor, action=Action.ENABLE)
    with pytest.raises(SecondPersonRequired):
        yes(proposal, world.reviewer)  # who made the draft
    personas.revise_persona(draft, actor=world.second, instructions="Ours.")
    proposal = propose(draft, actor=world.editor, action=Action.ENABLE)
    for author in (world.reviewer, world.second):
        with pytest.raises(SecondPersonRequired):
            yes(proposal, author)
    assert yes(proposal, make_person("third", tenant=world.tenant, roles=(Role.REVIEWER,))).revision is not None
    assert served(world) == "Ours."


def test_a_reviewed_draft_keeps_its_authors(world: World) -> None:
    rules(world, second=True)
    draft = personas.create_persona(
        world.tenant, world.support, instructions="First.", settings=world.settings("Draft"), actor=world.editor
    )
    change = propose(draft, actor=world.editor, instructions="Second.")
    yes(change, world.reviewer, instructions="Edited.")
    assert yes(change, world.second).revision is not None
    proposal = propose(draft, actor=world.editor, action=Action.ENABLE)
    with pytest.raises(SecondPersonRequired):
        yes(proposal, world.reviewer)  # who edited it
    assert yes(proposal, world.second).revision is not None


def test_going_back_to_a_draft_nobody_approved_takes_another(world: World) -> None:
    draft = world.persona("Draft", "Mine.", enable=False)
    mine = draft.live_revision
    personas.revise_persona(draft, actor=world.editor, instructions="Better.")
    personas.enable_persona(draft, actor=world.reviewer)
    rules(world, second=True)
    proposal = propose(draft, actor=world.editor, action=Action.ROLLBACK, instructions=mine.instructions)
    with pytest.raises(SecondPersonRequired):
        yes(proposal, world.reviewer)
    assert yes(proposal, world.second).revision.origin == "rollback"


def test_rejecting_is_final_and_needs_a_note(world: World, persona: AgentPersona) -> None:
    proposal = propose(persona, actor=world.editor, instructions="New.")
    with pytest.raises(Invalid, match="Say in a sentence") as refusal:
        review.reject(proposal, actor=world.reviewer, note=" \n")
    assert refusal.value.field == "note"
    with pytest.raises(Stale):
        review.reject(proposal, actor=world.reviewer, note="No.", seen_sha256=digest("Else."))
    rejected = review.reject(proposal, actor=world.reviewer, note="Too short.", seen_sha256=digest("New."))
    assert rejected.status == "rejected" and rejected.decided_at is not None and rejected.made_revision is None
    assert AuditEntry.objects.filter(verb="proposal.rejected", note="Too short.").count() == 1
    with pytest.raises(NotPending, match="was rejected by Reviewer"):
        yes(proposal, world.reviewer)
    assert served(world).startswith("One.")


def test_commenting_decides_nothing(world: World, persona: AgentPersona) -> None:
    proposal = propose(persona, actor=world.editor, instructions="New.")
    with pytest.raises(NotPermitted):
        review.comment(proposal, actor=world.viewer, note="Hm.")
    with pytest.raises(Invalid, match="Write a comment"):
        review.comment(proposal, actor=world.editor, note="")
    with pytest.raises(Invalid, match="NUL"):
        review.comment(proposal, actor=world.editor, note="a\0b")
    with pytest.raises(Invalid, match="5,001 characters"):
        review.comment(proposal, actor=world.editor, note="x" * 5001)
    review.comment(proposal, actor=world.reviewer, note="Hm.")
    assert again(proposal).is_pending and review.standing_of(again(proposal)).counting == ()


@pytest.mark.parametrize("action", [Action.DISABLE, Action.ARCHIVE, Action.ENABLE])
def test_a_state_can_be_proposed(world: World, persona: AgentPersona, action: DirectiveProposal.Action) -> None:
    if action == Action.ENABLE:
        personas.disable_persona(persona, actor=world.reviewer)
    other = propose(persona, actor=world.editor, instructions="New.")
    proposal = propose(persona, actor=world.editor, action=action)
    outcome = yes(proposal, world.reviewer)
    after = AgentPersona.objects.get(pk=persona.pk)
    assert outcome.revision == persona.live_revision and persona.revisions.count() == 1
    assert (after.enabled, after.archived_at is not None) == (action == Action.ENABLE, action == Action.ARCHIVE)
    assert again(proposal).status == "approved"
    assert again(other).status == ("superseded" if action == Action.ARCHIVE else "pending")


def test_a_proposal_says_something_new(world: World, persona: AgentPersona) -> None:
    with pytest.raises(NotPermitted):
        propose(persona, actor=world.viewer, instructions="New.")
    with pytest.raises(Invalid, match="changes nothing: revision 1"):
        propose(persona, actor=world.editor, instructions="One.\r\nTwo.\nThree.")
    propose(persona, actor=world.editor, instructions="New.")
    with pytest.raises(Conflict, match="waits already, proposed by Editor"):
        propose(persona, actor=world.second, instructions="New.")
    with pytest.raises(Invalid, match="belongs to another persona"):
        propose(persona, actor=world.editor, instructions="x", base=world.persona("Other").live_revision)
    with pytest.raises(Invalid, match="between 0 and 1"):
        propose(persona, actor=world.editor, instructions="x", confidence="1.5")
    for text, message in (("", "empty"), ("a\0", "NUL"), ("x" * 100_001, "100,001 characters")):
        with pytest.raises(Invalid, match=message):
            propose(persona, actor=world.editor, instructions=text)


def test_a_draft_is_decided_by_the_keeper_of_one_persona(world: World) -> None:
    draft = world.persona("Draft", "One.", enable=False)
    keeper = make_person("keeper")
    accounts.grant_persona_right(draft, keeper.account, Right.ACTIVATE_DIRECTIVE, actor=world.admin)
    proposal = propose(draft, actor=world.editor, instructions="Two.")
    assert yes(proposal, keeper).revision.number == 2
    assert not Activation.objects.filter(persona=draft).exists()


def test_a_stale_proposal_is_merged_and_seen_anew(world: World, persona: AgentPersona) -> None:
    settings = persona.settings
    proposal = propose(
        persona, actor=world.editor, instructions="One!\nTwo.\nThree.", settings=settings.change(priority=4)
    )
    live = personas.revise_persona(
        persona, actor=world.second, instructions="One.\nTwo.\nThree!", settings=settings.change(acts_as="Robbie")
    )
    with pytest.raises(NotPermitted):
        merging.merge_onto_live(proposal, actor=world.viewer, instructions="x", expected_revision=live)
    with pytest.raises(Stale):
        merging.merge_onto_live(
            proposal, actor=world.editor, instructions="x", expected_revision=proposal.base_revision
        )
    merged = merging.merge_onto_live(
        proposal, actor=world.second, instructions="One!\nTwo.\nThree!", expected_revision=live
    )
    assert (again(proposal).status, merged.replaces, merged.base_revision) == ("superseded", proposal, live)
    assert (merged.candidate.priority, merged.candidate.acts_as) == (4, "Robbie")
    assert {user.username for user in review.authors_of(merged)} == {"editor", "second"}
    with pytest.raises(NotPending):
        merging.merge_onto_live(proposal, actor=world.second, instructions="x", expected_revision=live)
    yes(merged, world.reviewer)
    assert served(world) == "One!\nTwo.\nThree!"


def test_what_approving_needs_in_sentences(world: World, persona: AgentPersona) -> None:
    rules(world, second=True, approvals=2)
    proposal = propose(persona, actor=world.reviewer, instructions="New.")
    yes(proposal, world.reviewer)
    said = {text: met for met, text in review.needs(again(proposal), world.reviewer)}
    assert said == {
        "You may activate directives here": True,
        "You are an author, so somebody else approves it": False,
        "Written against the live revision": True,
        "Persona is not locked": True,
        "1 of 2 approvals, yours among them": False,
    }
    personas.set_locked(persona, locked=True, actor=world.reviewer)
    accounts.revoke_role(world.tenant, world.reviewer.account, Role.REVIEWER, actor=superuser())
    texts = [text for met, text in review.needs(again(proposal), world.viewer) if not met]
    assert texts == [
        "You may look, but not activate directives here",
        "Persona is locked",
        "0 of 2 approvals",
        "Reviewer may not activate directives here any more",
    ]
