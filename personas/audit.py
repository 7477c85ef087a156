"""The audit: one explicit row for each thing done, written in the transaction that does it."""

from typing import Any

from django.db import models

from personas.actors import Actor
from personas.models import AuditEntry, Tenant

SYSTEM = "system"  # the name of who acts where no account does, as in the operator's shell


def record(
    verb: str,
    target: models.Model,
    *,
    actor: Actor | None,
    tenant: Tenant | None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    note: str = "",
) -> AuditEntry:
    """Write that ``actor``, or None for the system, did ``verb`` (as ``directive.approved``) to ``target``.

    ``before`` and ``after`` are JSON and hold only what changed.
    """
    entry = AuditEntry(
        actor=actor.account if actor else None,
        actor_name=actor.name[:150] if actor else SYSTEM,
        token_prefix=actor.token.prefix if actor and actor.token else "",
        tenant=tenant,
        verb=verb,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        object_label=str(target)[:250],
        before=before or {},
        after=after or {},
        request_id=actor.request_id if actor else "",
        note=note,
    )
    entry.save()
    return entry
