"""From a request to an actor, to what the actor may see, and to where it came from."""

import ipaddress
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted, Refused, UnknownAgentClass
from personas.models import Tenant


def actor_of(request: HttpRequest) -> Actor:
    """The person behind a page request."""
    return Actor(request.user, request_id=getattr(request, "request_id", ""))


def get_tenant(request: HttpRequest, slug: str) -> Tenant:
    """The tenant of a page, or 404 for who may not even see its name."""
    rows = Tenant.objects.reachable(actor_of(request)).select_related("parent")
    tenant: Tenant = get_object_or_404(rows, slug=slug)
    return tenant


STATUS_OF: dict[type[Refused], int] = {NotPermitted: 403, UnknownAgentClass: 404, Conflict: 409, Invalid: 422}


def status_of(fault: Refused | None) -> int:
    """The HTTP status of an answer with this refusal; 200 without one."""
    if fault is None:
        return 200
    return next((STATUS_OF[kind] for kind in type(fault).__mro__ if kind in STATUS_OF), 422)


def client_address(request: HttpRequest) -> str:
    """The IP address a request came from, for counting and for logs; ``unknown`` where the server gives none.

    Only behind a trusted proxy is ``X-Forwarded-For`` read, and of it only what that proxy added itself: the last.
    """
    given = request.META.get("REMOTE_ADDR", "")
    if settings.BEHIND_PROXY:
        given = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip() or given
    return _normal(given)


@lru_cache(maxsize=1024)  # every call of the API asks
def _normal(given: str) -> str:
    try:
        address = ipaddress.ip_address(given)
    except ValueError:
        return "unknown"
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
