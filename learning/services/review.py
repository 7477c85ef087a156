"""Deciding: approve, approve with an edit, reject, comment."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from learning.domain.review import Rules, Standing, Vote, standing, stricter
from learning.models import Decision, DirectiveProposal
from learning.services.proposals import clean_rationale
from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, Locked, SecondPersonRequired, Stale
from personas.domain.rights import Right
from personas.domain.settings import PersonaSettings
from personas.domain.text import digest
from personas.models import Activation, AgentPersona, PersonaRevision, User
from personas.permissions import holds, require
from personas.services import personas
from personas.services.activation import activate_revision, lock_persona

Status = DirectiveProposal.Status
Action = DirectiveProposal.Action
Verdict = Decision.Verdict


class NotPending(Conflict):
    """Somebody was faster."""

    code = "not_pending"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a decision led to: the revision that went live, or how much is still missing."""

    proposal: DirectiveProposal
    standing: Standing
    revision: PersonaRevision | None


def text_to_decide(proposal: DirectiveProposal) -> str:
    """The text an approval makes live: the last edit of a reviewer, else what was proposed."""
    edits = proposal.decisions.filter(edited_instructions__isnull=False).order_by("-created_at", "-pk")
    edited = edits.values_list("edited_instructions", flat=True).first()
    return proposal.instructions if edited is None else str(edited)


def rules_of(proposal: DirectiveProposal) -> Rules:
    """The stricter of the tenant's rules when the proposal was made and now."""
    tenant = proposal.persona.tenant
    return stricter(
        Rules(proposal.require_second_person, proposal.required_approvals),
        Rules(tenant.require_second_person, tenant.required_approvals),
    )


def authors_of(proposal: DirectiveProposal) -> list[User]:
    """Everyone who wrote any of it: who proposed it or a proposal it was merged from, or made the token it came
    through, everyone who edited those, and whoever wrote the draft that it makes live."""
    authors = _writers(proposal)
    for revision in _drafts_behind(proposal):
        authors.add(revision.author_id)
        for earlier in DirectiveProposal.objects.filter(made_revision=revision):
            authors |= _writers(earlier)
    return list(User.objects.filter(pk__in=authors))


def _writers(proposal: DirectiveProposal) -> set[uuid.UUID]:
    authors: set[uuid.UUID] = set()
    part: DirectiveProposal | None = proposal
    while part is not None:
        edits = part.decisions.filter(edited_instructions__isnull=False)
        authors |= {part.proposed_by_id, *edits.values_list("reviewer", flat=True)}
        if part.proposed_through_id is not None:
            authors.add(part.proposed_through_id)
        part = part.replaces
    return authors


def _drafts_behind(proposal: DirectiveProposal) -> QuerySet[Any, Any]:
    """Revisions that nobody was served yet and that the proposal would have served: those a draft is made of since it
    last answered, and those that say the same as a state to go back to."""
    live = Activation.objects.filter(persona=proposal.persona_id, live=True)
    drafts = PersonaRevision.objects.filter(persona=proposal.persona_id).exclude(pk__in=live.values("revision"))
    if proposal.action == Action.ENABLE:
        served = live.aggregate(last=Max("revision__number"))["last"] or 0
        return drafts.filter(number__gt=served, number__lte=proposal.base_revision.number)
    if proposal.action == Action.ROLLBACK:
        return drafts.filter(text_sha256=proposal.text_sha256)
    return drafts.none()


def standing_of(proposal: DirectiveProposal) -> Standing:
    """How far the proposal is: whose approvals count, what is missing."""
    votes = []
    for decision in proposal.decisions.select_related("reviewer").order_by("created_at", "pk"):
        edited = decision.edited_instructions
        votes.append(
            Vote(
                reviewer=decision.reviewer_id,
                name=decision.reviewer_name,
                approves=decision.verdict == Verdict.APPROVE,
                seen=decision.seen_sha256,
                base=decision.seen_revision_id,
                edited=None if edited is None else digest(edited),
                holds_right=holds(Actor(decision.reviewer), Right.ACTIVATE_DIRECTIVE, proposal.persona),
            )
        )
    return standing(
        votes,
        authors={user.pk for user in authors_of(proposal)},
        rules=rules_of(proposal),
        text=digest(text_to_decide(proposal)),
        live=proposal.persona.live_revision_id,
    )


