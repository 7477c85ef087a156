"""Who acts, and through which door."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser

if TYPE_CHECKING:
    from personas.models import APIToken, User


@dataclass(frozen=True, slots=True)
class Actor:
    """An account, the token it came with if any, and the id of the request, for the audit.

    A token never exceeds its user: it reaches one tenant, and decides only if it may review.
    """

    user: "User | AnonymousUser"
    token: "APIToken | None" = None
    request_id: str = ""

    @property
    def account(self) -> "User":
        """The account behind the actor, for rows that name one. Anonymous actors never get that far."""
        assert not isinstance(self.user, AnonymousUser)
        return self.user

    @property
    def name(self) -> str:
        return str(self.user)
