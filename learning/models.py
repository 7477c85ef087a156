"""Proposals and the decisions on them."""

from django.db import models
from django.db.models import Q

from learning.querysets import ProposalQuerySet
from personas.domain.settings import PersonaSettings
from personas.models.base import AppendOnlyRow, Row


class DirectiveProposal(Row):
    """A directive waiting for review, or after it: a whole candidate of text and settings.

    The text and settings are what was proposed, for good: a reviewer's edit is kept in a `Decision` beside them.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        SUPERSEDED = "superseded", "Superseded"

    class Action(models.TextChoices):
        CHANGE = "change", "Change"
        ENABLE = "enable", "Enable"
        DISABLE = "disable", "Disable"
        ARCHIVE = "archive", "Archive"
        ROLLBACK = "rollback", "Roll back"

    class Origin(models.TextChoices):
        PERSON = "person", "Person"
        RUNTIME = "runtime", "Runtime"
        MODEL = "model", "Model"
        IMPORT = "import", "Import"

    tenant = models.ForeignKey("personas.Tenant", on_delete=models.PROTECT, related_name="proposals", db_index=False)
    persona = models.ForeignKey(
        "personas.AgentPersona", on_delete=models.PROTECT, related_name="proposals", db_index=False
    )
    base_revision = models.ForeignKey(
        "personas.PersonaRevision",
        on_delete=models.PROTECT,
        related_name="+",
        help_text="The revision it was written against.",
    )
    action = models.CharField(max_length=8, choices=Action, default=Action.CHANGE)
    instructions = models.TextField()
    settings = models.JSONField(default=dict)
    rationale = models.TextField(blank=True, max_length=5000)
    confidence = models.DecimalField(max_digits=4, decimal_places=3, null=True, blank=True)
    origin = models.CharField(max_length=7, choices=Origin, default=Origin.PERSON)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    lines_added = models.PositiveIntegerField(default=0, help_text="Against the base revision.")
    lines_removed = models.PositiveIntegerField(default=0, help_text="Against the base revision.")
    text_fingerprint = models.CharField(max_length=64, help_text="Over the folded text.")
    change_fingerprint = models.CharField(max_length=64, help_text="Over the folded paragraphs added and removed.")
    text_sha256 = models.CharField(max_length=64, help_text="Over the text, byte for byte.")
    proposed_by = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    proposed_by_name = models.CharField(max_length=150)
    proposed_through = models.ForeignKey(
        "personas.User",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Who made the token it came through: an author as well.",
    )
    require_second_person = models.BooleanField(default=False, help_text="The tenant's rule when it was made.")
    required_approvals = models.PositiveSmallIntegerField(default=1, help_text="The tenant's rule when it was made.")
    replaces = models.OneToOneField(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="replaced_by",
        help_text="The proposal it was merged from; its authors are authors of this one.",
    )
    made_revision = models.ForeignKey(
        "personas.PersonaRevision", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = ProposalQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = (
            models.CheckConstraint(
                condition=Q(confidence=None) | Q(confidence__gte=0, confidence__lte=1),
                name="proposal_confidence",
                violation_error_message="The confidence lies between 0 and 1.",
            ),
            models.CheckConstraint(
                condition=Q(status="pending", decided_at=None) | (~Q(status="pending") & Q(decided_at__isnull=False)),
                name="proposal_decided_has_time",
            ),
            models.CheckConstraint(
                condition=Q(made_revision=None) | Q(status="approved"), name="proposal_only_approved_made_revision"
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "status", "-created_at", "-id"), name="proposal_queue"),
            models.Index(fields=("persona", "status"), name="proposal_persona"),
            models.Index(fields=("persona", "text_sha256"), name="proposal_text"),
        )

    def __str__(self) -> str:
        return f"{self.get_action_display()} of {self.persona}"

    @property
    def candidate(self) -> PersonaSettings:
        return PersonaSettings.load(self.settings)

    @property
    def is_stale(self) -> bool:
        """Whether the persona has moved on since this was written. A decided proposal is not stale."""
        return self.is_pending and self.base_revision_id != self.persona.live_revision_id

    @property
    def is_pending(self) -> bool:
        return self.status == self.Status.PENDING


class Decision(AppendOnlyRow):
    """What one reviewer said about a proposal, and exactly what that person saw."""

    class Verdict(models.TextChoices):
        APPROVE = "approve", "Approved"
        REJECT = "reject", "Rejected"
        COMMENT = "comment", "Commented"

    proposal = models.ForeignKey(DirectiveProposal, on_delete=models.PROTECT, related_name="decisions")
    reviewer = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    reviewer_name = models.CharField(max_length=150)
    verdict = models.CharField(max_length=7, choices=Verdict)
    note = models.TextField(blank=True, max_length=5000)
    edited_instructions = models.TextField(null=True, blank=True)  # noqa: DJ001 - null: not edited
    seen_sha256 = models.CharField(max_length=64, blank=True, help_text="Of the text this person decided on.")
    seen_revision = models.ForeignKey(
        "personas.PersonaRevision",
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="The live revision this person compared with.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnlyRow.Meta):
        abstract = False
        indexes = (models.Index(fields=("proposal", "created_at"), name="decision_order"),)

    def __str__(self) -> str:
        return f"{self.reviewer_name} {self.verdict}"
