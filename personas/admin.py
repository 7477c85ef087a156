"""Who is an agent, in the staff admin."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from personas import (
    admin_agents,  # noqa: F401 - registers the other half
    models,
)
from personas.actors import Actor
from personas.admin_base import LimitedFilter, StaffAdmin, joined, page_for, row_link
from personas.admin_forms import AccountForm, MoveForm, RulesForm, TenantForm
from personas.admin_verbs import Verb
from personas.domain.rights import Right
from personas.models import Tenant, TenantRole, User
from personas.permissions import holds
from personas.services.staff import set_account_flags
from personas.services.tenants import create_tenant, move_tenant, set_review_rules

RULES = ("require_second_person", "required_approvals")


def change_account(user: User, changed: dict[str, Any], actor: Actor) -> User:
    """Call the service with what the form changed."""
    flags = {name: changed[name] for name in ("is_active", "is_staff", "is_superuser") if name in changed}
    held = TenantRole.objects.filter(group__user=user).select_related("tenant", "group")
    take = [row for row in held if str(row.pk) in changed["roles"].taken] if "roles" in changed else []
    give = []
    if changed.get("tenant"):
        give = [TenantRole.objects.select_related("tenant").get(tenant=changed["tenant"], role=changed["role"])]
    return set_account_flags(user, actor=actor, give=give, take=take, **flags)


def account_now(user: User) -> dict[str, Any]:
    roles = TenantRole.objects.filter(group__user=user).values_list("pk", flat=True)
    flags = {name: getattr(user, name) for name in ("is_active", "is_staff", "is_superuser")}
    return {**flags, "roles": [str(pk) for pk in roles]}


def change_rules(tenant: Tenant, changed: dict[str, Any], actor: Actor) -> Tenant:
    return set_review_rules(tenant, actor=actor, **{name: getattr(tenant, name) for name in RULES} | changed)


def may_change_rules(actor: Actor, tenant: Tenant) -> bool:
    return holds(actor, Right.CHANGE_TENANT, tenant)


def make_tenant(_: None, given: dict[str, Any], actor: Actor) -> Tenant:
    return create_tenant(actor=actor, **given)


@admin.register(User)
class UserAdmin(StaffAdmin):
    list_display = (
        "username",
        "name",
        "email",
        "kind",
        "tenant",
        "is_active",
        "is_staff",
        "is_superuser",
        "last_login",
    )
    list_filter = ("kind", "is_active", "is_staff", "is_superuser", ("tenant", LimitedFilter))
    list_select_related = ("tenant",)
    search_fields = ("username", "name", "email", "=id")
    date_hierarchy = "created_at"
    ordering = ("username",)
    secret = ("password",)
    facts = ("roles",)
    verbs = (Verb("account", "Change account", AccountForm, change_account, account_now),)

    def permitted(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Oneself, and who belongs to the tenants whose members the actor manages."""
        tenants = Tenant.objects.permitted(actor, Right.MANAGE_MEMBERS)
        members = TenantRole.objects.filter(tenant__in=tenants).values("group__user")
        return rows.filter(Q(pk=actor.account.pk) | Q(tenant__in=tenants) | Q(pk__in=members))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        page = page_for(self.admin_site, TenantRole)

        @admin.display(description="roles")
        def roles(user: User) -> str:
            return (
                joined(page.get_queryset(request).filter(group__user=user).order_by("tenant__name", "role")) or "none"
            )

        return [roles if name == "roles" else name for name in super().get_fields(request, obj)]


