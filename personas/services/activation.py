"""The one door through which anything becomes live."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from personas import audit, hooks
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, Locked, NotPermitted, SecondPersonRequired, Stale
from personas.domain.resolution import DEFAULT_NAME, Candidate, displaced
from personas.domain.rights import Right
from personas.domain.settings import PersonaSettings
from personas.domain.text import name_key
from personas.models import Activation, AgentPersona, PersonaRevision, Tenant, TenantAncestor, User, snapshot
from personas.permissions import holds, require
from personas.services.checks import clean_note, saved
from personas.services.tenants import lock_path

Verb = Activation.Verb
PLACE = ("name", "context_type", "context_id", "priority")
# Fields of a persona that services look up or check themselves.
CHECKED = ("tenant", "agent_class", "run_as", "live_revision")


def lock_persona(persona: AgentPersona, *, serving: bool = True) -> AgentPersona:
    """The persona as it is now, held until the end of the transaction. Raises `Conflict` when it is archived.

    ``serving`` says that what it answers may change: the path of its tenant is held as well, and taken first.
    """
    if serving:
        lock_path(persona.tenant_id)
    # Locked first and read afterwards: what a statement joins to a row it waited for is as old as its start.
    AgentPersona.objects.select_for_update(no_key=True).only("pk").get(pk=persona.pk)
    related = ("tenant", "agent_class__manifest", "live_revision", "run_as")
    locked: AgentPersona = AgentPersona.objects.select_related(*related).get(pk=persona.pk)
    if locked.archived_at is not None:
        raise Conflict(f"“{locked.name}” is archived. Restore it first.")
    return locked


def require_seen(persona: AgentPersona, expected: PersonaRevision | None) -> PersonaRevision:
    """The live revision of a locked persona. Raises `Stale` when it is another than the one the actor looked at."""
    live = persona.live_revision
    assert live is not None
    if expected is not None and expected.pk != live.pk:
        raise Stale(f"Revision {live.number} by {live.author_name} is there by now: look at it before you go on.")
    return live


@transaction.atomic
def activate_revision(
    persona: AgentPersona,
    revision: PersonaRevision,
    *,
    actor: Actor,
    verb: Activation.Verb,
    enabled: bool | None = None,
    archive: bool = False,
    approvers: Iterable[User] | None = None,
    authors: Iterable[User] = (),
    source: str = "",
    reason: str = "",
) -> Activation | None:
    """Make a revision the one a persona serves, and the persona enabled, disabled or archived.

    It is the only function that writes the live columns of a persona. A change that nobody is served, before or after,
    is a draft: it needs ``change_persona``, or the right of a reviewer when it was proposed, and leaves no activation.
    Everything else passes the gate.

    Parameters: ``enabled`` None keeps it as it is; ``approvers`` whose approval counts (default: the actor alone);
    ``authors`` of the change beside the actor when no approvers are named; ``source`` as ``proposal:<id>``.
    Raises `NotPermitted` without ``activate-directive`` on this persona or on one whose answer it takes or loses,
    `SecondPersonRequired` when the tenant's rules ask for more people, `Locked`, `Invalid` for wrong settings.
    """
    persona, reason = lock_persona(persona), clean_note(reason)
    if revision.persona_id != persona.pk:
        raise Invalid("This revision belongs to another persona.", field="revision")
    before, previous = snapshot(persona), persona.live_revision
    settings = PersonaSettings.load(revision.settings)
    after_enabled = persona.enabled if enabled is None else enabled
    serving = persona.enabled or after_enabled
    approving = list(approvers) if approvers is not None else [actor.account]
    writing = list(authors) if approvers is not None else [actor.account, *authors]
    if serving:
        _pass_gate(persona, revision, settings, after_enabled, actor)
        _count_approvals(persona.tenant, persona, approving, writing)
    else:
        require(actor, Right.CHANGE_PERSONA if approvers is None else Right.ACTIVATE_DIRECTIVE, persona)
    if after_enabled and not revision.instructions.strip():
        raise Invalid("Write the instructions first: an empty text is not served.", field="instructions")
    _check_settings(persona, settings, {*writing, actor.account}, starting=after_enabled and not persona.enabled)
    _write(persona, revision, settings, after_enabled, archive)
    activation = None
    if serving:
        by = {"actor": actor.account, "actor_name": actor.name, "approvers": _named(approving)}
        activation = Activation(persona=persona, revision=revision, previous=previous, live=after_enabled, **by)
        activation.verb, activation.source, activation.reason = verb, source, reason
        activation.save()
    label, after = f"{'directive' if serving else 'draft'}.{verb.value}", snapshot(persona)
    audit.record(label, persona, actor=actor, tenant=persona.tenant, before=before, after=after, note=reason)
    for hook in hooks.persona_archived if archive else hooks.persona_activated:
        hook(persona, actor)
    return activation


def _named(people: Iterable[User]) -> list[dict[str, str]]:
    return [{"id": str(user.pk), "name": str(user)} for user in people]


def _pass_gate(
    persona: AgentPersona, revision: PersonaRevision, settings: PersonaSettings, enabled: bool, actor: Actor
) -> None:
    """Check the right on this persona and on every one that loses or takes an answer by the change."""
    require(actor, Right.ACTIVATE_DIRECTIVE, persona)
    changed = persona.live_revision_id != revision.pk
    if persona.locked and (changed or (enabled and not persona.enabled)):
        raise Locked(f"“{persona.name}” is locked: no directive can be activated until somebody unlocks it.")
    moved = enabled != persona.enabled or any(getattr(persona, name) != getattr(settings, name) for name in PLACE)
    if not moved:
        return
    for other in AgentPersona.objects.filter(pk__in=_others_affected(persona, settings, enabled)):
        if not holds(actor, Right.ACTIVATE_DIRECTIVE, other):
            raise NotPermitted(
                f"This changes who answers where “{other.name}” of {other.tenant} does, or would: "
                "it takes somebody who may activate directives there as well."
            )


def _others_affected(persona: AgentPersona, settings: PersonaSettings, enabled: bool) -> set[Any]:
    """Ids of the other personas that lose an answer, or get one, when this one changes its place or stops."""
    below = TenantAncestor.objects.filter(ancestor=persona.tenant_id).values("tenant")
    paths: dict[Any, list[Any]] = {}
    for row in TenantAncestor.objects.filter(tenant__in=below).order_by("tenant", "distance"):
        paths.setdefault(row.tenant_id, []).append(row.ancestor_id)
    tenants = {pk for path in paths.values() for pk in path}
    old = Candidate(
        persona.pk,
        persona.tenant_id,
        persona.name,
        (persona.context_type, persona.context_id),
        persona.priority,
        persona.enabled,
    )
    new = Candidate(
        persona.pk,
        persona.tenant_id,
        settings.name,
        (settings.context_type, settings.context_id),
        settings.priority,
        enabled,
    )
    serving = [state for state in (old, new) if state.enabled]
    rows = AgentPersona.objects.filter(agent_class=persona.agent_class_id, enabled=True, tenant__in=tenants)
    rows = rows.exclude(pk=persona.pk)
    # Two shortcuts, so that enabling thousands of personas does not look at all of them each time.
    own = rows.filter(tenant=persona.tenant_id)
    if not any(_leads(state, own) for state in serving):
        return set()
    rest = [
        Candidate(pk, tenant, name, (context_type, context_id), priority)
        for pk, tenant, name, context_type, context_id, priority in rows.filter(_meeting(serving)).values_list(
            "pk", "tenant_id", "name", "context_type", "context_id", "priority"
        )
    ]
    pairs = displaced([*rest, old], [*rest, new], paths.values())
    return {pk for pair in pairs for pk in pair} - {None, persona.pk}


def _leads(state: Candidate, others: QuerySet[AgentPersona]) -> bool:
    """Whether it stands before all others of its tenant that have its exact context; else it answers nothing."""
    kind, ident = state.context
    rows = others.filter(context_type=kind, context_id=ident)
    first = rows.order_by("-priority", "name_key", "name").values_list("priority", "name").first()
    return first is None or state.order < Candidate(None, None, first[1], priority=first[0]).order


def _meeting(states: Iterable[Candidate]) -> Q:
    """Personas that apply in a context where one of the states does: all others keep their answers."""
    found = Q(context_type="")
    for kind, ident in (state.context for state in states):
        if not kind:
            return Q()
        found |= Q(context_type=kind, context_id__in=("", ident)) if ident else Q(context_type=kind)
    return found


def _count_approvals(tenant: Tenant, persona: AgentPersona, approvers: list[User], authors: list[User]) -> None:
    """Check the tenant's rules of review against the people who said yes and still may."""
    counted = {user.pk for user in approvers if holds(Actor(user), Right.ACTIVATE_DIRECTIVE, persona)}
    if len(counted) < tenant.required_approvals:
        raise SecondPersonRequired(
            f"{tenant} asks for {tenant.required_approvals} approvals: propose the change, so that others can see it."
        )
    if tenant.require_second_person and not counted - {user.pk for user in authors}:
        raise SecondPersonRequired(
            f"{tenant} asks for a second person: somebody who wrote none of it has to approve the change."
        )


