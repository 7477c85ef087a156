"""API tokens: shown once, kept as a digest."""

import hashlib
import secrets
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Invalid, NotPermitted
from personas.domain.rights import Right
from personas.models import APIToken, Tenant, User
from personas.permissions import holds, require
from personas.services.checks import saved

PREFIX = "per_"


def token_digest(secret: str) -> str:
    """sha256 in hex. The secret has 256 random bits, so nothing slower is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def create_token(
    tenant: Tenant,
    user: User,
    *,
    name: str,
    may_review: bool,
    actor: Actor | None,
    expires_at: datetime | None = None,
) -> tuple[APIToken, str]:
    """Make a token that acts as ``user`` in one tenant, and return it with its secret, which is not kept.

    ``actor`` None is the operator's shell. Raises `NotPermitted` without ``manage-tokens`` or for another person,
    `Invalid` for an account that cannot see the tenant.
    """
    if actor is not None:
        require(actor, Right.MANAGE_TOKENS, tenant)
        if user != actor.account and not (user.is_service and user.tenant_id == tenant.pk):
            raise NotPermitted("Make tokens for yourself or for a service account of this tenant.")
        if may_review and actor.token is not None and not actor.token.may_review:
            raise NotPermitted("A token that may not review cannot make one that may.")
    if not holds(Actor(user), Right.VIEW_TENANT, tenant):
        raise Invalid(f"{user.username} cannot see the tenant {tenant.slug}: give a role there first.", field="user")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = APIToken(
        tenant=tenant,
        user=user,
        name=name,
        prefix=secret[: len(PREFIX) + 6],
        digest=token_digest(secret),
        may_review=may_review,
        created_by=actor.account if actor else None,
        expires_at=expires_at,
    )
    saved(token, exclude=["created_by"])  # nobody, for the operator
    after = {"name": name, "user": user.username, "prefix": token.prefix, "may_review": may_review}
    audit.record("token.created", token, actor=actor or Actor(user), tenant=tenant, after=after)
    return token, secret


@transaction.atomic
def revoke_token(token: APIToken, *, actor: Actor) -> APIToken:
    """End a token at once. Its owner may, and who holds ``manage-tokens``; raises `NotPermitted` for anyone else."""
    if token.user_id != actor.account.pk:
        require(actor, Right.MANAGE_TOKENS, token.tenant)
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        audit.record("token.revoked", token, actor=actor, tenant=token.tenant, before={"prefix": token.prefix})
    return token
