"""Changing a persona from its page: proposing a text, stopping or starting it, going back."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from learning import reading
from learning.domain.diff import compare
from learning.domain.marks import NewGhost, count_new
from learning.forms import ProposeForm, ReasonForm, first_error
from learning.models import DirectiveProposal
from learning.services.proposals import change_back, change_state, propose
from personas.domain.errors import Invalid, Refused
from personas.domain.rights import Right
from personas.http import actor_of, get_tenant, status_of
from personas.models import AgentPersona, PersonaRevision
from personas.permissions import holds, require
from personas.reading import reach
from personas.services.personas import restore_persona, set_locked
from personas_site.htmx import render_page, render_part, see_other

Action = DirectiveProposal.Action
# Nothing that is served changes, so nobody is asked first.
AT_ONCE: dict[str, tuple[Callable[..., Any], str]] = {
    "restore": (restore_persona, "“{}” is back, as a draft."),
    "lock": (partial(set_locked, locked=True), "“{}” is locked: no directive can be activated."),
    "unlock": (partial(set_locked, locked=False), "“{}” is unlocked."),
}
STATES = {"enable": Action.ENABLE, "disable": Action.DISABLE, "archive": Action.ARCHIVE}


def get_persona(request: HttpRequest, tenant: str, pk: UUID) -> AgentPersona:
    """The persona, or 404 for who may not see it."""
    place = get_tenant(request, tenant)
    rows = AgentPersona.objects.permitted(actor_of(request)).filter(tenant=place)
    related = rows.select_related("tenant", "agent_class__manifest", "live_revision", "run_as")
    found: AgentPersona = get_object_or_404(related, pk=pk)
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def propose_change(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """An editor over the live text; what it sends becomes a proposal."""
    persona = get_persona(request, tenant, pk)
    require(actor_of(request), Right.CHANGE_PERSONA, persona)
    if request.method != "POST":
        return _editor(request, persona, {})
    form = ProposeForm(request.POST)
    try:
        if not form.is_valid():
            field, message = first_error(form)
            raise Invalid(message, field=field)
        made = propose(
            persona,
            actor=actor_of(request),
            instructions=form.cleaned_data["instructions"],
            rationale=form.cleaned_data["note"],
            base=_base(persona, form.cleaned_data["base_revision"]),
        )
    except Refused as fault:
        return _editor(request, persona, request.POST, fault)
    messages.success(request, "Proposed. It waits in the queue until somebody who may activate directives has read it.")
    return see_other(request, reverse("proposal", args=[tenant, made.pk]))


def _base(persona: AgentPersona, number: int) -> PersonaRevision:
    found: PersonaRevision | None = persona.revisions.filter(number=number).first()
    if found is None:
        raise Invalid(f"This persona has no revision {number}. Load the page again.", field="base_revision")
    return found


def _editor(request: HttpRequest, persona: AgentPersona, typed: Any, fault: Refused | None = None) -> HttpResponse:
    live = persona.live_revision
    assert live is not None
    text = typed.get("instructions", live.instructions).replace("\r\n", "\n")
    comparison = compare(live.instructions, text)
    context = {
        "section": "personas",
        "tenant": persona.tenant,
        "persona": persona,
        "live": live,
        "typed": text,
        "note": typed.get("note", ""),
        "base": typed.get("base_revision", live.number),
        "comparison": comparison,
        "cells": reading.cells(comparison),
        "fault": fault,
    }
    status = status_of(fault)
    return render_page(request, "learning/propose.html", context, partial="editor", status=status)


@require_POST
def propose_preview(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """The comparison of the text in the editor with the live one, while it is typed."""
    persona = get_persona(request, tenant, pk)
    text = request.POST.get("instructions", "").replace("\r\n", "\n")
    live = persona.live_revision
    comparison = compare(live.instructions if live else "", text)
    context = {"persona": persona, "live": live, "comparison": comparison, "cells": reading.cells(comparison)}
    return render_part(request, "learning/propose.html", context, partial="comparison")


@require_http_methods(["GET", "HEAD", "POST"])
def change_persona_state(request: HttpRequest, tenant: str, pk: UUID, action: str) -> HttpResponse:
    """Enable, disable or archive, after saying what that means. Without the right it becomes a proposal."""
    persona = get_persona(request, tenant, pk)
    require(actor_of(request), Right.CHANGE_PERSONA, persona)
    if action in AT_ONCE:
        return _change_at_once(request, persona, action)
    if action not in STATES:
        raise Http404
    if request.method != "POST":
        return _confirm(request, persona, action)
    try:
        seen, note = _confirmed(request, persona, persona.live_revision if action == "enable" else None)
        made = change_state(persona, STATES[action], actor=actor_of(request), reason=note, expected_revision=seen)
    except Refused as fault:
        return _confirm(request, persona, action, fault)
    if made is not None:
        messages.success(request, "Proposed: it happens when somebody who may activate directives approves it.")
        return see_other(request, reverse("proposal", args=[tenant, made.pk]))
    done = {"enable": "enabled", "disable": "disabled", "archive": "archived"}[action]
    messages.success(request, f"“{persona.name}” is {done}.")
    return see_other(request, reverse("persona", args=[tenant, pk]))


@require_http_methods(["GET", "HEAD", "POST"])
def roll_back(request: HttpRequest, tenant: str, pk: UUID, number: int) -> HttpResponse:
    """Serve an earlier revision again, after looking at what that changes. Without the right it is proposed."""
    persona = get_persona(request, tenant, pk)
    require(actor_of(request), Right.CHANGE_PERSONA, persona)
    revision = get_object_or_404(persona.revisions, number=number)
    if request.method != "POST":
        return _confirm(request, persona, "roll-back", revision=revision)
    try:
        seen, note = _confirmed(request, persona, revision)
        made = change_back(persona, to=revision, actor=actor_of(request), reason=note, expected_revision=seen)
    except Refused as fault:
        return _confirm(request, persona, "roll-back", fault, revision=revision)
    if isinstance(made, DirectiveProposal):
        messages.success(request, "Proposed: it goes back when somebody who may activate directives approves it.")
        return see_other(request, reverse("proposal", args=[tenant, made.pk]))
    messages.success(request, f"“{persona.name}” serves what revision {number} said, as revision {made.number}.")
    return see_other(request, reverse("persona", args=[tenant, pk]))


def _change_at_once(request: HttpRequest, persona: AgentPersona, action: str) -> HttpResponse:
    back = see_other(request, reverse("persona", args=[persona.tenant.slug, persona.pk]))
    if request.method != "POST":
        return back
    verb, said = AT_ONCE[action]
    verb(persona, actor=actor_of(request))
    messages.success(request, said.format(persona.name))
    return back


def _confirmed(
    request: HttpRequest, persona: AgentPersona, text: PersonaRevision | None
) -> tuple[PersonaRevision, str]:
    """The revision the person looked at, and why. Hidden characters that ``text`` would newly serve need a tick."""
    form = ReasonForm(request.POST)
    if not form.is_valid():
        field, message = first_error(form)
        raise Invalid(message, field=field)
    if text is not None and _hidden(persona, text) and not form.cleaned_data["seen_invisible"]:
        raise Invalid("This text has characters you cannot see: tick that you have seen them.", field="seen")
    return _base(persona, form.cleaned_data["expected_revision"]), form.cleaned_data["note"]


def _hidden(persona: AgentPersona, text: PersonaRevision) -> list[NewGhost]:
    return count_new(reading.last_served(persona), text.instructions)


def _confirm(
    request: HttpRequest,
    persona: AgentPersona,
    action: str,
    fault: Refused | None = None,
    revision: PersonaRevision | None = None,
) -> HttpResponse:
    live = persona.live_revision
    assert live is not None
    context = {
        "section": "personas",
        "tenant": persona.tenant,
        "persona": persona,
        "live": live,
        "action": action,
        "revision": revision,
        "comparison": compare(live.instructions, revision.instructions) if revision else None,
        "settings": reading.setting_changes(live.settings, revision.settings) if revision else [],
        "reach": reach(persona),
        "ghosts": _hidden(persona, revision or live) if action in ("enable", "roll-back") else [],
        "direct": holds(actor_of(request), Right.ACTIVATE_DIRECTIVE, persona),
        "note": request.POST.get("note", ""),
        "fault": fault,
    }
    status = status_of(fault)
    return render_page(request, "learning/confirm.html", context, partial="confirm", status=status)


@require_safe
def revision(request: HttpRequest, tenant: str, pk: UUID, number: int) -> HttpResponse:
    """One revision, compared with the one before it or with any other (``?with=``)."""
    persona = get_persona(request, tenant, pk)
    this = get_object_or_404(persona.revisions, number=number)
    other = request.GET.get("with", "")
    older = persona.revisions.filter(number=int(other) if other.isdecimal() and len(other) < 9 else number - 1).first()
    comparison = compare(older.instructions if older else "", this.instructions)
    context = {
        "section": "personas",
        "tenant": persona.tenant,
        "persona": persona,
        "revision": this,
        "older": older,
        "numbers": persona.revisions.order_by("-number").values_list("number", flat=True)[:200],
        "comparison": comparison,
        "cells": reading.cells(comparison),
        "settings": reading.setting_changes(older.settings if older else {}, this.settings),
        "activations": this.activations.order_by("created_at"),
        "can": {"write": holds(actor_of(request), Right.CHANGE_PERSONA, persona)},
    }
    return render_page(request, "learning/revision.html", context, partial="revision")