def _lock(proposal: DirectiveProposal, actor: Actor) -> DirectiveProposal:
    """Proposal and persona as they are now, held. Raises `NotPermitted`, `NotPending` with who and when."""
    persona = lock_persona(proposal.persona)
    locked: DirectiveProposal = DirectiveProposal.objects.select_for_update(no_key=True).get(pk=proposal.pk)
    locked.persona = persona
    require(actor, Right.ACTIVATE_DIRECTIVE, persona)
    if not locked.is_pending:
        last = locked.decisions.exclude(verdict=Verdict.COMMENT).order_by("-created_at").first()
        who = f" by {last.reviewer_name}, {last.created_at:%-d %B %Y at %H:%M} UTC" if last else ""
        raise NotPending(f"This proposal was {locked.get_status_display().lower()}{who}.")
    return locked


@transaction.atomic
def approve(
    proposal: DirectiveProposal,
    *,
    actor: Actor,
    expected_revision: PersonaRevision,
    seen_sha256: str = "",
    instructions: str | None = None,
    note: str = "",
) -> Outcome:
    """Say yes to a proposal, as it stands or with an edit; with enough people it goes live in this transaction.

    Parameters: ``expected_revision`` the live revision the reviewer compared with; ``seen_sha256`` of the text they
    saw (pages must send it); ``instructions`` their edit, kept beside the proposed text.
    Raises `NotPermitted`, `NotPending`, `Locked`, `Stale` when what was seen is not what is there, `Invalid` for an
    edit that is no text, `SecondPersonRequired` when an author's yes alone could never be enough.
    """
    proposal = _lock(proposal, actor)
    persona = proposal.persona
    if persona.locked and proposal.action != Action.DISABLE and proposal.action != Action.ARCHIVE:
        raise Locked(f"“{persona.name}” is locked: the proposal stays pending until somebody unlocks it.")
    shown = text_to_decide(proposal)
    _refuse_unseen(proposal, shown, expected_revision, seen_sha256)
    text = shown if instructions is None else personas.clean_text(instructions)
    edited = text != shown
    if edited and (text, proposal.settings) == (expected_revision.instructions, expected_revision.settings):
        raise Invalid("Your edit takes every change back. Reject the proposal instead.", field="instructions")
    rules = rules_of(proposal)
    if not edited and rules.second_person and rules.approvals == 1 and actor.account in authors_of(proposal):
        raise SecondPersonRequired("You are an author of this text, so somebody else has to approve it.")
    decision = Decision(
        proposal=proposal,
        reviewer=actor.account,
        reviewer_name=actor.name,
        verdict=Verdict.APPROVE,
        note=clean_rationale(note),
        edited_instructions=text if edited else None,
        seen_sha256=digest(text),
        seen_revision=expected_revision,
    )
    decision.save()
    after = {"edited": edited, "seen_sha256": decision.seen_sha256, "live_revision": expected_revision.number}
    audit.record("proposal.approved", proposal, actor=actor, tenant=proposal.tenant, after=after, note=note)
    reached = standing_of(proposal)
    revision = _make_live(proposal, text, reached, actor) if reached.complete else None
    return Outcome(proposal, reached, revision)


def _refuse_unseen(proposal: DirectiveProposal, shown: str, expected: PersonaRevision, seen_sha256: str) -> None:
    live = proposal.persona.live_revision
    assert live is not None
    if expected.pk != live.pk or proposal.base_revision_id != live.pk:
        raise Stale(
            f"Revision {live.number} by {live.author_name} is live by now, and this was written against revision "
            f"{proposal.base_revision.number}. Look at the three texts before you decide."
        )
    _refuse_other_text(shown, seen_sha256)


def _refuse_other_text(shown: str, seen_sha256: str) -> None:
    if seen_sha256 and seen_sha256 != digest(shown):
        raise Stale("Another reviewer edited this text while you read it. Look at it again before you decide.")


