"""From a request to an actor."""

from django.http import HttpRequest

from personas.actors import Actor


def actor_of(request: HttpRequest) -> Actor:
    """The person behind a page request."""
    return Actor(request.user, request_id=getattr(request, "request_id", ""))
