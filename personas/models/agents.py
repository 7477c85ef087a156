"""Agent classes, their numbered manifests, and the bindings of tenants."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from personas.models.base import AppendOnlyRow, BytewiseCharField, Row
from personas.querysets import AgentClassQuerySet, BindingQuerySet


class AgentClass(Row):
    canonical = BytewiseCharField(
        max_length=200, unique=True, error_messages={"unique": "This agent class exists already."}
    )
    short = BytewiseCharField(
        max_length=100, unique=True, error_messages={"unique": "Another agent class has this short name."}
    )
    display_name = models.CharField(max_length=150)
    multi_instance = models.BooleanField(default=True)
    manifest = models.ForeignKey(
        "personas.ManifestVersion", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    objects = AgentClassQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "agent classes"
        constraints = (
            models.CheckConstraint(
                condition=Q(canonical__startswith="@") & Q(canonical__contains=":"),
                name="agent_class_canonical",
                violation_error_message="The canonical name has the form @scope/package:Name.",
            ),
        )

    def __str__(self) -> str:
        return self.canonical


class ManifestVersion(AppendOnlyRow):
    """What an agent class brings along. A change is a new version; `resolve` names the one it served."""

    agent_class = models.ForeignKey(AgentClass, on_delete=models.PROTECT, related_name="manifests")
    number = models.PositiveIntegerField()
    instructions = models.TextField(blank=True)
    tools = models.JSONField(default=list, help_text="Tool ids used when a persona names none.")
    catalogue = models.JSONField(default=list, help_text="Tools by id, title and description.")
    permissions = models.JSONField(default=dict, help_text="Permission id to granted by default.")
    memory_scope = models.CharField(max_length=200, blank=True)
    ui_slots = models.JSONField(default=list)
    admin_routes = models.JSONField(default=list)
    profile_layer = models.JSONField(default=dict)
    required_tools = models.JSONField(default=list)
    sha256 = models.CharField(max_length=64)
    author = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    author_name = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnlyRow.Meta):
        abstract = False
        constraints = (
            models.UniqueConstraint(fields=("agent_class", "number"), name="manifest_number_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="manifest_number_from_1"),
        )

    def __str__(self) -> str:
        return f"{self.agent_class} manifest {self.number}"


class TenantAgent(Row):
    """A binding: a tenant's decision about an agent class, and the ceiling on what it may do."""

    class Status(models.TextChoices):
        ACTIVE = "active", "Active"
        DISABLED = "disabled", "Disabled"

    tenant = models.ForeignKey("personas.Tenant", on_delete=models.PROTECT, related_name="bindings", db_index=False)
    agent_class = models.ForeignKey(AgentClass, on_delete=models.PROTECT, related_name="bindings")
    status = models.CharField(max_length=8, choices=Status, default=Status.ACTIVE)
    permissions = models.JSONField(default=dict, blank=True, help_text="Permission id to granted or revoked.")
    config = models.JSONField(default=dict, blank=True)
    enforced = models.BooleanField(default=False, help_text="Cannot be re-enabled or widened below this tenant.")

    objects = BindingQuerySet.as_manager()

    class Meta:
        default_permissions: ClassVar[tuple[str, ...]] = ()
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "agent_class"),
                name="binding_once",
                violation_error_message="The tenant has a binding for this agent class already.",
            ),
            models.CheckConstraint(condition=Q(status__in=("active", "disabled")), name="binding_status"),
        )

    def __str__(self) -> str:
        return f"{self.agent_class} at {self.tenant}"