def _make_live(proposal: DirectiveProposal, text: str, reached: Standing, actor: Actor) -> PersonaRevision:
    """The revision of an approved proposal, activated; the proposal closed."""
    persona = proposal.persona
    live = persona.live_revision
    assert live is not None
    settings = PersonaSettings.load(proposal.settings)
    origin = PersonaRevision.Origin.ROLLBACK if proposal.action == Action.ROLLBACK else PersonaRevision.Origin.DIRECTIVE
    if (text, settings.dump()) == (live.instructions, live.settings):
        revision = live
    else:
        revision = personas.write_revision(
            persona,
            instructions=text,
            settings=settings,
            actor=actor,
            author=proposal.proposed_by,
            origin=origin,
            note=proposal.rationale,
        )
    # Closed first: archiving closes whatever still waits for the persona.
    proposal.status, proposal.decided_at, proposal.made_revision = Status.APPROVED, timezone.now(), revision
    proposal.save(update_fields=["status", "decided_at", "made_revision"])
    enabled = {Action.ENABLE: True, Action.DISABLE: False, Action.ARCHIVE: False}.get(Action(proposal.action))
    activate_revision(
        persona,
        revision,
        actor=actor,
        verb=Activation.Verb.APPROVE,
        enabled=enabled,
        archive=proposal.action == Action.ARCHIVE,
        approvers=list(User.objects.filter(pk__in=reached.counting)),
        authors=authors_of(proposal),
        source=f"proposal:{proposal.pk}",
        reason=proposal.rationale,
    )
    return revision


@transaction.atomic
def reject(proposal: DirectiveProposal, *, actor: Actor, note: str, seen_sha256: str = "") -> DirectiveProposal:
    """Refuse a proposal for good. ``seen_sha256`` is of the text they saw (pages must send it).

    Raises `Invalid` without a note, `NotPermitted`, `NotPending`, `Stale` when somebody edited the text meanwhile.
    """
    note = clean_rationale(note)
    if not note:
        raise Invalid("Say in a sentence what is wrong with it: the author sees this.", field="note")
    proposal = _lock(proposal, actor)
    _refuse_other_text(text_to_decide(proposal), seen_sha256)
    Decision(
        proposal=proposal,
        reviewer=actor.account,
        reviewer_name=actor.name,
        verdict=Verdict.REJECT,
        note=note,
        seen_sha256=seen_sha256,
        seen_revision=proposal.persona.live_revision,
    ).save()
    proposal.status, proposal.decided_at = Status.REJECTED, timezone.now()
    proposal.save(update_fields=["status", "decided_at"])
    audit.record("proposal.rejected", proposal, actor=actor, tenant=proposal.tenant, note=note)
    return proposal


@transaction.atomic
def comment(proposal: DirectiveProposal, *, actor: Actor, note: str) -> Decision:
    """Say something about a proposal without deciding it. Raises `NotPermitted` for who may not write here."""
    require(actor, Right.CHANGE_PERSONA, proposal.persona)
    note = clean_rationale(note)
    if not note:
        raise Invalid("Write a comment first.", field="note")
    decision = Decision(
        proposal=proposal,
        reviewer=actor.account,
        reviewer_name=actor.name,
        verdict=Verdict.COMMENT,
        note=note,
        seen_revision=None,
    )
    decision.save()
    audit.record("proposal.commented", proposal, actor=actor, tenant=proposal.tenant)
    return decision


def close_pending(persona: AgentPersona, actor: Actor) -> None:
    """Close what waits for a persona that was archived (a hook of its transaction)."""
    for proposal in DirectiveProposal.objects.pending().filter(persona=persona).select_for_update():
        proposal.status, proposal.decided_at = Status.SUPERSEDED, timezone.now()
        proposal.save(update_fields=["status", "decided_at"])
        after = {"why": "the persona was archived"}
        audit.record("proposal.superseded", proposal, actor=actor, tenant=proposal.tenant, after=after)


def needs(proposal: DirectiveProposal, actor: Actor) -> list[tuple[bool, str]]:
    """What approving needs, as sentences, each met or not, for the person who looks."""
    persona, rules, reached = proposal.persona, rules_of(proposal), standing_of(proposal)
    may = holds(actor, Right.ACTIVATE_DIRECTIVE, persona)
    author = actor.account.pk in {user.pk for user in authors_of(proposal)}
    said_yes = actor.account.pk in reached.counting
    fresh = proposal.base_revision_id == persona.live_revision_id
    rows = [(may, "You may activate directives here" if may else "You may look, but not activate directives here")]
    if rules.second_person:
        rows.append((not author, "You are an author, so somebody else approves it" if author else "You are no author"))
    rows.append((fresh, "Written against the live revision" if fresh else "The live revision has changed since"))
    rows.append((not persona.locked, "Persona is locked" if persona.locked else "Persona is not locked"))
    if rules.approvals > 1:
        have = len(reached.counting)
        mine = ", yours among them" if said_yes else ""
        rows.append((reached.missing == 0, f"{have} of {rules.approvals} approvals{mine}"))
    rows += [(False, f"{name} {why}") for name, why in reached.void]
    return rows
