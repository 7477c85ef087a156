"""API tokens: shown once, kept as a digest."""

import hashlib
import secrets
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Invalid, NotPermitted
from personas.domain.rights import Right
from personas.domain.text import TextFault, clean_name
from personas.models import APIToken, Tenant, User
from personas.permissions import holds, require
from personas.services.checks import saved

PREFIX = "per_"


class WrongPassword(Invalid):
    """The password that lets a token review is not the person's. Who calls the service counts these."""


def token_digest(secret: str) -> str:
    """sha256 in hex. The secret has 256 random bits, so nothing slower is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


@sensitive_variables("secret", "password")
@transaction.atomic
def create_token(
    tenant: Tenant,
    user: User,
    *,
    name: str,
    may_review: bool,
    actor: Actor | None,
    expires_at: datetime | None = None,
    password: str = "",
) -> tuple[APIToken, str]:
    """Make a token that acts as ``user`` in one tenant, and return it with its secret, which is not kept.

    ``actor`` None is the operator's shell. A person who lets a token review types ``password``, their own.
    Raises `NotPermitted` without ``manage-tokens`` or for another person, `Invalid` for an account that cannot see the
    tenant, a name that is none and an end that is past, `WrongPassword` (an `Invalid`) for a wrong password.
    """
    if actor is not None:
        require(actor, Right.MANAGE_TOKENS, tenant)
        if user != actor.account and not (user.is_service and user.tenant_id == tenant.pk):
            raise NotPermitted("Make tokens for yourself or for a service account of this tenant.", target=tenant)
        if may_review:
            _check_may_review(user, actor, password)
    if not holds(Actor(user), Right.VIEW_TENANT, tenant):
        raise Invalid(f"{user.username} cannot see the tenant {tenant.slug}: give a role there first.", field="user")
    if expires_at is not None and expires_at <= timezone.now():
        raise Invalid("Choose an end that lies ahead.", field="expires")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = APIToken(
        tenant=tenant,
        user=user,
        name=_clean_name(name),
        prefix=secret[: len(PREFIX) + 6],
        digest=token_digest(secret),
        may_review=may_review,
        created_by=actor.account if actor else None,
        expires_at=expires_at,
    )
    saved(token, exclude=["created_by"])  # nobody, for the operator
    after = {"name": token.name, "user": user.username, "prefix": token.prefix, "may_review": may_review}
    after["expires_at"] = expires_at.isoformat(timespec="seconds") if expires_at else None
    audit.record("token.created", token, actor=actor, tenant=tenant, after=after)
    return token, secret


def _check_may_review(user: User, actor: Actor, password: str) -> None:
    if user.is_service:
        raise Invalid("A service account never decides proposals.", field="may_review")
    if actor.token is not None:
        if not actor.token.may_review:
            raise NotPermitted("A token that may not review cannot make one that may.")
        return
    if not password:
        raise Invalid("Type your password: this token will decide in your name.", field="password")
    if not actor.account.check_password(password):
        raise WrongPassword("This is not your password.", field="password")


def _clean_name(name: str) -> str:
    try:
        return clean_name(name)
    except TextFault as fault:
        raise Invalid(str(fault), field="name") from fault


@transaction.atomic
def revoke_token(token: APIToken, *, actor: Actor) -> APIToken:
    """End a token at once. Its owner may, and who holds ``manage-tokens``; raises `NotPermitted` for anyone else."""
    if token.user_id != actor.account.pk:
        require(actor, Right.MANAGE_TOKENS, token.tenant)
    token = APIToken.objects.select_for_update(of=("self",)).select_related("tenant", "user").get(pk=token.pk)
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        before = {"name": token.name, "user": token.user.username, "prefix": token.prefix}
        audit.record("token.revoked", token, actor=actor, tenant=token.tenant, before=before)
    return token
