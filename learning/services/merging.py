"""Bringing a stale proposal onto the live revision, as a new one that everybody can see."""

from django.db import transaction
from django.utils import timezone

from learning.domain.merge import merge3
from learning.models import DirectiveProposal
from learning.services.proposals import propose
from learning.services.review import NotPending, text_to_decide
from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid
from personas.domain.rights import Right
from personas.domain.settings import PersonaSettings
from personas.models import PersonaRevision
from personas.permissions import require
from personas.services.activation import lock_persona, require_seen

Status = DirectiveProposal.Status
MARKS = ("<<<<<<< proposed", "||||||| base", ">>>>>>> live")


@transaction.atomic
def merge_onto_live(
    proposal: DirectiveProposal, *, actor: Actor, instructions: str, expected_revision: PersonaRevision
) -> DirectiveProposal:
    """Replace a stale proposal by one that is written against the live revision, for everybody to see.

    The text is a clean three-way merge, or what somebody made of the conflict; the rationale says which, and by whom.
    The old proposal is superseded.
    Raises `NotPermitted` without ``change_persona``, `Conflict` when it is not stale, `NotPending`, `Stale` when
    another revision is live by now, `Invalid` for a text with the marks of a conflict.
    """
    persona = lock_persona(proposal.persona, serving=False)
    require(actor, Right.CHANGE_PERSONA, persona)
    locked: DirectiveProposal = DirectiveProposal.objects.select_for_update(no_key=True).get(pk=proposal.pk)
    locked.persona = persona
    if not locked.is_pending:
        raise NotPending(f"This proposal was {locked.get_status_display().lower()} meanwhile.")
    live = require_seen(persona, expected_revision)
    if locked.base_revision_id == live.pk:
        raise Conflict("This proposal is written against the live revision: there is nothing to merge.")
    merged = merge3(locked.base_revision.instructions, text_to_decide(locked), live.instructions)
    text = instructions.replace("\r\n", "\n")
    _refuse_marks(text, (locked.base_revision.instructions, text_to_decide(locked), live.instructions))
    how = "Merged" if text == merged.text else f"Merged by hand by {actor.name}"
    locked.status, locked.decided_at = Status.SUPERSEDED, timezone.now()
    locked.save(update_fields=["status", "decided_at"])
    rationale = f"{locked.rationale}\n\n{how} onto revision {live.number}; first proposed by {locked.proposed_by_name}."
    made = propose(
        persona,
        actor=actor,
        instructions=text,
        settings=_merged_settings(locked, live),
        rationale=rationale.strip(),
        action=DirectiveProposal.Action(locked.action),
        base=live,
        confidence=locked.confidence if text == merged.text else None,
        origin=DirectiveProposal.Origin(locked.origin) if text == merged.text else DirectiveProposal.Origin.PERSON,
        replaces=locked,
    )
    after = {"by": str(made.pk), "live_revision": live.number}
    audit.record("proposal.superseded", locked, actor=actor, tenant=locked.tenant, after=after)
    return made


def _refuse_marks(text: str, known: tuple[str, str, str]) -> None:
    """Marks that a conflict left: the labelled ones, and a bare row of equal signs that none of the texts has."""
    lines = text.split("\n")
    bare = "=======" in lines and not any("=======" in part.split("\n") for part in known)
    if bare or any(line.startswith(MARKS) for line in lines):
        raise Invalid("The text still has the marks of a conflict: choose a side and take them out.", field="merged")


def _merged_settings(proposal: DirectiveProposal, live: PersonaRevision) -> PersonaSettings:
    """The live settings with those changes that the proposal makes against its base."""
    base, wanted = proposal.base_revision.settings, proposal.settings
    changed = {name: value for name, value in wanted.items() if base.get(name) != value}
    return PersonaSettings.load({**live.settings, **changed})
