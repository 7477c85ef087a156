"""The audit of a tenant, and for superusers that of all: a list, one entry, and a file."""

from typing import Any
from uuid import UUID

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_safe

from personas import audit_reading as reading
from personas.audit_export import csv_pieces, in_thread
from personas.audit_forms import AuditForm
from personas.domain.rights import Right
from personas.http import actor_of
from personas.models import AuditEntry, Tenant
from personas.permissions import require_superuser
from personas.services.audit_export import record_export
from personas.views.common import seen_tenant
from personas_site.htmx import render_page


def _place(request: HttpRequest, slug: str | None) -> Tenant | None:
    """The tenant whose audit is asked for, or None for all of them, each for who may read it."""
    if slug is not None:
        return seen_tenant(request, slug, Right.VIEW_AUDIT)
    require_superuser(actor_of(request), "read the audit of every tenant")
    return None


@require_safe
def audit_list(request: HttpRequest, tenant: str | None = None) -> HttpResponse:
    """Entries, newest first, filtered by the address. A filter that cannot be read is said, and shows nothing."""
    return _list(request, _place(request, tenant), AuditForm(request.GET))


def _list(request: HttpRequest, place: Tenant | None, form: AuditForm) -> HttpResponse:
    actor, rows = actor_of(request), reading.entries(actor_of(request), place)
    asked = form.asked if form.is_valid() else {}
    start = reading.read_cursor(request.GET.get("after", ""))
    page = reading.matching(reading.older(rows, start) if start else rows, asked)
    found = list(page[: reading.PAGE + 1]) if form.is_valid() else []
    context: dict[str, Any] = {
        "section": "audit",
        "tenant": place,
        "typed": form.data,
        "faults": {name: str(texts[0]) for name, texts in form.errors.items()},
        "asked": asked,
        "lines": reading.lines(found[: reading.PAGE], actor),
        "next": reading.write_cursor(found[reading.PAGE - 1]) if len(found) > reading.PAGE else "",
        "later": start is not None,
        "known": reading.suggestions(rows),
    }
    return render_page(request, "personas/audit.html", context, partial="audit", status=200 if form.is_valid() else 422)


@require_safe
def audit_entry(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """One entry, with everything that changed."""
    place = seen_tenant(request, tenant, Right.VIEW_AUDIT)
    return _entry(request, place, get_object_or_404(reading.entries(actor_of(request), place), pk=pk))


@require_safe
def any_audit_entry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The lasting address of an entry. One of a tenant is shown among the pages of the tenant."""
    entry = get_object_or_404(reading.entries(actor_of(request), None), pk=pk)
    if entry.tenant is not None:
        return HttpResponseRedirect(reverse("audit_entry", args=[entry.tenant.slug, pk]))
    return _entry(request, None, entry)


def _entry(request: HttpRequest, place: Tenant | None, entry: AuditEntry) -> HttpResponse:
    line = reading.lines([entry], actor_of(request))[0]
    context = {"section": "audit", "tenant": place, "line": line, "entry": entry}
    return render_page(request, "personas/audit_entry.html", context, partial="entry")


@require_GET
def audit_export(request: HttpRequest, tenant: str | None = None) -> HttpResponseBase:
    """The filtered entries as CSV, sent while it is read."""
    place, form = _place(request, tenant), AuditForm(request.GET)
    if not form.is_valid():
        return _list(request, place, form)
    actor = actor_of(request)
    started = record_export(place, filters=form.asked, actor=actor)
    pieces = csv_pieces(
        reading.matching(reading.entries(actor, place), form.asked), started, may=lambda: reading.may_read(actor, place)
    )
    name = f"audit-{place.slug if place else 'all'}-{timezone.now():%Y-%m-%d}.csv"
    return StreamingHttpResponse(
        in_thread(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )
