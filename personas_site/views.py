"""Pages that join the apps, and what monitors ask."""

from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from learning import reading
from learning.models import DirectiveProposal
from learning.views.changes import get_persona
from learning.views.queue import queue_context
from personas.actors import Actor
from personas.domain.rights import Right
from personas.http import actor_of, get_tenant
from personas.models import AgentPersona, Tenant
from personas.permissions import holds
from personas.reading import lately, reach, removed_tools, told
from personas.resolve import resolve_for_tenant
from personas_site.htmx import render_page
from personas_site.login_proof import open_without_second_factor


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What waits for me, across all tenants."""
    return render_page(request, "learning/queue.html", queue_context(request, actor_of(request), None), partial="queue")


@require_safe
def tenant_overview(request: HttpRequest, tenant: str) -> HttpResponse:
    """A tenant at a glance: what needs a person, and what went live."""
    actor, place = actor_of(request), get_tenant(request, tenant)
    get_object_or_404(Tenant.objects.permitted(actor), pk=place.pk)
    personas = AgentPersona.objects.permitted(actor).filter(tenant=place).current()
    context = {
        "section": "overview",
        "tenant": place,
        "waiting": reading.queue(actor, "all", tenant=place)[:8],
        "mine": reading.queue(actor, "mine", tenant=place).count(),
        "pending": reading.queue(actor, "all", tenant=place).count(),
        "stale": reading.queue(actor, "stale", tenant=place).count(),
        "live": personas.filter(enabled=True).count(),
        "drafts": personas.filter(enabled=False).count(),
        "went_live": lately(personas)[:8],
    }
    return render_page(request, "site/overview.html", context, partial="overview")


@require_safe
def persona_overview(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """A persona: what it is told now, what vouches for each paragraph, where it answers and as whom."""
    actor, persona = actor_of(request), get_persona(request, tenant, pk)
    context_asked = (persona.context_type, persona.context_id)
    answer = resolve_for_tenant(persona.tenant, persona.agent_class.canonical, context_asked)
    context = {
        "section": "personas",
        "tab": "overview",
        "tenant": persona.tenant,
        "persona": persona,
        "told": told(persona),
        "reach": reach(persona),
        "answer": answer,
        "removed": removed_tools(persona, answer),
        "pending": _pending(actor, persona),
        "recent": persona.activations.select_related("revision", "previous").order_by("-created_at", "-pk")[:5],
        "can": _can(actor, persona),
    }
    return render_page(request, "personas/persona.html", context, partial="persona")


@require_safe
def persona_history(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Every revision and everything that went live, newest first, and the proposals about it."""
    actor, persona = actor_of(request), get_persona(request, tenant, pk)
    context = {
        "section": "personas",
        "tab": "instructions",
        "reach": reach(persona),
        "tenant": persona.tenant,
        "persona": persona,
        "revisions": persona.revisions.order_by("-number").defer("instructions", "settings")[:200],
        "activations": persona.activations.select_related("revision", "previous").order_by("-created_at", "-pk")[:200],
        "proposals": DirectiveProposal.objects.permitted(actor)
        .filter(persona=persona)
        .select_related("persona", "tenant")
        .defer("instructions")
        .order_by(*reading.NEWEST)[:100],
        "pending": _pending(actor, persona),
        "can": _can(actor, persona),
    }
    return render_page(request, "personas/history.html", context, partial="history")


def _pending(actor: Actor, persona: AgentPersona) -> list[DirectiveProposal]:
    rows = DirectiveProposal.objects.permitted(actor).pending().filter(persona=persona)
    return list(rows.select_related("persona", "tenant").defer("instructions").order_by(*reading.NEWEST)[:20])


def _can(actor: Actor, persona: AgentPersona) -> dict[str, bool]:
    return {
        "write": holds(actor, Right.CHANGE_PERSONA, persona),
        "decide": holds(actor, Right.ACTIVATE_DIRECTIVE, persona),
    }


@open_without_second_factor
@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process is there."""
    return HttpResponse("ok", content_type="text/plain")


@open_without_second_factor
@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """The database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ready", content_type="text/plain")
