"""Ways around the rules of review that were thought of, and are closed."""

import pytest

from learning import reading
from learning.models import DirectiveProposal
from learning.services import merging, review
from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted, SecondPersonRequired, Stale
from personas.domain.rights import Right, Role
from personas.domain.text import digest
from personas.models import AgentPersona
from personas.permissions import give
from personas.services import accounts, bindings, personas, tenants, tokens
from tests.factory import World, superuser


def rules(world: World, *, second: bool, approvals: int = 1) -> None:
    tenants.set_review_rules(
        world.tenant, require_second_person=second, required_approvals=approvals, actor=superuser()
    )


def again(proposal: DirectiveProposal) -> DirectiveProposal:
    return DirectiveProposal.objects.select_related("persona__live_revision", "persona__tenant").get(pk=proposal.pk)


def test_what_is_not_stale_cannot_be_replaced(world: World) -> None:
    persona = world.persona(text="One.")
    proposal = propose(persona, actor=world.reviewer, instructions="Two.", rationale="Mine.")
    with pytest.raises(Conflict, match="nothing to merge"):
        merging.merge_onto_live(
            proposal, actor=world.editor, instructions="Evil.", expected_revision=persona.live_revision
        )
    assert again(proposal).status == "pending"


def test_who_merged_by_hand_is_named_and_vouches_alone(world: World) -> None:
    persona = world.persona(text="One.\nTwo.")
    proposal = propose(persona, actor=world.editor, instructions="One.\n2.", rationale="Shorter.", confidence="0.9")
    live = personas.revise_persona(persona, actor=world.reviewer, instructions="One.\nII.")
    for left in ("One.\n=======\n2.", "One.\n<<<<<<< proposed\n2."):
        with pytest.raises(Invalid, match="marks of a conflict"):
            merging.merge_onto_live(proposal, actor=world.editor, instructions=left, expected_revision=live)
    merged = merging.merge_onto_live(
        proposal, actor=world.editor, instructions="One.\nTwo and II.", expected_revision=live
    )
    assert merged.rationale == "Shorter.\n\nMerged by hand by Editor onto revision 2; first proposed by Editor."
    assert merged.confidence is None


def test_who_wrote_it_first_stays_an_author_after_a_merge(world: World) -> None:
    rules(world, second=True)
    draft = world.persona("Draft", "One.\nTwo.\nThree.", enable=False)
    proposal = propose(draft, actor=world.reviewer, instructions="One!\nTwo.\nThree.", rationale="")
    live = personas.revise_persona(draft, actor=world.editor, instructions="One.\nTwo.\nThree!")
    merged = merging.merge_onto_live(
        proposal, actor=world.editor, instructions="One!\nTwo.\nThree!", expected_revision=live
    )
    with pytest.raises(SecondPersonRequired):
        review.approve(again(merged), actor=world.reviewer, expected_revision=live)
    assert review.approve(again(merged), actor=world.second, expected_revision=live).revision is not None


def test_one_person_behind_a_service_account_is_no_second_person(world: World) -> None:
    rules(world, second=True)
    accounts.grant_role(world.tenant, world.service, Role.EDITOR, actor=superuser())
    accounts.grant_role(world.tenant, world.reviewer.account, Role.ADMIN, actor=superuser())
    token, _ = tokens.create_token(world.tenant, world.service, name="mine", may_review=False, actor=world.reviewer)
    draft = world.persona(enable=False)
    proposal = propose(draft, actor=Actor(world.service, token=token), instructions="Through it.", rationale="x")
    assert proposal.proposed_through == world.reviewer.account
    with pytest.raises(SecondPersonRequired):
        review.approve(proposal, actor=world.reviewer, expected_revision=draft.live_revision)
    assert not reading.waiting_for(world.reviewer).exists()
    assert reading.waiting_for(world.second).exists()


def test_a_yes_that_an_edit_voided_is_asked_for_again(world: World) -> None:
    rules(world, second=False, approvals=2)
    draft = world.persona(text="One.", enable=False)
    live = draft.live_revision
    proposal = propose(draft, actor=world.editor, instructions="Two.", rationale="")
    review.approve(proposal, actor=world.reviewer, expected_revision=live)
    assert not reading.waiting_for(world.reviewer).exists()
    outcome = review.approve(again(proposal), actor=world.second, expected_revision=live, instructions="Two!")
    assert (outcome.standing.missing, outcome.standing.void) == (1, (("Reviewer", "approved an earlier text"),))
    assert list(reading.waiting_for(world.reviewer)) == [proposal]
    assert review.approve(again(proposal), actor=world.reviewer, expected_revision=live).revision is not None
    assert AgentPersona.objects.get(pk=draft.pk).live_revision.instructions == "Two!"


