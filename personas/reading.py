"""What pages read about personas: what one is told and why, its history, and whom it reaches."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from personas.actors import Actor
from personas.domain.provenance import trace
from personas.models import Activation, AgentPersona, PersonaRevision, Tenant
from personas.resolve import Resolved


@dataclass(frozen=True, slots=True)
class Told:
    """One passage an agent is told, and what vouches for it: the revision, since when, and who approved it."""

    text: str
    number: int
    since: datetime
    who: str
    newest: bool


def told(persona: AgentPersona) -> list[Told]:
    """The live text in passages, each with its provenance."""
    live = persona.live_revision
    if live is None:
        return []
    revisions = list(persona.revisions.filter(number__lte=live.number).order_by("number"))
    by_number = {revision.number: revision for revision in revisions}
    first: dict[Any, Activation] = {}
    for activation in persona.activations.filter(live=True).order_by("created_at"):
        first.setdefault(activation.revision_id, activation)
    return [
        Told(part.text, part.revision, *_vouched(by_number[part.revision], first), newest=part.revision == live.number)
        for part in trace((revision.number, revision.instructions) for revision in revisions)
    ]


def _vouched(revision: PersonaRevision, first: dict[Any, Activation]) -> tuple[datetime, str]:
    activation = first.get(revision.pk)
    if activation is None:
        return revision.created_at, revision.author_name
    return activation.created_at, ", ".join(person["name"] for person in activation.approvers)


@dataclass(frozen=True, slots=True)
class Reach:
    """Who is told what a persona says: the tenant itself and how many descendants, and since when it is live."""

    tenant: Tenant
    descendants: int
    since: Activation | None


def reach(persona: AgentPersona) -> Reach:
    """Whom a persona answers for, and the activation that made its revision live."""
    below = persona.tenant.descendant_rows.exclude(distance=0).count()
    since = persona.activations.filter(revision=persona.live_revision_id, live=True).order_by("-created_at").first()
    return Reach(persona.tenant, below, since)


def lately(personas: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """What went live or was stopped among these personas, newest first."""
    rows = Activation.objects.filter(persona__in=personas.values("pk"))
    return rows.select_related("persona", "revision").order_by("-created_at", "-pk")


def removed_tools(persona: AgentPersona, answer: Resolved) -> list[str]:
    """The tools a persona, or else its manifest, names and that the ceiling took away where it answers itself."""
    if answer.persona_id != str(persona.pk) or persona.live_revision is None:
        return []
    wanted = persona.settings.allowed_tools
    if wanted is None:
        wanted = tuple(persona.agent_class.manifest.tools) if persona.agent_class.manifest else ()
    return [tool for tool in wanted if tool not in answer.allowed_tools]


def listed(actor: Actor, tenant: Tenant, *, words: str, state: str, agent_class: str) -> QuerySet[Any, Any]:
    """The personas of a tenant that the actor may see, by name. ``state``: live, draft, archived, or empty."""
    rows = AgentPersona.objects.permitted(actor).filter(tenant=tenant)
    rows = rows.exclude(archived_at=None) if state == "archived" else rows.current()
    if state in ("live", "draft"):
        rows = rows.filter(enabled=state == "live")
    if agent_class:
        rows = rows.filter(agent_class__canonical=agent_class)
    for word in words.split():
        rows = rows.filter(name__icontains=word)
    related = rows.select_related("tenant", "agent_class", "live_revision", "run_as")
    return related.defer("live_revision__instructions", "live_revision__settings").order_by("name_key", "pk")
