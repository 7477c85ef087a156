"""What every page of the staff admin is built on: rows to look at, and verbs that call a service.

Nothing is written here. A page shows the rows its reader may see, every field as text, and links to where things are
changed; what staff may change themselves is a `Verb`, which runs the service every other door runs.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import quote, unquote
from django.db import models
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator, capfirst

from personas.actors import Actor
from personas.admin_verbs import Verb, verb_page, writes
from personas.domain.rights import Right
from personas.http import actor_of
from personas.models import AgentPersona, AuditEntry, Tenant
from personas_site.templatetags.look import when

Column = Callable[[Any], Any]
# A list of tenants or classes beside a table helps as long as it can be looked over.
MOST_CHOICES = 40


def page_for(site: admin.AdminSite, model: Any) -> Any:
    """The page of a model on a site, or None."""
    return site._registry.get(model)


def row_link(row: models.Model) -> SafeString:
    """A link to the page of one row in the admin."""
    meta = row._meta
    return format_html(
        '<a href="{}">{}</a>', reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[quote(row.pk)]), row
    )


def column(field: Any) -> str | Column:
    """How a column of a model is shown: its name, or a function of the row that draws it better."""

    def moment(row: models.Model) -> Any:
        value = getattr(row, field.attname)
        return when(value, short=True) if value else "none"

    def text(row: models.Model) -> SafeString:
        value = getattr(row, field.attname)
        if isinstance(field, models.JSONField):
            value = json.dumps(value, ensure_ascii=False, indent=2) if value not in (None, {}, []) else ""
        long = not isinstance(field, models.CharField)
        return SafeString(
            render_to_string("admin/text.html", {"text": value or "", "long": long, "label": field.verbose_name})
        )

    if isinstance(field, models.DateTimeField):
        draw: Column = moment
    elif isinstance(field, (models.TextField, models.JSONField, models.CharField)) and not field.choices:
        draw = text
    else:
        return str(field.name)
    draw.__name__ = field.name  # the name of the class in the markup, and where the help text is looked up
    return admin.display(draw, description=field.verbose_name, ordering=field.name)


def beginning(field: Any) -> Column:
    """The first words of a long text, for a table."""

    def text(row: models.Model) -> str:
        return Truncator(getattr(row, field.attname) or "").chars(90)

    text.__name__ = field.name
    return admin.display(text, description=field.verbose_name, ordering=field.name)


class LimitedFilter(admin.RelatedFieldListFilter):
    """A filter by a related row, of those alone that the reader may see."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[Any]:
        target = field.remote_field.model
        page = page_for(model_admin.admin_site, target)
        rows = page.get_queryset(request).order_by(*self.field_admin_ordering(field, request, model_admin) or ("pk",))
        found = [(row.pk, str(row)) for row in rows[: MOST_CHOICES + 1]]
        return found if len(found) <= MOST_CHOICES else []


