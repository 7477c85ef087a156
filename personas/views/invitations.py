"""Invitations: sent by an admin, opened from a mail by anybody, accepted once."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.mail import send_mail
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from personas import roster
from personas.domain.errors import Conflict, Refused
from personas.domain.rights import Right, Role
from personas.forms.members import InviteForm, JoinForm, right_of, values_of
from personas.http import actor_of, status_of
from personas.models import Invitation, Tenant
from personas.services.invitations import (
    LIFETIME,
    Gone,
    accept_invitation,
    find_invitation,
    invite_member,
    join_by_invitation,
    revoke_invitation,
)
from personas.services.tokens import token_digest
from personas.views.common import seen_tenant
from personas_site.htmx import render_page, see_other
from personas_site.login_proof import open_without_second_factor

OPENED = "invitation"  # in the session: the digest of the secret that somebody opened the link of


@require_http_methods(["GET", "HEAD", "POST"])
def invite(request: HttpRequest, tenant: str) -> HttpResponse:
    """Offer roles, or one persona, to an e-mail address."""
    place, actor = seen_tenant(request, tenant, Right.MANAGE_MEMBERS), actor_of(request)
    if request.method != "POST":
        return _invite_form(request, place)
    try:
        values = values_of(InviteForm(request.POST, actor, place))
        with transaction.atomic():  # who was not sent a mail was not invited
            made, secret = invite_member(
                place,
                values["email"],
                roles=[Role(role) for role in values["roles"]],
                persona=values["persona"],
                persona_right=right_of(values["persona_right"]) if values["persona"] else None,
                actor=actor,
            )
            _send(request, made, secret)
    except Refused as fault:
        return _invite_form(request, place, fault)
    messages.success(request, f"Invited {made.email}. The link works once, for {LIFETIME.days} days.")
    return see_other(request, reverse("members", args=[tenant]))


def _send(request: HttpRequest, invitation: Invitation, secret: str) -> None:
    link = request.build_absolute_uri(reverse("invitation_link", args=[secret]))
    context = {"invitation": invitation, "link": link, "days": LIFETIME.days, "offer": _offer(invitation)}
    subject = f"{invitation.invited_by_name} invites you to {invitation.tenant.name}"
    try:
        send_mail(subject, render_to_string("accounts/invitation_mail.txt", context), None, [invitation.email])
    except OSError as error:  # which smtplib's own errors are
        raise Conflict(
            "The mail could not be sent, so nobody was invited. Try again later, or tell whoever runs this server.",
            field="email",
        ) from error


def _invite_form(request: HttpRequest, place: Tenant, fault: Refused | None = None) -> HttpResponse:
    form = InviteForm(None, actor_of(request), place)
    context: dict[str, Any] = {
        "section": "members",
        "tenant": place,
        "roles": [(role, roster.MEANINGS[role]) for role in roster.ROLES],
        "rights": list(roster.PERSONA_MEANINGS.items()),
        "personas": form["persona"].field.queryset,  # type: ignore[attr-defined]
        "typed": request.POST,
        "chosen": request.POST.getlist("roles"),
        "days": LIFETIME.days,
        "fault": fault,
    }
    return render_page(request, "personas/members_invite.html", context, partial="form", status=status_of(fault))


@require_POST
def invitation_revoke(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """End an invitation that nobody accepted yet."""
    place, actor = seen_tenant(request, tenant, Right.MANAGE_MEMBERS), actor_of(request)
    invitation = get_object_or_404(Invitation.objects.permitted(actor).filter(tenant=place), pk=pk)
    revoke_invitation(invitation, actor=actor)
    messages.success(request, f"The invitation of {invitation.email} does not work any more.")
    return see_other(request, reverse("members", args=[tenant]))


@open_without_second_factor  # it only takes the secret out of the address, which the next page then asks a code for
@login_not_required
@never_cache
@require_safe
def invitation_link(request: HttpRequest, secret: str) -> HttpResponse:
    """The link of the mail. It leads on at once, so that its secret stands in no page, log or address after that."""
    found = find_invitation(token_digest(secret))
    if found is not None:
        request.session[OPENED] = found.digest
    elif OPENED in request.session:
        del request.session[OPENED]
    return HttpResponseRedirect(reverse("invitation"))


@login_not_required
@sensitive_post_parameters("new_password1", "new_password2")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest) -> HttpResponse:
    """Who invites to what, and the way to accept that fits: a button, a log-in, or a form for a new account."""
    found = find_invitation(request.session.get(OPENED, ""))
    if found is None:
        return _gone(request)
    if request.method != "POST":
        return _offered(request, found)
    try:
        if request.POST.get("invitation") != str(found.pk):
            raise Conflict("Another invitation was opened meanwhile. This is the one: look at it first.")
        return _accept(request, found) if request.user.is_authenticated else _join(request, found)
    except Gone:
        return _gone(request)
    except Refused as fault:
        return _offered(request, found, fault)


def _accept(request: HttpRequest, found: Invitation) -> HttpResponse:
    accept_invitation(found, actor=actor_of(request))
    del request.session[OPENED]
    messages.success(request, f"Welcome to {found.tenant}.")
    return HttpResponseRedirect(_entrance(found))


def _join(request: HttpRequest, found: Invitation) -> HttpResponse:
    values = values_of(JoinForm(request.POST))
    join_by_invitation(
        found,
        username=values["username"],
        name=values["name"],
        password=values["new_password1"],
        request_id=actor_of(request).request_id,
    )
    del request.session[OPENED]
    messages.success(request, "Your account is there. Log in with it.")
    return HttpResponseRedirect(f"{reverse('login')}?{urlencode({'next': _entrance(found)})}")


def _entrance(found: Invitation) -> str:
    """The first page of what was offered."""
    if found.roles:
        return reverse("tenant", args=[found.tenant.slug])
    return reverse("persona", args=[found.tenant.slug, found.persona_id])


def _offered(request: HttpRequest, found: Invitation, fault: Refused | None = None) -> HttpResponse:
    account = roster.account_with(found.email)
    here = request.user if request.user.is_authenticated else None
    context = {
        "invitation": found,
        "offer": _offer(found),
        "account": account,
        "matches": here is not None and here == account,
        "here": here,
        "typed": request.POST,
        "fault": fault,
    }
    return TemplateResponse(request, "accounts/invitation.html", context, status=status_of(fault))


def _offer(found: Invitation) -> list[tuple[str, str]]:
    """What is offered and what it means, in words."""
    offer = [(role.value, roster.MEANINGS[role]) for role in found.role_list]
    if found.persona is not None:
        offer.append((found.persona.name, roster.PERSONA_MEANINGS[Right(found.persona_right)]))
    return offer


def _gone(request: HttpRequest) -> HttpResponse:
    return TemplateResponse(request, "accounts/invitation_gone.html", {"fault": Gone()}, status=410)
