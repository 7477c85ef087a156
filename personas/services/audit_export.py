"""Taking entries of the audit out, which is an entry itself."""

from typing import Any

from django.db import transaction

from personas import audit
from personas.actors import Actor
from personas.domain.rights import Right
from personas.models import AuditEntry, Tenant
from personas.permissions import require, require_superuser


@transaction.atomic
def record_export(tenant: Tenant | None, *, filters: dict[str, Any], actor: Actor) -> AuditEntry:
    """Write that the actor exports the audit of a tenant, or None for that of all, as far as the filters let through.

    Raises `NotPermitted` without ``view-audit``, and for all tenants without being a superuser.
    """
    if tenant is None:
        require_superuser(actor, "export the audit of every tenant")
    else:
        require(actor, Right.VIEW_AUDIT, tenant)
    after = {"filters": {name: str(value) for name, value in filters.items()}}
    return audit.record("audit.exported", tenant or actor.account, actor=actor, tenant=tenant, after=after)
