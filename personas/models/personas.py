"""Personas, their revisions, and the record of what went live."""

from typing import Any

from django.db import models
from django.db.models import Q
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from personas.domain.rights import PERSONA_RIGHTS, Right
from personas.domain.settings import PersonaSettings
from personas.models.base import AppendOnlyRow, BytewiseCharField, Row
from personas.models.tenants import PERMISSION_LABELS
from personas.querysets import PersonaQuerySet


class AgentPersona(Row):
    """How one agent class behaves for one tenant in a context.

    The columns from ``name`` to ``live_revision`` are copies of the live revision that `resolve` is indexed on; the
    one function that writes them is ``activate_revision()``.
    """

    tenant = models.ForeignKey("personas.Tenant", on_delete=models.PROTECT, related_name="personas", db_index=False)
    agent_class = models.ForeignKey(
        "personas.AgentClass", on_delete=models.PROTECT, related_name="personas", db_index=False
    )
    name = BytewiseCharField(max_length=200)
    name_key = BytewiseCharField(max_length=600, editable=False)
    description = models.CharField(max_length=2000, blank=True)
    context_type = BytewiseCharField(max_length=200, blank=True, default="")
    context_id = BytewiseCharField(max_length=200, blank=True, default="")
    priority = models.IntegerField(default=0)
    run_as = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    live_revision = models.ForeignKey(
        "personas.PersonaRevision", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    enabled = models.BooleanField(default=False)
    locked = models.BooleanField(default=False, help_text="No directive can be activated while it is set.")
    hints = models.JSONField(default=dict, blank=True, help_text="What an import said beside the text; serves nothing.")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = PersonaQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        permissions = tuple((right.value, PERMISSION_LABELS[right]) for right in Right if right in PERSONA_RIGHTS)
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "agent_class", "name"),
                condition=Q(archived_at=None),
                name="persona_name_once",
                violation_error_message="Another persona of this agent class has this name.",
            ),
            models.CheckConstraint(
                condition=Q(context_id="") | ~Q(context_type=""),
                name="persona_id_needs_type",
                violation_error_message="A context id needs a context type.",
            ),
            models.CheckConstraint(
                condition=Q(archived_at=None) | Q(enabled=False),
                name="persona_archived_not_enabled",
                violation_error_message="An archived persona cannot be enabled.",
            ),
            models.CheckConstraint(
                condition=Q(enabled=False) | Q(live_revision__isnull=False),
                name="persona_enabled_has_revision",
                violation_error_message="A persona without a revision cannot be enabled.",
            ),
        )
        indexes = (
            models.Index(
                "tenant",
                "agent_class",
                "context_type",
                "context_id",
                models.F("priority").desc(),
                "name_key",
                "name",
                condition=Q(enabled=True),
                name="persona_resolve",
            ),
            models.Index(fields=("tenant", "name_key", "id"), name="persona_list"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def settings(self) -> PersonaSettings:
        """The settings of the live revision."""
        assert self.live_revision is not None
        return PersonaSettings.load(self.live_revision.settings)


class PersonaRevision(AppendOnlyRow):
    """An immutable, numbered state of a persona: its instructions and its settings."""

    class Origin(models.TextChoices):
        CREATED = "created", "Created"
        DIRECTIVE = "directive", "Directive"
        EDIT = "edit", "Edit"
        ROLLBACK = "rollback", "Rollback"
        IMPORT = "import", "Import"

    persona = models.ForeignKey(AgentPersona, on_delete=models.PROTECT, related_name="revisions", db_index=False)
    number = models.PositiveIntegerField()
    instructions = models.TextField(blank=True)
    settings = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64, help_text="Over the instructions and the settings.")
    text_sha256 = models.CharField(max_length=64, db_index=True, help_text="Over the instructions alone.")
    author = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    author_name = models.CharField(max_length=150)
    origin = models.CharField(max_length=9, choices=Origin)
    note = models.CharField(max_length=2000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnlyRow.Meta):
        abstract = False
        constraints = (
            models.UniqueConstraint(fields=("persona", "number"), name="revision_number_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="revision_number_from_1"),
        )

    def __str__(self) -> str:
        return f"{self.persona} r{self.number}"

    @property
    def label(self) -> str:
        """How pages call it beside its persona."""
        return f"revision {self.number}"


class Activation(AppendOnlyRow):
    """The record that a revision went live, or that a persona was stopped: who, on whose approval, from where."""

    class Verb(models.TextChoices):
        APPROVE = "approve", "Approved"
        EDIT = "edit", "Edited"
        ROLLBACK = "rollback", "Rolled back"
        ENABLE = "enable", "Enabled"
        DISABLE = "disable", "Disabled"
        ARCHIVE = "archive", "Archived"
        SETTINGS = "settings", "Settings changed"
        IMPORT = "import", "Imported"

    persona = models.ForeignKey(AgentPersona, on_delete=models.PROTECT, related_name="activations")
    revision = models.ForeignKey(PersonaRevision, on_delete=models.PROTECT, related_name="activations")
    previous = models.ForeignKey(PersonaRevision, on_delete=models.PROTECT, null=True, related_name="+")
    live = models.BooleanField(help_text="Whether the persona answers since then, or was stopped.")
    actor = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    actor_name = models.CharField(max_length=150)
    approvers = models.JSONField(default=list, help_text="Id and name of everyone whose approval counted.")
    verb = models.CharField(max_length=8, choices=Verb)
    source = models.CharField(max_length=200, blank=True, help_text="Where it came from, as proposal:<id>.")
    reason = models.CharField(max_length=2000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnlyRow.Meta):
        abstract = False
        indexes = (models.Index(fields=("persona", "created_at"), name="activation_history"),)

    def __str__(self) -> str:
        return f"{self.persona} {self.verb}"


class AgentPersonaUserObjectPermission(UserObjectPermissionBase):
    content_object = models.ForeignKey(AgentPersona, on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        abstract = False


class AgentPersonaGroupObjectPermission(GroupObjectPermissionBase):
    content_object = models.ForeignKey(AgentPersona, on_delete=models.CASCADE)

    class Meta(GroupObjectPermissionBase.Meta):
        abstract = False


def snapshot(persona: AgentPersona) -> dict[str, Any]:
    """A persona's serving state as JSON, for the audit."""
    revision = persona.live_revision
    return {
        "enabled": persona.enabled,
        "archived": persona.archived_at is not None,
        "revision": revision.number if revision else None,
        "sha256": revision.sha256 if revision else None,
    }