def _check_settings(persona: AgentPersona, settings: PersonaSettings, setters: set[User], *, starting: bool) -> None:
    if settings.cleaned() != settings:
        raise Invalid("The settings are not in their normal form: save them again.")
    if DEFAULT_NAME in (persona.name, settings.name) and persona.name != settings.name and persona.live_revision:
        raise Invalid("A persona cannot be renamed to or from “default”: that name is its identity.", field="name")
    if not persona.agent_class.multi_instance and settings.name != DEFAULT_NAME:
        raise Invalid(f"{persona.agent_class} has only the persona “default”.", field="name")
    if persona.live_revision is None or settings.run_as != str(persona.run_as_id):
        check_run_as(persona.tenant, settings.run_as, setters)
    elif starting:  # accepted when it was set, but the account may have gone since
        check_run_as(persona.tenant, settings.run_as, {*setters, persona.run_as})


def check_run_as(tenant: Tenant, run_as: str, setters: set[User]) -> User:
    """The account a persona is to run as. Raises `Invalid` unless it is active, may view the tenant, is no superuser,
    and is a service account of the tenant or one of ``setters``, the people who ask for it."""
    account = User.objects.filter(pk=run_as).first()
    if account is None or not account.is_active or account.is_superuser:
        raise Invalid("Choose an active account that is no superuser.", field="run_as")
    if not holds(Actor(account), Right.VIEW_TENANT, tenant):
        raise Invalid(f"{account} cannot see {tenant}: give a role there first.", field="run_as")
    if not (account.is_service and account.tenant_id == tenant.pk) and account not in setters:
        raise Invalid(
            "Choose a service account of this tenant, or yourself: another person would have to set it themselves.",
            field="run_as",
        )
    return account


def _write(
    persona: AgentPersona, revision: PersonaRevision, settings: PersonaSettings, enabled: bool, archive: bool
) -> None:
    persona.name, persona.name_key = settings.name, name_key(settings.name)
    persona.context_type, persona.context_id = settings.context_type, settings.context_id
    persona.priority, persona.run_as_id = settings.priority, settings.run_as
    persona.live_revision, persona.enabled = revision, enabled
    persona.archived_at = timezone.now() if archive else None
    fields = [*PLACE, "name_key", "run_as", "live_revision", "enabled", "archived_at"]
    saved(persona, exclude=CHECKED, fields=fields)
