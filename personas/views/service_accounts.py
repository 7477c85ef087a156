"""The service accounts of a tenant: made, stopped and let go on."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from personas import roster
from personas.domain.errors import Refused
from personas.domain.people import SERVICE_PREFIX
from personas.domain.rights import Right, Role
from personas.forms.members import ServiceAccountForm, values_of
from personas.http import actor_of, status_of
from personas.models import Tenant, User
from personas.services.accounts import (
    SERVICE_ROLES,
    activate_service_account,
    create_service_account,
    deactivate_service_account,
)
from personas.views.common import seen_tenant
from personas_site.htmx import render_page, see_other

STATES = {"deactivate": deactivate_service_account, "activate": activate_service_account}


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_add(request: HttpRequest, tenant: str) -> HttpResponse:
    """Make a service account. The page fixes how its user name starts, so no tenant learns what others use."""
    place = seen_tenant(request, tenant, Right.MANAGE_MEMBERS)
    if request.method != "POST":
        return _form(request, place)
    try:
        values = values_of(ServiceAccountForm(request.POST))
        made = create_service_account(
            place,
            _prefix(place) + values["suffix"],
            name=values["name"],
            role=Role(values["role"]),
            actor=actor_of(request),
        )
    except Refused as fault:
        return _form(request, place, fault)
    messages.success(request, f"{made.username} is there. It needs a token before a runtime can use it.")
    return see_other(request, reverse("member", args=[tenant, made.pk]))


def _prefix(place: Tenant) -> str:
    """Ends with a dot, which no slug has: else ``acme`` could try names of ``acme-support``."""
    return f"{SERVICE_PREFIX}{place.slug}."


def _form(request: HttpRequest, place: Tenant, fault: Refused | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "section": "members",
        "tenant": place,
        "prefix": _prefix(place),
        "typed": request.POST,
        "roles": [(role, roster.MEANINGS[role]) for role in SERVICE_ROLES],
        "fault": fault,
    }
    return render_page(request, "personas/members_service.html", context, partial="form", status=status_of(fault))


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_state(request: HttpRequest, tenant: str, pk: UUID, action: str) -> HttpResponse:
    """Deactivate a service account or let it act again, after saying which personas run as it."""
    place = seen_tenant(request, tenant, Right.MANAGE_MEMBERS)
    account: User = get_object_or_404(roster.service_accounts(place), pk=pk)
    if action not in STATES:
        raise Http404
    if request.method != "POST":
        return _confirm(request, place, account, action)
    try:
        STATES[action](account, actor=actor_of(request))
    except Refused as fault:
        return _confirm(request, place, account, action, fault)
    done = "is stopped, and its tokens with it" if action == "deactivate" else "may act again, with a new token"
    messages.success(request, f"{account.username} {done}.")
    return see_other(request, reverse("member", args=[tenant, pk]))


def _confirm(
    request: HttpRequest, place: Tenant, account: User, action: str, fault: Refused | None = None
) -> HttpResponse:
    context = {
        "section": "members",
        "tenant": place,
        "member": roster.members(place, [account])[0],
        "action": action,
        "run_by": roster.run_by(account, place),
        "fault": fault,
    }
    return render_page(
        request, "personas/members_service_state.html", context, partial="confirm", status=status_of(fault)
    )
