"""Lists of personas."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from personas.domain.rights import Right
from personas.http import actor_of, get_tenant
from personas.permissions import holds
from personas.reading import listed
from personas_site.htmx import render_page

STATES = (("", "All"), ("live", "Live"), ("draft", "Drafts"), ("archived", "Archived"))
PAGE = 50


@require_safe
def persona_list(request: HttpRequest, tenant: str) -> HttpResponse:
    """The personas of a tenant, searched and filtered by the address."""
    actor, place = actor_of(request), get_tenant(request, tenant)
    asked: dict[str, Any] = {
        "words": request.GET.get("q", "").strip()[:200],
        "state": request.GET.get("state", ""),
        "agent_class": request.GET.get("agent_class", ""),
    }
    page = Paginator(listed(actor, place, **asked), PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "personas",
        "tenant": place,
        "page": page,
        "states": STATES,
        "asked": asked,
        "classes": listed(actor, place, words="", state="", agent_class="")
        .order_by("agent_class__canonical")
        .values_list("agent_class__canonical", "agent_class__display_name")
        .distinct(),
        "can": {"write": holds(actor, Right.MANAGE_PERSONAS, place)},
    }
    return render_page(request, "personas/list.html", context, partial="personas")
