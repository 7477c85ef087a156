"""Agent classes, bindings and personas in the staff admin: to read. They change on the pages they link to."""

from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from personas import models
from personas.admin_base import LimitedFilter, StaffAdmin, row_link
from personas_site.templatetags.look import when


def persona_page(persona: models.AgentPersona) -> str:
    return reverse("persona", args=[persona.tenant.slug, persona.pk])


@admin.register(models.AgentClass)
class AgentClassAdmin(StaffAdmin):
    everybody = True
    list_display = ("canonical", "short", "display_name", "multi_instance", "manifest")
    list_filter = ("multi_instance",)
    list_select_related = ("manifest__agent_class",)
    search_fields = ("canonical", "short", "display_name", "=id")
    ordering = ("canonical",)
    facts = ("manifests",)

    @admin.display(description="manifests")
    def manifests(self, row: Any) -> str:
        """Every version, newest first; a class with very many shows the last 100."""
        versions = row.manifests.select_related("agent_class").order_by("-number")[:100]
        lines = ((row_link(each), each.author_name, when(each.created_at)) for each in versions)
        return format_html_join(SafeString("<br>"), "{} by {}, {}", lines) or "none"


@admin.register(models.ManifestVersion)
class ManifestVersionAdmin(StaffAdmin):
    called = ("manifest", "manifests")
    everybody = True
    list_display = ("agent_class", "number", "author_name", "created_at")
    list_filter = (("agent_class", LimitedFilter),)
    list_select_related = ("agent_class",)
    search_fields = ("agent_class__canonical", "author_name", "=sha256")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(models.TenantAgent)
class TenantAgentAdmin(StaffAdmin):
    called = ("binding", "bindings")
    list_display = ("agent_class", "tenant", "status", "enforced")
    list_filter = ("status", "enforced", ("agent_class", LimitedFilter), ("tenant", LimitedFilter))
    list_select_related = ("agent_class", "tenant")
    search_fields = ("agent_class__canonical", "tenant__slug", "tenant__name")

    def page_of(self, row: Any) -> str:
        return reverse("tenant", args=[row.tenant.slug])


@admin.register(models.AgentPersona)
class AgentPersonaAdmin(StaffAdmin):
    called = ("persona", "personas")
    list_display = ("name", "tenant", "agent_class", "context_type", "context_id", "priority", "enabled", "locked")
    list_filter = (
        "enabled",
        "locked",
        ("archived_at", admin.EmptyFieldListFilter),
        ("agent_class", LimitedFilter),
        ("tenant", LimitedFilter),
    )
    list_select_related = ("tenant", "agent_class")
    search_fields = ("name", "description", "tenant__slug", "context_type", "context_id", "=id")
    date_hierarchy = "created_at"
    ordering = ("tenant__name", "name_key", "pk")
    secret = ("name_key",)

    def page_of(self, row: Any) -> str:
        return persona_page(row)


@admin.register(models.PersonaRevision)
class PersonaRevisionAdmin(StaffAdmin):
    called = ("revision", "revisions")
    persona_path = "persona"
    list_display = ("persona", "number", "origin", "author_name", "note", "created_at")
    list_filter = ("origin", ("persona__tenant", LimitedFilter))
    list_select_related = ("persona__tenant",)
    search_fields = ("persona__name", "persona__tenant__slug", "author_name", "note", "=sha256", "=text_sha256")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")

    def page_of(self, row: Any) -> str:
        return reverse("revision", args=[row.persona.tenant.slug, row.persona.pk, row.number])


@admin.register(models.Activation)
class ActivationAdmin(StaffAdmin):
    persona_path = "persona"
    list_display = ("persona", "verb", "revision_number", "live", "actor_name", "source", "created_at")
    list_filter = ("verb", "live", ("persona__tenant", LimitedFilter))
    list_select_related = ("persona__tenant", "revision")
    search_fields = ("persona__name", "persona__tenant__slug", "actor_name", "source", "reason")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")

    @admin.display(description="revision", ordering="revision__number")
    def revision_number(self, row: Any) -> int:
        return int(row.revision.number)

    def page_of(self, row: Any) -> str:
        return reverse("history", args=[row.persona.tenant.slug, row.persona.pk])
