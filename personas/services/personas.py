"""Personas: drafts, direct changes, stops and rollbacks. Whatever is served passes `activate_revision`."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Invalid
from personas.domain.rights import Right
from personas.domain.settings import PersonaSettings, revision_digest
from personas.domain.text import TextFault, clean_instructions, digest, name_key
from personas.models import Activation, AgentClass, AgentPersona, PersonaRevision, Tenant
from personas.permissions import require
from personas.services.activation import CHECKED, activate_revision, check_run_as, lock_persona, require_seen
from personas.services.checks import clean_note, saved

Verb = Activation.Verb
Origin = PersonaRevision.Origin


def clean_text(instructions: str, *, allow_empty: bool = False) -> str:
    """Normalised instructions. Raises `Invalid` for a text that is too long, has a NUL, or is empty."""
    try:
        return clean_instructions(instructions, allow_empty=allow_empty)
    except TextFault as fault:
        raise Invalid(str(fault), field="instructions") from fault


def write_revision(
    persona: AgentPersona,
    *,
    instructions: str,
    settings: PersonaSettings,
    actor: Actor,
    origin: PersonaRevision.Origin,
    note: str = "",
    author: Any = None,
) -> PersonaRevision:
    """Append the next revision of a persona that the caller has locked. It serves nothing until it is activated."""
    last = persona.revisions.order_by("-number").values_list("number", flat=True).first() or 0
    data = settings.dump()
    author = author or actor.account
    revision = PersonaRevision(
        persona=persona,
        number=last + 1,
        instructions=instructions,
        settings=data,
        sha256=revision_digest(instructions, data),
        text_sha256=digest(instructions),
        author=author,
        author_name=str(author),
        origin=origin,
        note=clean_note(note, field="note"),
    )
    revision.save()
    return revision


@transaction.atomic
def create_persona(
    tenant: Tenant,
    agent_class: AgentClass,
    *,
    instructions: str,
    settings: PersonaSettings,
    actor: Actor,
    description: str = "",
    hints: Mapping[str, Any] | None = None,
    enable: bool = False,
    origin: PersonaRevision.Origin = Origin.CREATED,
    note: str = "",
) -> AgentPersona:
    """Make a persona with its first revision, as a draft or, with the right, enabled.

    Raises `NotPermitted` without ``manage-personas``, `Invalid` for a taken name or wrong input, and whatever
    `activate_revision` raises when it is to be enabled.
    """
    require(actor, Right.MANAGE_PERSONAS, tenant)
    instructions = clean_text(instructions, allow_empty=not enable)
    settings = settings.cleaned()
    check_run_as(tenant, settings.run_as, {actor.account})
    persona = AgentPersona(
        tenant=tenant,
        agent_class=agent_class,
        name=settings.name,
        name_key=name_key(settings.name),
        description=description,
        run_as_id=settings.run_as,
        hints=dict(hints or {}),
    )
    saved(persona, exclude=CHECKED)
    revision = write_revision(
        persona, instructions=instructions, settings=settings, actor=actor, origin=origin, note=note
    )
    verb = Verb.IMPORT if origin is Origin.IMPORT else Verb.ENABLE if enable else Verb.EDIT
    activate_revision(persona, revision, actor=actor, verb=verb, enabled=enable, reason=note)
    persona.refresh_from_db()
    return persona


@transaction.atomic
def revise_persona(
    persona: AgentPersona,
    *,
    actor: Actor,
    instructions: str | None = None,
    settings: PersonaSettings | None = None,
    note: str = "",
    expected_revision: PersonaRevision | None = None,
) -> PersonaRevision:
    """Change the text or the settings of a persona now: a draft with ``change_persona``, a live one by the gate.

    ``expected_revision`` is the one the author looked at; raises `Stale` when another is live by now, `Invalid` for
    wrong input, and whatever `activate_revision` raises. A change of nothing returns the live revision.
    """
    persona = lock_persona(persona)
    live = require_seen(persona, expected_revision)
    text = live.instructions if instructions is None else clean_text(instructions, allow_empty=not persona.enabled)
    wanted = (settings or persona.settings).cleaned()
    if (text, wanted.dump()) == (live.instructions, live.settings):
        return live
    revision = write_revision(persona, instructions=text, settings=wanted, actor=actor, origin=Origin.EDIT, note=note)
    verb = Verb.EDIT if text != live.instructions else Verb.SETTINGS
    activate_revision(persona, revision, actor=actor, verb=verb, reason=note)
    return revision


@transaction.atomic
def enable_persona(
    persona: AgentPersona, *, actor: Actor, reason: str = "", expected_revision: PersonaRevision | None = None
) -> Activation | None:
    """Let a draft answer. Raises `Stale` when another revision than the one looked at would, else as
    `activate_revision` does."""
    persona = lock_persona(persona)
    live = require_seen(persona, expected_revision)
    if persona.enabled:
        return None
    return activate_revision(persona, live, actor=actor, verb=Verb.ENABLE, enabled=True, reason=reason)


@transaction.atomic
def disable_persona(
    persona: AgentPersona, *, actor: Actor, reason: str = "", expected_revision: PersonaRevision | None = None
) -> Activation | None:
    """Stop a persona from answering; another persona, or the manifest, takes its place. Passes the gate."""
    persona = lock_persona(persona)
    live = require_seen(persona, expected_revision)
    if not persona.enabled:
        return None
    return activate_revision(persona, live, actor=actor, verb=Verb.DISABLE, enabled=False, reason=reason)


@transaction.atomic
def archive_persona(
    persona: AgentPersona, *, actor: Actor, reason: str = "", expected_revision: PersonaRevision | None = None
) -> Activation | None:
    """Take a persona out of every list and every resolution; its history stays. Passes the gate if it is enabled."""
    persona = lock_persona(persona)
    live = require_seen(persona, expected_revision)
    return activate_revision(persona, live, actor=actor, verb=Verb.ARCHIVE, enabled=False, archive=True, reason=reason)


@transaction.atomic
def restore_persona(persona: AgentPersona, *, actor: Actor) -> AgentPersona:
    """Bring an archived persona back as a draft. Raises `Invalid` when its name is taken by now."""
    require(actor, Right.CHANGE_PERSONA, persona)
    row: AgentPersona = AgentPersona.objects.select_for_update().get(pk=persona.pk)
    if row.archived_at is None:
        return row
    row.archived_at = None
    saved(row, exclude=CHECKED, fields=["archived_at"])
    audit.record("persona.restored", row, actor=actor, tenant=row.tenant, after={"archived": False})
    return row


@transaction.atomic
def roll_back(
    persona: AgentPersona,
    *,
    to: PersonaRevision,
    actor: Actor,
    reason: str,
    expected_revision: PersonaRevision | None = None,
) -> PersonaRevision:
    """Serve an earlier state again, as a new revision. Raises `Invalid` for the live one, else as
    `activate_revision` does."""
    persona = lock_persona(persona)
    require_seen(persona, expected_revision)
    if to.persona_id != persona.pk:
        raise Invalid("This revision belongs to another persona.", field="revision")
    if to.pk == persona.live_revision_id:
        raise Invalid(f"Revision {to.number} is the live one.", field="revision")
    revision = write_revision(
        persona,
        instructions=to.instructions,
        settings=PersonaSettings.load(to.settings),
        actor=actor,
        origin=Origin.ROLLBACK,
        note=f"Back to revision {to.number}. {reason}".strip(),
    )
    activate_revision(persona, revision, actor=actor, verb=Verb.ROLLBACK, source=f"revision:{to.number}", reason=reason)
    return revision


@transaction.atomic
def set_locked(persona: AgentPersona, *, locked: bool, actor: Actor) -> AgentPersona:
    """Lock or unlock a persona against new directives. Raises `NotPermitted` without ``activate-directive``."""
    require(actor, Right.ACTIVATE_DIRECTIVE, persona)
    persona = lock_persona(persona, serving=False)
    if persona.locked != locked:
        persona.locked = locked
        persona.save(update_fields=["locked"])
        verb = "persona.locked" if locked else "persona.unlocked"
        audit.record(verb, persona, actor=actor, tenant=persona.tenant)
    return persona


@transaction.atomic
def describe_persona(persona: AgentPersona, *, description: str, actor: Actor) -> AgentPersona:
    """Change the description, which no agent is served. Raises `NotPermitted` without ``change_persona``."""
    require(actor, Right.CHANGE_PERSONA, persona)
    persona = lock_persona(persona, serving=False)
    before, persona.description = persona.description, description
    saved(persona, exclude=CHECKED, fields=["description"])
    audit.record(
        "persona.described",
        persona,
        actor=actor,
        tenant=persona.tenant,
        before={"description": before},
        after={"description": description},
    )
    return persona
