"""From a request to an actor, and to what the actor may see."""

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from personas.actors import Actor
from personas.models import Tenant


def actor_of(request: HttpRequest) -> Actor:
    """The person behind a page request."""
    return Actor(request.user, request_id=getattr(request, "request_id", ""))


def get_tenant(request: HttpRequest, slug: str) -> Tenant:
    """The tenant of a page, or 404 for who may not even see its name."""
    rows = Tenant.objects.reachable(actor_of(request)).select_related("parent")
    tenant: Tenant = get_object_or_404(rows, slug=slug)
    return tenant
