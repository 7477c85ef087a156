"""API tokens, stored answers of repeated calls, and the audit."""

from typing import Any, ClassVar

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from personas.models.base import AppendOnlyRow, Row
from personas.querysets import AuditQuerySet, TokenQuerySet

PATTERN = "varchar_pattern_ops"  # lets PostgreSQL find by how a text begins, whatever the server's collation


class APIToken(Row):
    """A random secret, kept as its sha256, bound to one tenant and the account it acts as."""

    tenant = models.ForeignKey("personas.Tenant", on_delete=models.PROTECT, related_name="tokens")
    user = models.ForeignKey("personas.User", on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=150)
    prefix = models.CharField(max_length=16, help_text="The first characters of the secret, to recognise it by.")
    digest = models.CharField(max_length=64, unique=True)
    may_review = models.BooleanField(default=False, help_text="Whether the token may decide proposals.")
    created_by = models.ForeignKey("personas.User", on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="Kept to the hour.")

    objects = TokenQuerySet.as_manager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class StoredAnswer(models.Model):
    """The answer of a POST that carried an Idempotency-Key, kept for 24 hours."""

    token = models.ForeignKey(APIToken, on_delete=models.CASCADE, related_name="+", db_index=False)
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=500)
    key = models.CharField(max_length=200)
    body_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    body = models.JSONField(encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("token", "method", "path", "key"), name="answer_once"),)

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.key}"


class AuditEntry(AppendOnlyRow):
    """One thing that was done, readable after the people and things it speaks of are gone."""

    created_at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey("personas.User", on_delete=models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=150)
    token_prefix = models.CharField(max_length=16, blank=True)
    tenant = models.ForeignKey("personas.Tenant", on_delete=models.PROTECT, null=True, related_name="audit_entries")
    verb = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=60)
    object_label = models.CharField(max_length=250)
    before = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    after = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    request_id = models.CharField(max_length=64, blank=True)
    note = models.TextField(blank=True)

    objects: ClassVar[Any] = AuditQuerySet.as_manager()

    class Meta(AppendOnlyRow.Meta):
        abstract = False
        # One for each way into a million entries: in order, by verb and the part before its dot, by object, its type
        # and how its label begins, by actor (its foreign key) and the name it had, and by request.
        indexes = (
            models.Index(fields=("tenant", "-created_at", "-id"), name="audit_tenant_order"),
            models.Index(fields=("-created_at", "-id"), name="audit_order"),
            models.Index(fields=("tenant", "verb"), opclasses=("uuid_ops", PATTERN), name="audit_verb"),
            models.Index(fields=("object_id", "-created_at", "-id"), name="audit_object_order"),
            models.Index(fields=("object_type",), name="audit_type"),
            models.Index(fields=("object_label",), opclasses=(PATTERN,), name="audit_label"),
            models.Index(fields=("actor_name",), name="audit_actor_name"),
            models.Index(fields=("request_id",), condition=~models.Q(request_id=""), name="audit_request"),
        )

    def __str__(self) -> str:
        return f"{self.actor_name} {self.verb} {self.object_label}"
