"""Proposing: a directive that waits for somebody who may make it live."""

from decimal import Decimal
from typing import Any

from django.db import transaction

from learning.domain.diff import compare
from learning.domain.fingerprint import change_fingerprint, text_fingerprint
from learning.models import DirectiveProposal
from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted, SecondPersonRequired
from personas.domain.resolution import DEFAULT_NAME
from personas.domain.rights import Right
from personas.domain.settings import PersonaSettings
from personas.domain.text import TextFault, digest
from personas.domain.text import clean_text as clean_any_text
from personas.models import AgentPersona, PersonaRevision
from personas.permissions import require
from personas.services import personas
from personas.services.activation import check_run_as, lock_persona
from personas.services.checks import checked

Action = DirectiveProposal.Action
Origin = DirectiveProposal.Origin


@transaction.atomic
def propose(
    persona: AgentPersona,
    *,
    actor: Actor,
    instructions: str | None = None,
    settings: PersonaSettings | None = None,
    rationale: str = "",
    action: DirectiveProposal.Action = Action.CHANGE,
    base: PersonaRevision | None = None,
    confidence: Decimal | None = None,
    origin: DirectiveProposal.Origin = Origin.PERSON,
    replaces: DirectiveProposal | None = None,
) -> DirectiveProposal:
    """Write a directive down for review. Nothing that is served changes.

    Parameters: ``instructions`` and ``settings`` None keep those of ``base``, the revision it is written against (the
    live one by default); ``confidence`` between 0 and 1; ``replaces`` the stale proposal it was merged from.
    Raises `NotPermitted` without ``change_persona``, `Invalid` for wrong input or a change of nothing, `Conflict` when
    the same text is pending already.
    """
    require(actor, Right.CHANGE_PERSONA, persona)
    persona = lock_persona(persona, serving=False)
    base = base or persona.live_revision
    if base is None or base.persona_id != persona.pk:
        raise Invalid("The base revision belongs to another persona.", field="base_revision")
    text = base.instructions if instructions is None else personas.clean_text(instructions)
    if action is Action.ENABLE:
        personas.clean_text(text)  # a draft may be empty, what is served may not
    wanted = _clean_settings(persona, base, settings, actor)
    if action is Action.CHANGE and (text, wanted.dump()) == (base.instructions, base.settings):
        raise Invalid(f"This changes nothing: revision {base.number} says the same.", field="instructions")
    _refuse_repeat(persona, action, text, wanted)
    proposal = DirectiveProposal(
        persona=persona,
        action=action,
        settings=wanted.dump(),
        rationale=clean_rationale(rationale),
        confidence=confidence,
        origin=origin,
        replaces=replaces,
        **_texts(base, text),
        **_whence(persona, actor),
    )
    checked(proposal, exclude=["tenant", "persona", "base_revision", "proposed_by", "instructions", "replaces"])
    proposal.save(force_insert=True)
    after = {"persona": persona.name, "base": base.number, "action": action.value, "text_sha256": proposal.text_sha256}
    audit.record("proposal.created", proposal, actor=actor, tenant=persona.tenant, after=after)
    return proposal


def _texts(base: PersonaRevision, text: str) -> dict[str, Any]:
    """The columns that say what the text is, and what it is against."""
    difference = compare(base.instructions, text)
    return {
        "base_revision": base,
        "instructions": text,
        "lines_added": difference.added,
        "lines_removed": difference.removed,
        "text_fingerprint": text_fingerprint(text),
        "change_fingerprint": change_fingerprint(base.instructions, text),
        "text_sha256": digest(text),
    }


def _whence(persona: AgentPersona, actor: Actor) -> dict[str, Any]:
    """The columns that say who proposes, where, and under which rules."""
    return {
        "tenant": persona.tenant,
        "proposed_by": actor.account,
        "proposed_by_name": actor.name,
        "proposed_through": actor.token.created_by if actor.token else None,
        "require_second_person": persona.tenant.require_second_person,
        "required_approvals": persona.tenant.required_approvals,
    }


