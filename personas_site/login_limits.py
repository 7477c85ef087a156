"""The lock-out after failed log-ins: what axes counts, for whom, and what the locked out are told."""

import hashlib
import ipaddress
import math
from datetime import timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth.signals import user_login_failed
from django.db.models import Max, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.http import client_address
from personas.models import User

ADDRESS_SHARE = 10  # failures of one address, whatever the names, for each failure that one name is allowed


def counted_address(request: HttpRequest) -> str | None:
    """The address failures are counted for: of IPv6 the network, since whoever has one address has all 2**64 of it."""
    try:
        address = ipaddress.ip_address(client_address(request))
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False).network_address)


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The name failures are counted for: one for each account, however it was called.

    Of a name that is no account's only a digest is kept: people type passwords into the wrong field.
    """
    typed = str((credentials or {}).get("username") or "")
    person = _account(typed)
    return person.username if person else f"? {hashlib.sha256(typed.casefold().encode()).hexdigest()[:16]}"


class LimitHandler(AxesDatabaseHandler):
    """Axes' counts in the database, with a second and higher limit for the address alone, and an audit."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        named, address = (_failures(rows) for rows in self.get_user_attempts(request, credentials))
        return int(max(named, address // ADDRESS_SHARE))

    def reset_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """A success forgives the failures of that name there. Else one account would wash the address clean."""
        named, _ = self.filter_user_attempts(request, credentials)
        return int(named.delete()[0])

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        was_locked = bool(getattr(request, "axes_locked_out", False))
        super().user_login_failed(sender, credentials, request, **kwargs)
        person = _account(str(credentials.get("username") or ""))
        if request is None or person is None or was_locked:
            return
        actor, where = actor_for(request, person), {"address": client_address(request)}
        audit.record("person.login_failed", person, actor=actor, tenant=None, after=where)
        if request.axes_locked_out:  # type: ignore[attr-defined]
            audit.record("person.locked_out", person, actor=actor, tenant=None, after=where)


def actor_for(request: HttpRequest, person: User) -> Actor:
    """Who acts, for the audit, while nobody is logged in: the account that the request speaks of."""
    return Actor(person, request_id=getattr(request, "request_id", ""))


def person_of(request: HttpRequest) -> User:
    """The person who is logged in."""
    return Actor(request.user).account


def is_locked_out(request: HttpRequest, person: User) -> bool:
    """Whether the person may not try from here now. The middleware of axes then answers with `locked_out`."""
    locked = not AxesProxyHandler.is_allowed(request, {"username": person.username})
    if locked:
        request.axes_locked_out = True  # type: ignore[attr-defined]
        request.axes_credentials = {"username": person.username}  # type: ignore[attr-defined]
    return locked


def count_failure(request: HttpRequest, person: User) -> None:
    """Count a wrong code, or a wrong password typed where it protects something, as a failed log-in."""
    user_login_failed.send(sender=__name__, credentials={"username": person.username}, request=request)


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any] | None) -> HttpResponse:
    """The page that says when to try again, with 429. The limits are the same for names that do not exist."""
    handler = AxesProxyHandler.get_implementation()
    named, address = handler.get_user_attempts(request, credentials)
    over = named if _failures(named) >= settings.AXES_FAILURE_LIMIT else address
    last = over.aggregate(last=Max("attempt_time"))["last"] or timezone.now()
    cool_off: timedelta = settings.AXES_COOLOFF_TIME
    seconds = max(1, math.ceil((last + cool_off - timezone.now()).total_seconds()))
    context = {"minutes": math.ceil(seconds / 60), "until": last + cool_off}
    page = render(request, "accounts/locked.html", context, status=429)
    page["Retry-After"] = str(seconds)
    page["Cache-Control"] = "no-store"
    return page


def _failures(rows: Any) -> int:
    return rows.aggregate(total=Sum("failures_since_start"))["total"] or 0


def _account(typed: str) -> User | None:
    try:
        return User.objects.get_by_natural_key(typed)
    except User.DoesNotExist:
        return None
