"""The queue of one tenant."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from learning import reading
from personas.actors import Actor
from personas.domain.rights import Right
from personas.http import actor_of, get_tenant
from personas.models import Tenant
from personas_site.htmx import render_page


@require_safe
def queue(request: HttpRequest, tenant: str) -> HttpResponse:
    """The proposals of a tenant in tabs, with the chosen one beside them."""
    actor, place = actor_of(request), get_tenant(request, tenant)
    return render_page(request, "learning/queue.html", queue_context(request, actor, place), partial="queue")


def queue_context(request: HttpRequest, actor: Actor, tenant: Tenant | None) -> dict[str, Any]:
    """What both queues show, that of a tenant and that of all. ``show`` without a value is what waits for the person,
    or everything for somebody who decides nothing here."""
    words = request.GET.get("q", "").strip()[:200]
    show = request.GET.get("show", "")
    if show not in reading.SHOW:
        show = "mine" if _decides(actor, tenant) else "all"
    page = reading.page_of(reading.queue(actor, show, tenant=tenant, words=words), request.GET.get("after", ""))
    own = reading.authored(page.items, actor)
    counts = {name: reading.queue(actor, name, tenant=tenant).count() for name in ("mine", "all", "stale")}
    first = next((row for row in page.items if str(row.pk) == request.GET.get("open")), None)
    chosen = first or (page.items[0] if page.items else None)
    return {
        "section": "review",
        "tenant": tenant,
        "show": show,
        "words": words,
        "page": page,
        "counts": counts,
        "groups": _groups(page.items, own, show),
        "chosen": chosen,
        "reading": reading.read(chosen) if chosen else None,
    }


def _decides(actor: Actor, tenant: Tenant | None) -> bool:
    tenants = Tenant.objects.permitted(actor, Right.ACTIVATE_DIRECTIVE)
    here = tenants if tenant is None else tenants.filter(pk=tenant.pk)
    return here.exists() or reading.waiting_for(actor).exists()


def _groups(items: list[Any], own: set[Any], show: str) -> list[tuple[str, str, list[Any]]]:
    """The rows under their headings: what one can decide, and what waits for somebody else."""
    if show == "decided":
        return [("Decided", "newest first", items)] if items else []
    mine = [row for row in items if row.pk not in own]
    theirs = [row for row in items if row.pk in own]
    groups = [
        ("Waiting for you" if show == "mine" else "Waiting", "newest first", mine),
        ("Waiting for someone else", "you are an author", theirs),
    ]
    return [group for group in groups if group[2]]