def clean_rationale(text: str) -> str:
    """Normalised plain text for a rationale or a note. Raises `Invalid` when it is too long or has a NUL."""
    try:
        clean = clean_any_text(text, what="note", allow_empty=True).strip()
    except TextFault as fault:
        raise Invalid(str(fault), field="note") from fault
    if len(clean) > 5000:
        raise Invalid(f"Shorten the note: {len(clean):,} characters, and at most 5,000 are allowed.", field="note")
    return clean


def _clean_settings(
    persona: AgentPersona, base: PersonaRevision, settings: PersonaSettings | None, actor: Actor
) -> PersonaSettings:
    kept = PersonaSettings.load(base.settings)
    wanted = (settings or kept).cleaned()
    if wanted.run_as != kept.run_as:
        check_run_as(persona.tenant, wanted.run_as, {actor.account})
    if DEFAULT_NAME in (wanted.name, kept.name) and wanted.name != kept.name:
        raise Invalid("A persona cannot be renamed to or from “default”: that name is its identity.", field="name")
    return wanted


def _refuse_repeat(persona: AgentPersona, action: Any, text: str, wanted: PersonaSettings) -> None:
    same = DirectiveProposal.objects.pending().filter(
        persona=persona, action=action, text_sha256=digest(text), settings=wanted.dump()
    )
    twin = same.first()
    if twin:
        raise Conflict(f"The same change waits already, proposed by {twin.proposed_by_name}.")


@transaction.atomic
def change_persona(
    persona: AgentPersona,
    *,
    actor: Actor,
    note: str,
    instructions: str | None = None,
    settings: PersonaSettings | None = None,
    base: PersonaRevision | None = None,
) -> PersonaRevision | DirectiveProposal:
    """Apply a change at once where the actor may, else write the proposal: one form for both.

    Raises as `revise_persona` and `propose`, but neither `NotPermitted` for want of ``activate-directive`` nor
    `SecondPersonRequired`, which both lead to the proposal.
    """
    try:
        with transaction.atomic():
            return personas.revise_persona(
                persona,
                actor=actor,
                instructions=instructions,
                settings=settings,
                note=note,
                expected_revision=base,
            )
    except (NotPermitted, SecondPersonRequired):
        return propose(persona, actor=actor, instructions=instructions, settings=settings, rationale=note, base=base)


STATES = {
    Action.ENABLE: personas.enable_persona,
    Action.DISABLE: personas.disable_persona,
    Action.ARCHIVE: personas.archive_persona,
}


@transaction.atomic
def change_state(
    persona: AgentPersona,
    action: DirectiveProposal.Action,
    *,
    actor: Actor,
    reason: str,
    expected_revision: PersonaRevision | None = None,
) -> DirectiveProposal | None:
    """Enable, disable or archive a persona where the actor may, else propose it. Returns the proposal if it is one.

    ``expected_revision`` is the one the actor looked at. Raises as the verb itself and `propose` do.
    """
    try:
        with transaction.atomic():
            STATES[action](persona, actor=actor, reason=reason, expected_revision=expected_revision)
            return None
    except (NotPermitted, SecondPersonRequired):
        return propose(persona, actor=actor, rationale=reason, action=action, base=expected_revision)


@transaction.atomic
def change_back(
    persona: AgentPersona,
    *,
    to: PersonaRevision,
    actor: Actor,
    reason: str,
    expected_revision: PersonaRevision | None = None,
) -> PersonaRevision | DirectiveProposal:
    """Roll a persona back where the actor may, else propose it. Raises as `roll_back` and `propose` do."""
    try:
        with transaction.atomic():
            return personas.roll_back(persona, to=to, actor=actor, reason=reason, expected_revision=expected_revision)
    except (NotPermitted, SecondPersonRequired):
        return propose(
            persona,
            actor=actor,
            instructions=to.instructions,
            settings=PersonaSettings.load(to.settings),
            rationale=reason,
            action=Action.ROLLBACK,
            base=expected_revision,
        )