def test_rejecting_a_text_that_somebody_edited_meanwhile(world: World) -> None:
    rules(world, second=True)
    draft = world.persona(text="One.", enable=False)
    proposal = propose(draft, actor=world.editor, instructions="Two.", rationale="")
    review.approve(proposal, actor=world.reviewer, expected_revision=draft.live_revision, instructions="Two!")
    with pytest.raises(Stale):
        review.reject(again(proposal), actor=world.second, note="No.", seen_sha256=digest("Two."))
    review.reject(again(proposal), actor=world.second, note="No.", seen_sha256=digest("Two!"))
    assert again(proposal).decisions.get(verdict="reject").seen_sha256 == digest("Two!")


def test_approving_ones_own_edit_is_not_enough(world: World) -> None:
    rules(world, second=True)
    draft = world.persona(text="One.", enable=False)
    live = draft.live_revision
    proposal = propose(draft, actor=world.editor, instructions="Two.", rationale="")
    outcome = review.approve(proposal, actor=world.reviewer, expected_revision=live, instructions="Mine.")
    assert (outcome.revision, outcome.standing.needs_other) == (None, True)
    with pytest.raises(SecondPersonRequired):
        review.approve(again(proposal), actor=world.reviewer, expected_revision=live)
    assert review.approve(again(proposal), actor=world.second, expected_revision=live).revision is not None


@pytest.mark.parametrize("strict", [{"second": True}, {"second": False, "approvals": 2}])
def test_nothing_goes_live_by_one_person_under_the_rules(world: World, strict: dict[str, int]) -> None:
    persona, draft = world.persona("Live", "One."), world.persona("Draft", "Draft.", enable=False)
    personas.revise_persona(persona, actor=world.reviewer, instructions="Two.")
    persona = AgentPersona.objects.get(pk=persona.pk)
    rules(world, **strict)  # type: ignore[arg-type]
    first, actor = persona.revisions.get(number=1), world.reviewer
    for verb in (
        lambda: personas.revise_persona(persona, actor=actor, instructions="Mine."),
        lambda: personas.revise_persona(persona, actor=actor, settings=persona.settings.change(priority=7)),
        lambda: personas.roll_back(persona, to=first, actor=actor, reason="x"),
        lambda: personas.disable_persona(persona, actor=actor),
        lambda: personas.archive_persona(persona, actor=actor),
        lambda: personas.enable_persona(draft, actor=actor),
        lambda: world.persona("New", enable=True),
    ):
        with pytest.raises(SecondPersonRequired):
            verb()
    assert AgentPersona.objects.get(pk=persona.pk).live_revision == persona.live_revision


def test_the_rule_of_its_making_holds_after_it_was_turned_off(world: World) -> None:
    rules(world, second=True)
    draft = world.persona(text="One.", enable=False)
    proposal = propose(draft, actor=world.reviewer, instructions="Two.", rationale="")
    rules(world, second=False)
    with pytest.raises(SecondPersonRequired):
        review.approve(again(proposal), actor=world.reviewer, expected_revision=draft.live_revision)


def test_nobody_turns_the_rule_off_or_gives_themselves_a_role(world: World) -> None:
    rules(world, second=True)
    with pytest.raises(NotPermitted):
        tenants.set_review_rules(world.tenant, require_second_person=False, required_approvals=1, actor=world.admin)
    with pytest.raises(NotPermitted):
        accounts.grant_role(world.tenant, world.admin.account, Role.REVIEWER, actor=world.admin)


def test_a_service_account_approves_nothing_whatever_it_holds(world: World) -> None:
    give(Right.ACTIVATE_DIRECTIVE, world.service, world.tenant)
    persona = world.persona(text="One.")
    proposal = propose(persona, actor=world.editor, instructions="Two.", rationale="")
    with pytest.raises(NotPermitted):
        review.approve(proposal, actor=Actor(world.service), expected_revision=persona.live_revision)


def test_nobody_widens_an_agent_alone_under_the_rules(world: World) -> None:
    accounts.grant_role(world.tenant, world.reviewer.account, Role.ADMIN, actor=superuser())
    bindings.disable_agent(world.tenant, world.support, actor=world.reviewer)
    rules(world, second=True)
    with pytest.raises(SecondPersonRequired):
        bindings.enable_agent(world.tenant, world.support, actor=world.reviewer)
    bindings.enable_agent(world.tenant, world.support, actor=superuser())
    bindings.set_agent_permissions(world.tenant, world.support, {"tool:kb.search": False}, actor=world.reviewer)
    with pytest.raises(SecondPersonRequired):
        bindings.set_agent_permissions(world.tenant, world.support, {}, actor=world.reviewer)
