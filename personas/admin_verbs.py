"""What staff may change in the admin: a form, a look at what it changes, and one service that does it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from django import forms
from django.contrib import messages
from django.db import models
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from personas.actors import Actor
from personas.domain.errors import NotPermitted, Refused
from personas.http import actor_of, status_of


def writes[F: Callable[..., Any]](view: F) -> F:
    """Mark a view of the admin as one that answers to more than looking."""
    view.writes = True  # type: ignore[attr-defined]
    return view


def superusers_only(actor: Actor, row: models.Model | None) -> bool:
    return actor.account.is_superuser


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing to do to a row, or beside the table.

    ``run`` gets the row, the values of the form whose fields the person changed, and the actor; it calls the service
    and returns the row to show next. ``initial`` gives the values as they are. ``allowed`` decides who is offered the
    verb; the service decides who may do it.
    """

    name: str
    title: str
    form: type[forms.Form]
    run: Callable[[Any, dict[str, Any], Actor], models.Model]
    initial: Callable[[Any], dict[str, Any]]
    allowed: Callable[[Actor, Any], bool] = superusers_only
    on_row: bool = True
    about: str = ""


class Host(Protocol):
    """What a page of verbs needs of the admin page it belongs to."""

    opts: Any
    admin_site: Any

    def address(self, name: str, *args: Any) -> str: ...


def verb_page(request: HttpRequest, verb: Verb, row: models.Model | None, host: Host) -> HttpResponse:
    """Ask, show what would change, do it. Raises `NotPermitted` for who is not offered the verb."""
    actor = actor_of(request)
    if not verb.allowed(actor, row):
        raise NotPermitted(f"You may not do this: {verb.title.lower()}.", target=row)
    form = verb.form(request.POST or None, initial=verb.initial(row), label_suffix="")
    status, changes, fault = 200, None, None
    if request.method == "POST" and form.is_valid():
        changes = changes_of(form)
        if not changes:
            messages.warning(request, "Nothing was changed.")
        elif "sure" in request.POST:
            try:
                done = verb.run(row, {name: form.cleaned_data[name] for name in form.changed_data}, actor)
            except Refused as refusal:
                messages.error(request, refusal.message)
                status, changes, fault = status_of(refusal), None, refusal
            else:
                messages.success(request, f"Done: {verb.title.lower()}.")
                return HttpResponseRedirect(host.address("change", done.pk))
    elif request.method == "POST":
        status = 422
    context = {
        **host.admin_site.each_context(request),
        "title": verb.title,
        "subtitle": str(row) if row is not None else None,
        "opts": host.opts,
        "page": host,
        "original": row,
        "verb": verb,
        "form": form,
        "changes": changes,
        "fault": fault,  # by which one that was not permitted gets into the audit
        "hidden": as_hidden(form) if changes else "",
        "back": host.address("change", row.pk) if row is not None else host.address("changelist"),
    }
    return TemplateResponse(request, "admin/verb.html", context, status=status)


def changes_of(form: forms.Form) -> list[tuple[str, str, str]]:
    """Label, value before and value after, of each field that was changed."""
    found = []
    for name in form.changed_data:
        bound = form[name]
        found.append((str(bound.label), words(bound, bound.initial), words(bound, form.cleaned_data[name])))
    return found


def words(bound: BoundField, value: Any) -> str:
    """A value of a field as a person reads it."""
    if isinstance(bound.field, forms.BooleanField):
        return "yes" if value else "no"
    if isinstance(bound.field, forms.MultipleChoiceField):
        names = {str(key): str(label) for key, label in list(bound.field.choices)}  # type: ignore[arg-type]
        return ", ".join(names.get(str(key), str(key)) for key in value or ()) or "none"
    return str(value) if value not in (None, "") else "none"


def as_hidden(form: forms.Form) -> SafeString:
    """The form as it was sent, to be sent once more. What a field held when the person first saw it goes along, so that
    only what the person changed counts as changed."""
    return format_html_join("", "{}{}", ((bound.as_hidden(), bound.as_hidden(only_initial=True)) for bound in form))
