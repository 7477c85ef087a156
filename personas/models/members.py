"""What waits for a second person: invitations, and requests to lower the rules of review."""

from datetime import datetime

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone

from personas.domain.rights import PERSONA_RIGHTS, Role
from personas.models.base import Row
from personas.models.tenants import MAX_APPROVALS
from personas.querysets import InvitationQuerySet, RuleChangeQuerySet


class Invitation(Row):
    """A single-use offer of roles, or of a right on one persona, tied to an e-mail address.

    The secret of its link is kept as its sha256 alone.
    """

    tenant = models.ForeignKey("personas.Tenant", on_delete=models.PROTECT, related_name="invitations", db_index=False)
    email = models.EmailField(help_text="In lower case.")
    roles = models.JSONField(default=list, blank=True)
    persona = models.ForeignKey(
        "personas.AgentPersona", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    persona_right = models.CharField(
        max_length=32, blank=True, choices=[(right.value, right.value) for right in sorted(PERSONA_RIGHTS)]
    )
    digest = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    invited_by_name = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey("personas.User", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                "tenant",
                Lower("email"),
                condition=Q(accepted_at=None, revoked_at=None),
                name="invitation_one_waits",
                violation_error_message="Another invitation for this address was sent just now.",
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")),
                name="invitation_expires_later",
                violation_error_message="An invitation expires after it was made.",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at=None) | Q(revoked_at=None),
                name="invitation_accepted_or_revoked",
                violation_error_message="An accepted invitation cannot be revoked.",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at=None, accepted_by=None)
                | Q(accepted_at__isnull=False, accepted_by__isnull=False),
                name="invitation_accepted_by_somebody",
            ),
            models.CheckConstraint(
                condition=Q(persona=None, persona_right="") | (Q(persona__isnull=False) & ~Q(persona_right="")),
                name="invitation_persona_with_right",
                violation_error_message="A right is given on a persona, and a persona is given with a right.",
            ),
        )

    def __str__(self) -> str:
        """Enough to recognise it by. The audit keeps this, so it is not the whole address."""
        name, _, place = self.email.partition("@")
        return f"{name[:1]}…@{place}" if place else "a former member"

    def is_open(self, now: datetime) -> bool:
        """Whether it can still be accepted at ``now``."""
        return self.accepted_at is None and self.revoked_at is None and self.expires_at > now

    @property
    def role_list(self) -> list[Role]:
        return [Role(role) for role in self.roles]


class RuleChangeRequest(Row):
    """An admin's wish to lower the rules of review, until another admin confirms or declines it."""

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        CONFIRMED = "confirmed", "Confirmed"
        DECLINED = "declined", "Declined"
        WITHDRAWN = "withdrawn", "Withdrawn"

    tenant = models.ForeignKey("personas.Tenant", on_delete=models.PROTECT, related_name="rule_requests")
    require_second_person = models.BooleanField()
    required_approvals = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MAX_APPROVALS)]
    )
    reason = models.TextField(blank=True, max_length=2000)
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    asked_by = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="+")
    asked_by_name = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    decided_by = models.ForeignKey("personas.User", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    decided_by_name = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = RuleChangeQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("tenant",),
                condition=Q(status="pending"),
                name="rule_request_one_waits",
                violation_error_message="A request waits already: confirm, decline or withdraw it first.",
            ),
            models.CheckConstraint(
                condition=Q(required_approvals__gte=1, required_approvals__lte=MAX_APPROVALS),
                name="rule_request_approvals",
                violation_error_message=f"Between 1 and {MAX_APPROVALS} approvals can be required.",
            ),
            models.CheckConstraint(
                condition=~Q(status="confirmed") | (Q(decided_by__isnull=False) & ~Q(decided_by=F("asked_by"))),
                name="rule_request_two_people",
                violation_error_message="Who asked for it cannot confirm it.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.required_approvals} approvals{', one from no author' if self.require_second_person else ''}"
