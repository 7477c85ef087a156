"""The people of a tenant: who they are, what they may do, and how that changes."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from personas import roster
from personas.domain.errors import Refused
from personas.domain.rights import PEOPLE_ONLY, ROLE_RIGHTS, Right, Role
from personas.forms.members import PersonaField, PersonaRightForm, RoleForm, values_of
from personas.http import actor_of, status_of
from personas.models import Tenant, User
from personas.permissions import holds
from personas.services import accounts
from personas.services.members import remove_member
from personas.views.common import seen_tenant
from personas_site.htmx import render_page, see_other

PAGE = 100


@require_safe
def member_list(request: HttpRequest, tenant: str) -> HttpResponse:
    """Everybody with a role, the service accounts, who holds single personas, and what was offered."""
    place = seen_tenant(request, tenant)
    words = request.GET.get("q", "").strip()[:200]
    page = Paginator(roster.people(place, words), PAGE).get_page(request.GET.get("page"))
    manages = holds(actor_of(request), Right.MANAGE_MEMBERS, place)
    context = _about(place) | {
        "page": page,
        "words": words,
        "people": roster.members(place, list(page.object_list)),
        "invitations": roster.waiting_invitations(place) if manages else [],
        "now": timezone.now(),
        "can": {"manage": manages},
    }
    return render_page(request, "personas/members.html", context, partial="members")


def _about(place: Tenant) -> dict[str, Any]:
    return {
        "section": "members",
        "tenant": place,
        "total": roster.people(place).count(),
        "activate": roster.who_can_activate(place),
        "services": roster.members(place, list(roster.service_accounts(place)[:200])),
        "holders": roster.persona_holders(place),
        "former": roster.former_members(place),
    }


@require_safe
def member(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """One account: its roles and what they mean, the personas it alone may do more with, and the way out."""
    place = seen_tenant(request, tenant)
    return _show(request, place, _find(place, pk))


def _find(place: Tenant, pk: UUID) -> User:
    """The account, or 404 for one that has nothing here: whether it exists elsewhere is not said."""
    found: User = get_object_or_404(roster.belonging(place), pk=pk)
    return found


def _show(request: HttpRequest, place: Tenant, user: User, fault: Refused | None = None) -> HttpResponse:
    actor = actor_of(request)
    this = roster.members(place, [user])[0]
    choices = PersonaField(actor, place, required=False)
    context = {
        "section": "members",
        "tenant": place,
        "member": this,
        "own": user == actor.account,
        "roles": [(role, role in this.roles, roster.MEANINGS[role], _can_hold(user, role)) for role in roster.ROLES],
        "holders": roster.persona_holders(place, user),
        "personas": choices.queryset,
        "rights": [(right, words) for right, words in roster.PERSONA_MEANINGS.items()
                   if not (user.is_service and right in PEOPLE_ONLY)],
        "run_by": roster.run_by(user, place),
        "last_admin": roster.is_last_admin(place, user),
        "can": {"manage": holds(actor, Right.MANAGE_MEMBERS, place)},
        "fault": fault,
    }  # fmt: skip
    return render_page(request, "personas/member.html", context, partial="member", status=status_of(fault))


def _can_hold(user: User, role: Role) -> bool:
    return not (user.is_service and ROLE_RIGHTS[role] & PEOPLE_ONLY)


@require_http_methods(["GET", "HEAD", "POST"])
def member_role(request: HttpRequest, tenant: str, pk: UUID, role: str) -> HttpResponse:
    """Give or take a role, after saying what it means."""
    place = seen_tenant(request, tenant)
    user = _find(place, pk)
    if user != actor_of(request).account:
        seen_tenant(request, tenant, Right.MANAGE_MEMBERS)
    if role not in roster.ROLES:
        raise Http404
    if request.method != "POST":
        return _confirm_role(request, place, user, Role(role))
    try:
        giving = values_of(RoleForm(request.POST))["do"] == "give"
        change = accounts.grant_role if giving else accounts.revoke_role
        change(place, user, Role(role), actor=actor_of(request))
    except Refused as fault:
        return _confirm_role(request, place, user, Role(role), fault)
    messages.success(request, f"{user} is {role} now." if giving else f"{user} is no longer {role}. It holds at once.")
    return _after(request, place, user)


def _confirm_role(
    request: HttpRequest, place: Tenant, user: User, role: Role, fault: Refused | None = None
) -> HttpResponse:
    held = role in roster.members(place, [user])[0].roles
    context = {
        "section": "members",
        "tenant": place,
        "person": user,
        "own": user == actor_of(request).account,
        "role": role,
        "held": held,
        "meaning": roster.MEANINGS[role],
        "last_admin": held and role is Role.ADMIN and roster.is_last_admin(place, user),
        "run_by": roster.run_by(user, place) if held else [],
        "fault": fault,
    }
    return render_page(request, "personas/member_role.html", context, partial="confirm", status=status_of(fault))


def _after(request: HttpRequest, place: Tenant, user: User) -> HttpResponse:
    """To the page of the account, or to the nearest page that the actor may still see."""
    actor = actor_of(request)
    if not holds(actor, Right.VIEW_TENANT, place):
        return see_other(request, reverse("home"))
    if not roster.belonging(place).filter(pk=user.pk).exists():
        return see_other(request, reverse("members", args=[place.slug]))
    return see_other(request, reverse("member", args=[place.slug, user.pk]))


@require_POST
def member_persona(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Give or take a right on one persona."""
    place = seen_tenant(request, tenant, Right.MANAGE_MEMBERS)
    user, actor = _find(place, pk), actor_of(request)
    try:
        values = values_of(PersonaRightForm(request.POST, actor, place))
        change = accounts.grant_persona_right if values["do"] == "give" else accounts.revoke_persona_right
        change(values["persona"], user, Right(values["right"]), actor=actor)
    except Refused as fault:
        return _show(request, place, user, fault)
    messages.success(request, f"Changed what {user} may do with “{values['persona'].name}”. It holds at once.")
    return _after(request, place, user)


@require_http_methods(["GET", "HEAD", "POST"])
def member_remove(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Remove a person, or leave oneself, after saying what ends and what stays."""
    place = seen_tenant(request, tenant)
    user, actor = _find(place, pk), actor_of(request)
    if user != actor.account:
        seen_tenant(request, tenant, Right.MANAGE_MEMBERS)
    if request.method != "POST":
        return _confirm_removal(request, place, user)
    name, own = str(user), user == actor.account
    try:
        remove_member(place, user, actor=actor)
    except Refused as fault:
        return _confirm_removal(request, place, user, fault)
    messages.success(request, f"You left {place}." if own else f"{name} is removed.")
    return see_other(request, reverse("home") if own else reverse("members", args=[tenant]))


def _confirm_removal(request: HttpRequest, place: Tenant, user: User, fault: Refused | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "section": "members",
        "tenant": place,
        "member": roster.members(place, [user])[0],
        "own": user == actor_of(request).account,
        "holders": roster.persona_holders(place, user),
        "run_by": roster.run_by(user, place),
        "last_admin": roster.is_last_admin(place, user),
        "fault": fault,
    }
    return render_page(request, "personas/member_remove.html", context, partial="confirm", status=status_of(fault))
