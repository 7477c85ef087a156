"""Who calls: the bearer token of a request. No session is read or started."""

import uuid
from datetime import datetime, timedelta

from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from ninja.security.base import AuthBase

from personas.actors import Actor
from personas.api_support.problems import not_found, unauthenticated
from personas.models import APIToken
from personas.services.tokens import token_digest

KEPT_TO = timedelta(hours=1)


class TokenRequest(HttpRequest):
    """A request that passed `BearerToken`."""

    auth: Actor
    request_id: str


def secret_of(request: HttpRequest) -> str:
    """The secret of the Authorization header. Raises a 401 `Problem` when there is none."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise unauthenticated()
    return secret.strip()


def note_use(token_id: uuid.UUID, last_used_at: datetime | None, now: datetime) -> None:
    """Keep when a token was used last, to the hour: one UPDATE an hour, however often it is used."""
    if last_used_at is None or last_used_at <= now - KEPT_TO:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - KEPT_TO)
        APIToken.objects.filter(stale, pk=token_id).update(last_used_at=now)


class BearerToken(AuthBase):
    """Turns a valid token into the `Actor` of the call, in ``request.auth``."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Actor:
        """Raises a 401 `Problem` for a token that is not valid, 404 when the call names another tenant than its own."""
        secret, now = secret_of(request), timezone.now()
        rows = APIToken.objects.valid(now).select_related("user", "tenant")
        token = rows.filter(digest=token_digest(secret)).first()
        if token is None:
            raise unauthenticated()
        note_use(token.pk, token.last_used_at, now)
        if request.GET.get("tenant", token.tenant.slug) != token.tenant.slug:
            raise not_found()
        return Actor(token.user, token, request_id=getattr(request, "request_id", ""))
