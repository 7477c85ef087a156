"""Proposals and decisions in the staff admin: to read. Deciding happens on the page of a proposal."""

from typing import Any

from django.contrib import admin
from django.urls import reverse

from learning.models import Decision, DirectiveProposal
from personas.admin_base import LimitedFilter, StaffAdmin


@admin.register(DirectiveProposal)
class ProposalAdmin(StaffAdmin):
    called = ("proposal", "proposals")
    persona_path = "persona"
    list_display = ("persona", "tenant", "action", "status", "origin", "proposed_by_name", "created_at", "decided_at")
    list_filter = ("status", "action", "origin", ("tenant", LimitedFilter))
    list_select_related = ("persona", "tenant")
    search_fields = ("persona__name", "tenant__slug", "proposed_by_name", "rationale", "=id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")

    def page_of(self, row: Any) -> str:
        return reverse("proposal", args=[row.tenant.slug, row.pk])


@admin.register(Decision)
class DecisionAdmin(StaffAdmin):
    persona_path = "proposal__persona"
    list_display = ("reviewer_name", "verdict", "proposal", "note", "created_at")
    list_filter = ("verdict", ("proposal__tenant", LimitedFilter))
    list_select_related = ("proposal__persona", "proposal__tenant")
    search_fields = ("reviewer_name", "note", "proposal__persona__name", "=proposal__id")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")

    def page_of(self, row: Any) -> str:
        return reverse("proposal", args=[row.proposal.tenant.slug, row.proposal.pk])
