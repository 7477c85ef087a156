"""API tokens of a tenant: the list, a new one whose secret is shown once, and revoking."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from personas.domain.errors import Invalid, Refused
from personas.domain.rights import Right
from personas.http import actor_of, status_of
from personas.models import APIToken, Tenant
from personas.permissions import holds
from personas.services.tokens import WrongPassword, create_token, revoke_token
from personas.token_forms import SUGGESTED, TokenForm, accounts_for
from personas.token_reading import ShownOnce, listed, tokens_of
from personas.views.common import seen_tenant
from personas_site.htmx import render_page, see_other
from personas_site.login_limits import count_failure, is_locked_out, person_of

PAGE = 50


@require_safe
def token_list(request: HttpRequest, tenant: str) -> HttpResponse:
    """The tokens that may be used, or with ``?show=ended`` those that are over."""
    place = seen_tenant(request, tenant, Right.MANAGE_TOKENS)
    show = "ended" if request.GET.get("show") == "ended" else "current"
    page = Paginator(tokens_of(place, ended=show == "ended"), PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "tokens",
        "tenant": place,
        "show": show,
        "page": page,
        "tokens": listed(place, list(page.object_list)),
        "counts": {"current": tokens_of(place, ended=False).count(), "ended": tokens_of(place, ended=True).count()},
    }
    return render_page(request, "personas/tokens.html", context, partial="tokens")


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def token_create(request: HttpRequest, tenant: str) -> HttpResponse:
    """Make a token. The answer to the form shows its secret, and nothing else ever does."""
    place = seen_tenant(request, tenant, Right.MANAGE_TOKENS)
    if request.method != "POST":
        return _form(request, place, TokenForm(tenant=place, actor=actor_of(request)))
    form = TokenForm(request.POST, tenant=place, actor=actor_of(request))
    if request.POST.get("password") and is_locked_out(request, person_of(request)):
        return HttpResponse(status=429)  # the middleware of axes puts the page in its place
    try:
        token, secret = _create(form, place, request)
    except Refused as fault:
        if isinstance(fault, WrongPassword):
            count_failure(request, person_of(request))
        return _form(request, place, form, fault)
    context = {"section": "tokens", "tenant": place, "token": token, "secret": secret}
    response = render_page(request, "personas/token_made.html", context, partial="made")
    response["Cache-Control"] = "no-store"
    return response


@sensitive_variables("secret", "typed")
def _create(form: TokenForm, tenant: Tenant, request: HttpRequest) -> tuple[APIToken, ShownOnce]:
    if not form.is_valid():
        raise Invalid("Look at what is marked below.")
    typed = form.cleaned_data
    token, secret = create_token(
        tenant,
        typed["user"],
        name=typed["name"],
        may_review=typed["may_review"],
        actor=actor_of(request),
        expires_at=form.expires_at,
        password=typed["password"],
    )
    return token, ShownOnce(secret)


def _form(request: HttpRequest, tenant: Tenant, form: TokenForm, fault: Refused | None = None) -> HttpResponse:
    faults = {name: str(texts[0]) for name, texts in form.errors.items()}
    if fault is not None and fault.field:
        faults.setdefault(fault.field, fault.message)
    context: dict[str, Any] = {
        "section": "tokens",
        "tenant": tenant,
        "accounts": accounts_for(tenant, actor_of(request)),
        "ends": form.fields["expires"].choices,  # type: ignore[attr-defined]
        "typed": form.data if form.is_bound else {"expires": SUGGESTED, "user": str(request.user.pk)},
        "may_decide": holds(actor_of(request), Right.ACTIVATE_DIRECTIVE, tenant),
        "faults": faults,
        "fault": fault,
    }
    return render_page(request, "personas/token_new.html", context, partial="new", status=status_of(fault))


@require_http_methods(["GET", "HEAD", "POST"])
def token_revoke(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """End a token, after saying what stops working."""
    place = seen_tenant(request, tenant, Right.MANAGE_TOKENS)
    token: APIToken = get_object_or_404(place.tokens.select_related("tenant", "user", "created_by"), pk=pk)
    if request.method == "POST":
        revoke_token(token, actor=actor_of(request))
        messages.success(request, f"“{token.name}” is revoked: nothing is answered to it any more.")
        return see_other(request, reverse("tokens", args=[tenant]))
    context = {"section": "tokens", "tenant": place, "listed": listed(place, [token])[0]}
    return render_page(request, "personas/token_revoke.html", context, partial="revoke")
