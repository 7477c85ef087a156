"""One proposal: looking at it and deciding it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from learning import reading
from learning.forms import ApproveForm, MergeForm, NoteForm, RejectForm, first_error
from learning.models import DirectiveProposal
from learning.services import merging, review
from personas.domain.errors import Invalid, Refused
from personas.domain.rights import Right
from personas.http import actor_of, get_tenant, status_of
from personas.models import PersonaRevision
from personas.permissions import holds
from personas.reading import reach
from personas_site.htmx import render_page, render_part, see_other

TEMPLATE = "learning/proposal.html"


def get_proposal(request: HttpRequest, tenant: str, pk: UUID) -> DirectiveProposal:
    """The proposal, or 404 for who may not see it."""
    place = get_tenant(request, tenant)
    found: DirectiveProposal = get_object_or_404(reading.one(actor_of(request), place), pk=pk)
    return found


@require_safe
def proposal(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """What would change, side by side, and what approving needs."""
    return show(request, get_proposal(request, tenant, pk))


def show(
    request: HttpRequest,
    row: DirectiveProposal,
    *,
    fault: Refused | None = None,
    typed: str | None = None,
    note: str = "",
) -> HttpResponse:
    """The page, with a refusal in words and everything that was typed still there."""
    actor, seen = actor_of(request), reading.read(row)
    may_decide = row.is_pending and holds(actor, Right.ACTIVATE_DIRECTIVE, row.persona)
    context: dict[str, Any] = {
        "section": "review",
        "tenant": row.tenant,
        "proposal": row,
        "reading": seen,
        "standing": review.standing_of(row),
        "rules": review.rules_of(row),
        "needs": review.needs(row, actor),
        "decisions": row.decisions.order_by("created_at", "pk"),
        "reach": reach(row.persona),
        "around": reading.neighbours(row, actor),
        "can": {"decide": may_decide, "write": holds(actor, Right.CHANGE_PERSONA, row.persona)},
        "fault": fault,
        "typed": seen.text if typed is None else typed,
        "was_typed": typed is not None and typed != seen.text,
        "note": note,
    }
    return render_page(request, TEMPLATE, context, partial="proposal", status=status_of(fault))


@require_POST
def approve(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Approve as it stands, or with the edit in the form."""
    row, typed = get_proposal(request, tenant, pk), _typed(request)
    try:
        data = _clean(ApproveForm(request.POST))
        seen = _revision(row, data["expected_revision"])
        _refuse_unticked(row, typed, data["seen_invisible"])
        outcome = review.approve(
            row,
            actor=actor_of(request),
            expected_revision=seen,
            seen_sha256=data["seen_sha256"],
            instructions=typed,
            note=data["note"],
        )
    except Refused as fault:
        return _refuse(request, tenant, pk, fault, typed)
    return _next(request, outcome.proposal, _said(outcome))


def _clean(form: Any) -> dict[str, Any]:
    if not form.is_valid():
        field, message = first_error(form)
        raise Invalid(message, field=field)
    data: dict[str, Any] = form.cleaned_data
    return data


def _revision(row: DirectiveProposal, number: int) -> PersonaRevision:
    seen: PersonaRevision | None = row.persona.revisions.filter(number=number).first()
    if seen is None:
        raise Invalid(f"This persona has no revision {number}. Load the page again.", field="expected_revision")
    return seen


def _typed(request: HttpRequest) -> str | None:
    """The text in the editor, None where the form has no editor. An emptied editor is an empty text."""
    text = request.POST.get("instructions")
    return None if text is None else text.replace("\r\n", "\n")


def _refuse_unticked(row: DirectiveProposal, typed: str | None, ticked: bool) -> None:
    """Hidden characters that an agent was not served yet have to be ticked as seen, an edit's as well."""
    found = reading.hidden(row, review.text_to_decide(row) if typed is None else typed)
    if found and not ticked:
        names = ", ".join(dict.fromkeys(f"{new.ghost.label} in line {new.line}" for new in found[:5]))
        raise Invalid(f"This text has characters you cannot see: {names}. Tick that you have seen them.", field="seen")


def _said(outcome: review.Outcome) -> str:
    name = outcome.proposal.persona.name
    if outcome.revision is not None:
        return f"Approved: “{name}” serves revision {outcome.revision.number} now."
    if outcome.standing.missing:
        return f"Your approval of “{name}” counts. {outcome.standing.missing} more needed."
    return f"Your edit of “{name}” is kept. Somebody who wrote none of it has to approve it now."


def _refuse(request: HttpRequest, tenant: str, pk: UUID, fault: Refused, typed: str | None) -> HttpResponse:
    """The page as it is now, with what was refused: 403, 409 or 422. What the person typed stays in the editor."""
    row = get_proposal(request, tenant, pk)
    return show(request, row, fault=fault, typed=typed, note=request.POST.get("note", ""))


def _next(request: HttpRequest, row: DirectiveProposal, said: str) -> HttpResponse:
    """After a decision: the next one that waits, or the end of the queue."""
    messages.success(request, said)
    around = reading.neighbours(row, actor_of(request))
    following = around.next or around.previous
    if following is not None and following.pk != row.pk:
        return see_other(request, reverse("proposal", args=[row.tenant.slug, following.pk]))
    return see_other(request, reverse("queue", args=[row.tenant.slug]))


@require_POST
def reject(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Reject for good, with a note the author sees."""
    row = get_proposal(request, tenant, pk)
    try:
        data = _clean(RejectForm(request.POST))
        rejected = review.reject(row, actor=actor_of(request), note=data["note"], seen_sha256=data["seen_sha256"])
    except Refused as fault:
        return _refuse(request, tenant, pk, fault, None)
    return _next(request, rejected, f"Rejected: “{row.persona.name}” stays as it is.")


@require_POST
def comment(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Say something without deciding."""
    row = get_proposal(request, tenant, pk)
    try:
        data = _clean(NoteForm(request.POST))
        review.comment(row, actor=actor_of(request), note=data["note"])
    except Refused as fault:
        return _refuse(request, tenant, pk, fault, None)
    return redirect(reverse("proposal", args=[tenant, pk]) + "#until-now")


@require_POST
def merge(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Replace a stale proposal by one written against the live revision, which then can be looked at and approved."""
    row = get_proposal(request, tenant, pk)
    try:
        data = _clean(MergeForm(request.POST))
        merged = merging.merge_onto_live(
            row,
            actor=actor_of(request),
            instructions=data["instructions"],
            expected_revision=_revision(row, data["expected_revision"]),
        )
    except Refused as fault:
        return _refuse(request, tenant, pk, fault, request.POST.get("instructions"))
    messages.success(request, "Merged onto the live text. Look at it once more before you approve it.")
    return see_other(request, reverse("proposal", args=[tenant, merged.pk]))


@require_POST
def preview(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """The comparison with the text in the editor, while it is typed."""
    row = get_proposal(request, tenant, pk)
    context = {"proposal": row, "reading": reading.read(row, text=_typed(request) or "")}
    return render_part(request, TEMPLATE, context, partial="comparison")
