"""Who calls: the bearer token of a request. No session is read or started."""

import uuid
from datetime import datetime, timedelta

from django.core.cache import cache
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from ninja.security.base import AuthBase

from personas.actors import Actor
from personas.api_support.problems import Problem, not_found, too_many_failures, unauthenticated
from personas.http import client_address
from personas.limits import Limit, network_of
from personas.models import APIToken
from personas.services.tokens import token_digest

KEPT_TO = timedelta(hours=1)
FAILURES = Limit("tokens", most=20)  # a minute, from one address


class TokenRequest(HttpRequest):
    """A request that passed `BearerToken`."""

    auth: Actor
    request_id: str


def digest_of(request: HttpRequest) -> str:
    """The digest of the secret in the Authorization header.

    Raises a 401 `Problem` when there is none, and 429 for a secret that failed before when too many did from where the
    request comes from: no row is read for it. Any other secret is looked up, lest a neighbour shut out a valid one.
    """
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise unauthenticated()
    digest = token_digest(secret.strip())
    source = network_of(client_address(request))
    if FAILURES.reached(source) and cache.get(_failed(digest)):
        raise too_many_failures(FAILURES.wait(source))
    return digest


def failure(request: HttpRequest, digest: str) -> Problem:
    """Count that no valid token has this digest. The answer to it: 401, or 429 from an address with too many."""
    source = network_of(client_address(request))
    cache.set(_failed(digest), True, FAILURES.seconds)
    if FAILURES.fail(source) > FAILURES.most:
        return too_many_failures(FAILURES.wait(source))
    return unauthenticated()


def _failed(digest: str) -> str:
    return f"failed-token:{digest}"


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
        """Raises a 401 or 429 `Problem` for a token that is not valid, 404 when the call names another tenant."""
        digest, now = digest_of(request), timezone.now()
        token = APIToken.objects.valid(now).select_related("user", "tenant").filter(digest=digest).first()
        if token is None:
            raise failure(request, digest)
        note_use(token.pk, token.last_used_at, now)
        if request.GET.get("tenant", token.tenant.slug) != token.tenant.slug:
            raise not_found()
        return Actor(token.user, token, request_id=getattr(request, "request_id", ""))
