"""What the tokens page shows: the tokens of a tenant, and which of them still open anything."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from django.db.models import Q, QuerySet
from django.utils import timezone

from personas.domain.rights import Right
from personas.models import APIToken, Tenant
from personas.permissions import holders


class ShownOnce:
    """A secret on its way to a page: templates write it out, while no report of a fault does."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def __str__(self) -> str:
        return self._secret

    def __repr__(self) -> str:
        return "<secret>"


@dataclass(frozen=True, slots=True)
class ListedToken:
    """A token and what became of it.

    ``state`` is live, revoked, expired, inactive (its account is deactivated) or blind (its account may not see the
    tenant any more); ``since`` when that is known.
    """

    token: APIToken
    state: str
    since: datetime | None = None

    @classmethod
    def of(cls, token: APIToken, *, sees: bool, now: datetime) -> Self:
        """``sees`` tells whether the token's account may see the tenant."""
        if token.revoked_at is not None:
            return cls(token, "revoked", token.revoked_at)
        if token.expires_at is not None and token.expires_at <= now:
            return cls(token, "expired", token.expires_at)
        if not token.user.is_active:
            return cls(token, "inactive")
        return cls(token, "live" if sees else "blind")

    @property
    def used_lately(self) -> bool:
        """Whether the last use, which is kept to the hour, is too near to say more."""
        used = self.token.last_used_at
        return used is not None and timezone.now() - used < timedelta(hours=1)


def tokens_of(tenant: Tenant, *, ended: bool) -> QuerySet[Any, Any]:
    """The tokens of a tenant that are neither revoked nor expired, or those that ended, newest first."""
    over = ~Q(revoked_at=None) | Q(expires_at__lte=timezone.now())
    rows = tenant.tokens.all()
    rows = rows.filter(over) if ended else rows.exclude(over)
    return rows.select_related("user", "created_by").order_by("-created_at", "-pk")


def listed(tenant: Tenant, tokens: list[APIToken]) -> list[ListedToken]:
    """One page of tokens with their states, in two statements."""
    sees = holders({token.user for token in tokens}, Right.VIEW_TENANT, tenant)
    now = timezone.now()
    return [ListedToken.of(token, sees=token.user_id in sees, now=now) for token in tokens]