@admin.register(Tenant)
class TenantAdmin(StaffAdmin):
    list_display = ("name", "slug", "parent", "require_second_person", "required_approvals", "created_at")
    list_filter = ("require_second_person", "required_approvals")
    list_select_related = ("parent",)
    search_fields = ("name", "slug", "=id")
    date_hierarchy = "created_at"
    ordering = ("name", "pk")
    verbs = (
        Verb("create", "Make a tenant", TenantForm, make_tenant, lambda _: {"required_approvals": 1}, on_row=False),
        Verb(
            "move",
            "Move tenant",
            MoveForm,
            lambda tenant, changed, actor: move_tenant(tenant, to=changed["parent"], actor=actor),
            lambda tenant: {"parent": tenant.parent},
            about="What its descendants inherit from above may change what is served to them.",
        ),
        Verb(
            "rules",
            "Change review rules",
            RulesForm,
            change_rules,
            lambda tenant: {name: getattr(tenant, name) for name in RULES},
            allowed=may_change_rules,
            about="A pending proposal is judged by the stricter of the rules when it was made and now.",
        ),
    )

    def page_of(self, row: Any) -> str:
        return reverse("tenant", args=[row.slug])


@admin.register(models.TenantAncestor)
class TenantAncestorAdmin(StaffAdmin):
    called = ("ancestor of a tenant", "ancestors of tenants")
    list_display = ("tenant", "ancestor", "distance")
    list_filter = ("distance",)
    list_select_related = ("tenant", "ancestor")
    search_fields = ("tenant__slug", "ancestor__slug")

    def permitted(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        tenants = Tenant.objects.permitted(actor).values("pk")
        return rows.filter(tenant__in=tenants, ancestor__in=tenants)


@admin.register(TenantRole)
class TenantRoleAdmin(StaffAdmin):
    called = ("role", "roles")
    tenant_path, right = "tenant", Right.MANAGE_MEMBERS
    list_display = ("tenant", "role")
    list_filter = ("role", ("tenant", LimitedFilter))
    list_select_related = ("tenant",)
    search_fields = ("tenant__slug", "tenant__name")
    secret = ("group",)
    facts = ("holders",)

    @admin.display(description="held by")
    def holders(self, row: Any) -> str:
        return joined(User.objects.filter(groups=row.group_id).order_by("username")[:200]) or "none"

    def page_of(self, row: Any) -> str:
        return reverse("members", args=[row.tenant.slug])


class GrantAdmin(StaffAdmin):
    """Rows of guardian's tables. Rights are given and taken by the services of members, never here."""

    called = ("right of an account on a tenant", "rights of accounts on tenants")
    tenant_path, right = "content_object", Right.MANAGE_MEMBERS
    holder = "user"
    list_filter = ("permission__codename",)

    def get_list_select_related(self, request: HttpRequest) -> list[str]:
        return ["content_object", self.holder, "permission"]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return ["content_object", self.holder, "permission__codename"]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        name = "username" if self.holder == "user" else "name"
        return [f"{self.holder}__{name}", "content_object__name", "permission__codename"]


class PersonaGrantAdmin(GrantAdmin):
    called = ("right of an account on a persona", "rights of accounts on personas")
    tenant_path = "content_object__tenant"


class GroupGrantAdmin(GrantAdmin):
    called = ("right of a role on a tenant", "rights of roles on tenants")
    holder = "group"


class PersonaGroupGrantAdmin(PersonaGrantAdmin):
    called = ("right of a role on a persona", "rights of roles on personas")
    holder = "group"


admin.site.register(models.TenantUserObjectPermission, GrantAdmin)
admin.site.register(models.TenantGroupObjectPermission, GroupGrantAdmin)
admin.site.register(models.AgentPersonaUserObjectPermission, PersonaGrantAdmin)
admin.site.register(models.AgentPersonaGroupObjectPermission, PersonaGroupGrantAdmin)


class StrayGrantAdmin(StaffAdmin):
    """guardian's tables for any object at all. We use none of their rows: one found here is worth a question."""

    called = ("stray right of an account", "stray rights of accounts")
    list_display = ("content_type", "object_pk", "permission__codename")
    list_select_related = ("content_type", "permission")
    list_filter = ("content_type",)
    search_fields = ("object_pk", "permission__codename")


class StrayGroupGrantAdmin(StrayGrantAdmin):
    called = ("stray right of a role", "stray rights of roles")


admin.site.register(apps.get_model("guardian", "UserObjectPermission"), StrayGrantAdmin)
admin.site.register(apps.get_model("guardian", "GroupObjectPermission"), StrayGroupGrantAdmin)


@admin.register(models.Invitation)
class InvitationAdmin(StaffAdmin):
    list_display = ("email", "tenant", "invited_by_name", "created_at", "expires_at", "accepted_at", "revoked_at")
    list_filter = (("tenant", LimitedFilter), ("accepted_at", admin.EmptyFieldListFilter))
    list_select_related = ("tenant",)
    search_fields = ("email", "tenant__slug", "invited_by_name")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    secret = ("digest",)

    def page_of(self, row: Any) -> str:
        return reverse("members", args=[row.tenant.slug])


@admin.register(models.RuleChangeRequest)
class RuleChangeRequestAdmin(StaffAdmin):
    called = ("request to lower the rules", "requests to lower the rules")
    list_display = ("tenant", "status", "require_second_person", "required_approvals", "asked_by_name", "created_at")
    list_filter = ("status", ("tenant", LimitedFilter))
    list_select_related = ("tenant",)
    search_fields = ("tenant__slug", "asked_by_name", "reason")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")

    def page_of(self, row: Any) -> str:
        return reverse("tenant_settings", args=[row.tenant.slug])


@admin.register(models.APIToken)
class APITokenAdmin(StaffAdmin):
    called = ("API token", "API tokens")
    tenant_path, right = "tenant", Right.MANAGE_TOKENS
    list_display = ("name", "prefix", "tenant", "user", "may_review", "expires_at", "revoked_at", "last_used_at")
    list_filter = ("may_review", ("revoked_at", admin.EmptyFieldListFilter), ("tenant", LimitedFilter))
    list_select_related = ("tenant", "user")
    search_fields = ("name", "prefix", "user__username", "tenant__slug")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    secret = ("digest",)

    def page_of(self, row: Any) -> str:
        return reverse("tokens", args=[row.tenant.slug])


@admin.register(models.StoredAnswer)
class StoredAnswerAdmin(StaffAdmin):
    called = ("stored answer", "stored answers")
    tenant_path, right = "token__tenant", Right.MANAGE_TOKENS
    list_display = ("method", "path", "status", "token", "created_at")
    list_filter = ("method", "status")
    list_select_related = ("token",)
    search_fields = ("path", "key", "token__prefix")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")


@admin.register(models.AuditEntry)
class AuditEntryAdmin(StaffAdmin):
    called = ("audit entry", "audit entries")
    list_display = ("created_at", "actor_name", "verb", "object_type", "object_label", "tenant", "note")
    list_filter = ("object_type", ("tenant", LimitedFilter))
    list_select_related = ("tenant",)
    search_fields = ("actor_name", "verb", "object_label", "=object_id", "=request_id", "note")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-pk")
    facts = ("row",)

    @admin.display(description="row")
    def row(self, entry: Any) -> str:
        """A link to what the entry is about, for as long as it is there."""
        pages = self.admin_site._registry.items()
        model = next((model for model, _ in pages if model._meta.model_name == entry.object_type), None)
        found = model._default_manager.filter(pk=entry.object_id).first() if model else None
        return row_link(found) if found else "gone"


class LogInAdmin(StaffAdmin):
    """What the lock-out keeps of log-ins, for superusers. What was typed is not shown."""

    list_display = ("attempt_time", "username", "ip_address", "user_agent")
    search_fields = ("username", "ip_address", "user_agent")
    date_hierarchy = "attempt_time"
    ordering = ("-attempt_time", "-pk")
    secret = ("get_data", "post_data", "session_hash")


for name in ("AccessAttempt", "AccessFailureLog", "AccessLog"):
    admin.site.register(apps.get_model("axes", name), LogInAdmin)
