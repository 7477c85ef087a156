"""The settings of a tenant: its name, and the rules of its reviews, with what a change of them would mean."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from learning.domain.review import Rules, stricter
from learning.models import DirectiveProposal
from personas.domain.errors import Invalid, Refused
from personas.domain.rights import Right
from personas.forms.members import RulesForm, TenantNameForm, values_of
from personas.http import actor_of, status_of
from personas.models import RuleChangeRequest, Tenant
from personas.models.tenants import MAX_APPROVALS
from personas.roster import who_can_activate
from personas.services.tenants import (
    ask_to_lower_rules,
    confirm_rule_change,
    decline_rule_change,
    lowers,
    may_lower_alone,
    rename_tenant,
    set_review_rules,
)
from personas.views.common import seen_tenant
from personas_site.htmx import render_page, see_other


@dataclass(frozen=True, slots=True)
class Effect:
    """What other rules would mean: how many of the pending proposals would need more or less than now, and how many
    people there are to approve any."""

    more: int
    less: int
    pending: int
    people: int

    @property
    def same(self) -> int:
        return self.pending - self.more - self.less


def effect_of(tenant: Tenant, wanted: Rules) -> Effect:
    """Count the pending proposals of a tenant that other rules would concern. Each is judged by the stricter of the
    rules it was made under and those of its tenant."""
    rules = Rules(tenant.require_second_person, tenant.required_approvals)
    rows = DirectiveProposal.objects.pending().filter(tenant=tenant).order_by()
    more = less = pending = 0
    made_under = rows.values_list("require_second_person", "required_approvals").annotate(n=Count("pk"))
    for second_person, approvals, count in made_under:
        made = Rules(second_person, approvals)
        now, then = stricter(made, rules), stricter(made, wanted)
        pending += count
        more += count if stricter(now, then) != now else 0
        less += count if stricter(now, then) == now != then else 0
    return Effect(more, less, pending, who_can_activate(tenant))


@require_safe
def tenant_settings(request: HttpRequest, tenant: str) -> HttpResponse:
    """The name of the tenant and the rules of its reviews."""
    return _settings(request, seen_tenant(request, tenant, Right.CHANGE_TENANT))


def _settings(request: HttpRequest, place: Tenant, fault: Refused | None = None) -> HttpResponse:
    actor = actor_of(request)
    requests = RuleChangeRequest.objects.permitted(actor).filter(tenant=place)
    waiting = requests.pending().first()
    context: dict[str, Any] = {
        "section": "settings",
        "tenant": place,
        "typed": request.POST,
        "numbers": range(1, MAX_APPROVALS + 1),
        "activate": who_can_activate(place),
        "waiting": waiting,
        "waiting_effect": effect_of(place, Rules(waiting.require_second_person, waiting.required_approvals))
        if waiting
        else None,
        "own": waiting is not None and waiting.asked_by_id == actor.account.pk,
        "decided": requests.exclude(status="pending").order_by("-decided_at", "-pk")[:5],
        "fault": fault,
    }
    return render_page(request, "personas/settings.html", context, partial="settings", status=status_of(fault))


@require_POST
def tenant_name(request: HttpRequest, tenant: str) -> HttpResponse:
    """Change the name that people read."""
    place = seen_tenant(request, tenant, Right.CHANGE_TENANT)
    try:
        name = values_of(TenantNameForm(request.POST))["name"]
        rename_tenant(place, name=name, actor=actor_of(request))
    except Refused as fault:
        return _settings(request, place, fault)
    messages.success(request, "The name is changed. The address stays as it is.")
    return see_other(request, reverse("tenant_settings", args=[tenant]))


@require_http_methods(["GET", "HEAD", "POST"])
def review_rules(request: HttpRequest, tenant: str) -> HttpResponse:
    """Show what other rules would mean (GET), then set them, or ask another admin to confirm that they are lowered."""
    place, actor = seen_tenant(request, tenant, Right.CHANGE_TENANT), actor_of(request)
    try:
        values = values_of(RulesForm(request.POST if request.method == "POST" else request.GET))
        reason = values.pop("reason")
        asks = lowers(place, **values) and not may_lower_alone(actor)
        wanted = Rules(values["require_second_person"], values["required_approvals"])
        if wanted == Rules(place.require_second_person, place.required_approvals):
            raise Invalid("These are the rules already.", field="required_approvals")
    except Refused as fault:
        return _settings(request, place, fault)
    if request.method != "POST":
        return _rules(request, place, wanted, asks)
    try:
        if asks:
            ask_to_lower_rules(place, **values, actor=actor, reason=reason)
        else:
            set_review_rules(place, **values, actor=actor)
    except Refused as fault:
        return _rules(request, place, wanted, asks, fault)
    done = (
        "Asked. It holds once another admin has confirmed it." if asks else "The rules are changed. They hold at once."
    )
    messages.success(request, done)
    return see_other(request, reverse("tenant_settings", args=[tenant]))


def _rules(
    request: HttpRequest, place: Tenant, wanted: Rules, asks: bool, fault: Refused | None = None
) -> HttpResponse:
    context = {
        "section": "settings",
        "tenant": place,
        "wanted": wanted,
        "asks": asks,
        "effect": effect_of(place, wanted),
        "reason": request.POST.get("reason", ""),
        "fault": fault,
    }
    return render_page(request, "personas/settings_rules.html", context, partial="confirm", status=status_of(fault))


@require_POST
def rule_request(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Confirm what another admin asked for, or close the request."""
    place, actor = seen_tenant(request, tenant, Right.CHANGE_TENANT), actor_of(request)
    asked = get_object_or_404(RuleChangeRequest.objects.permitted(actor).filter(tenant=place), pk=pk)
    confirming = request.POST.get("do") == "confirm"
    try:
        if confirming:
            confirm_rule_change(asked, actor=actor)
        else:
            decline_rule_change(asked, actor=actor)
    except Refused as fault:
        return _settings(request, place, fault)
    messages.success(request, "The rules are lowered. They hold at once." if confirming else "The request is closed.")
    return see_other(request, reverse("tenant_settings", args=[tenant]))
