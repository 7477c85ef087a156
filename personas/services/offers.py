"""The end of invitations that nobody accepted yet. For services, which have asked who may do it."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.models import Invitation, Tenant, User


def offer_of(invitation: Invitation) -> dict[str, Any]:
    """What is offered, for the audit, which is never erased: no address."""
    offer: dict[str, Any] = {"roles": invitation.roles}
    if invitation.persona is not None:
        offer |= {"persona": invitation.persona.name, "right": invitation.persona_right}
    return offer


def revoke_offer(invitation: Invitation, *, actor: Actor, why: str = "") -> None:
    """End an invitation that the caller holds a lock on, and audit it with ``why``."""
    invitation.revoked_at = timezone.now()
    invitation.save(update_fields=["revoked_at"])
    before = offer_of(invitation)
    audit.record("invitation.revoked", invitation, actor=actor, tenant=invitation.tenant, before=before, note=why)


def revoke_offers_by(user: User, tenant: Tenant | None = None, *, actor: Actor, why: str) -> None:
    """End what an account has offered, in one tenant or in all, each audited with ``why``.

    Comes before any lock on a role: accepting an invitation locks it first and the roles next.
    """
    _revoke_all(Invitation.objects.filter(invited_by=user), tenant, actor, why)


def revoke_offers_to(user: User, tenant: Tenant | None = None, *, actor: Actor, why: str) -> None:
    """End what was offered to the address of an account, in one tenant or in all. Comes before any lock on a role."""
    address = User.objects.values_list("email", flat=True).get(pk=user.pk).lower()
    if address:
        _revoke_all(Invitation.objects.filter(email=address), tenant, actor, why)


def _revoke_all(rows: QuerySet[Any], tenant: Tenant | None, actor: Actor, why: str) -> None:
    rows = rows.filter(accepted_at=None, revoked_at=None, **({"tenant": tenant} if tenant else {}))
    # In one order, so that two who do this at once do not wait for each other.
    for row in rows.select_for_update(of=("self",)).select_related("tenant", "persona").order_by("pk"):
        revoke_offer(row, actor=actor, why=why)