class StaffAdmin(admin.ModelAdmin):
    """A table and a page for each row, to read.

    Superusers see every row. Staff see what `permitted()` gives them, as on every other page. Where a model has none,
    ``tenant_path`` (with ``right``) or ``persona_path`` says how a row reaches its tenant or persona, and ``everybody``
    that it belongs to none. A page that says nothing of that is for superusers alone.
    """

    tenant_path: ClassVar[str] = ""
    persona_path: ClassVar[str] = ""
    right: ClassVar[Right] = Right.VIEW_TENANT
    everybody: ClassVar[bool] = False
    secret: ClassVar[tuple[str, ...]] = ()  # columns that are neither shown nor searched
    facts: ClassVar[tuple[str, ...]] = ()  # methods shown below the columns
    called: ClassVar[tuple[str, str] | None] = None  # what one row and many rows are called, if not as the model
    verbs: ClassVar[tuple[Verb, ...]] = ()

    actions = None
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def __init__(self, model: type[models.Model], site: admin.AdminSite) -> None:
        super().__init__(model, site)
        self.drawn = {field.name: column(field) for field in model._meta.concrete_fields}
        one, many = self.called or (self.opts.verbose_name, self.opts.verbose_name_plural)
        self.one, self.many = str(one), str(many)

    # Which rows

    def permitted(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The rows a member of staff may see. Superusers are not asked."""
        if self.everybody:
            return rows
        if hasattr(rows, "permitted"):
            return rows.permitted(actor)
        if self.persona_path:
            return rows.filter(**{f"{self.persona_path}__in": AgentPersona.objects.permitted(actor).values("pk")})
        if self.tenant_path:
            tenants = Tenant.objects.permitted(actor, self.right).values("pk")
            return rows.filter(**{f"{self.tenant_path}__in": tenants})
        return rows.none()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows, actor = super().get_queryset(request), actor_of(request)
        return rows if actor.account.is_superuser else self.permitted(rows, actor)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row; what is hidden is answered as what does not exist."""
        row = super().get_object(request, object_id, from_field)
        if row is None:
            raise Http404
        return row

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        shown = {field.name for field in self.opts.concrete_fields} - set(self.secret)
        return lookup.split("__")[0] in shown and super().lookup_allowed(lookup, value, request)

    # Who may do what: look

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    # What is shown

    def page_of(self, row: Any) -> str | None:
        """The address of the page on which the row is worked with, if there is one."""
        return None

    def view_on_site(self, obj: Any) -> str | None:
        return self.page_of(obj)

    @admin.display(description="page")
    def open(self, row: Any) -> str:
        """A column with the link to the page."""
        address = self.page_of(row)
        return format_html('<a href="{}" aria-label="Open {}">Open</a>', address, row) if address else ""

    @admin.display(description="related")
    def related_rows(self, row: Any) -> SafeString:
        """Links to the tables of what points to the row; by which column, where there are two."""
        found = ((each.field, page_for(self.admin_site, each.related_model)) for each in self.opts.related_objects)
        paged = [(field, page) for field, page in found if page]
        pages = [page for _, page in paged]
        links = (
            (
                page.address("changelist"),
                field.name,
                field.target_field.name,
                row.pk,
                page.many if pages.count(page) == 1 else f"{page.many} (by {field.verbose_name})",
            )
            for field, page in paged
        )
        return format_html_join(", ", '<a href="{}?{}__{}__exact={}">{}</a>', links)

    def address(self, name: str, *args: Any) -> str:
        """The address of one of this model's pages in the admin."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=[quote(arg) for arg in args])

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        shown = [self._listed(name) for name in self.list_display]
        return [*shown, "open"] if type(self).page_of is not StaffAdmin.page_of else shown

    def _listed(self, name: Any) -> Any:
        """A moment is drawn as everywhere, a long text as its beginning."""
        field = next((field for field in self.opts.concrete_fields if field.name == name), None)
        if isinstance(field, models.TextField):
            return beginning(field)
        return self.drawn[name] if isinstance(field, models.DateTimeField) else name

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        columns = [self.drawn[field.name] for field in self.opts.concrete_fields if field.name not in self.secret]
        return [*columns, *self.facts, *(("related_rows",) if self.opts.related_objects else ())]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> None:
        """No field is ever a field of a form."""

    # Pages

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        guard = self.admin_site.admin_view
        own = [
            path(
                f"<path:object_id>/do/{verb.name}/" if verb.on_row else f"do/{verb.name}/",
                guard(self._verb_view(verb)),
                name=f"{name}_{verb.name}",
            )
            for verb in self.verbs
        ]
        return own + super().get_urls()

    def _verb_view(self, verb: Verb) -> Callable[..., HttpResponse]:
        @writes
        def view(request: HttpRequest, object_id: str | None = None) -> HttpResponse:
            row = self.get_object(request, unquote(object_id)) if object_id is not None else None
            return verb_page(request, verb, row, self)

        return view

    def verb_links(self, actor: Actor, row: models.Model | None) -> list[tuple[str, str]]:
        """Address and title of the verbs the actor may use, on a row or beside the table."""
        args = [row.pk] if row is not None else []
        return [
            (self.address(verb.name, *args), verb.title)
            for verb in self.verbs
            if verb.on_row is (row is not None) and verb.allowed(actor, row)
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        verbs = self.verb_links(actor_of(request), None)
        return super().changelist_view(request, {"verbs": verbs, "title": capfirst(self.many), **(extra_context or {})})

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        context |= {
            "page": self,
            "title": capfirst(self.one),
            "verbs": self.verb_links(actor_of(request), context["original"]),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """What the audit says of the row, newest first, at most 200 entries."""
        row = self.get_object(request, unquote(object_id))
        entries = AuditEntry.objects.permitted(actor_of(request)).filter(
            object_type=self.opts.model_name, object_id=str(row.pk)
        )
        context = {
            **self.admin_site.each_context(request),
            "title": "Audit",
            "subtitle": str(row),
            "opts": self.opts,
            "page": self,
            "original": row,
            "entries": entries.order_by("-created_at", "-pk")[:200],
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/object_history.html", context)


def joined(rows: Iterable[models.Model]) -> SafeString:
    """Links to rows, one a line."""
    return format_html_join(SafeString("<br>"), "{}", ((row_link(row),) for row in rows))
