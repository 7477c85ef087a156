"""What the pages of a tenant share."""

from django.http import Http404, HttpRequest

from personas.domain.rights import Right
from personas.http import actor_of, get_tenant
from personas.models import Tenant
from personas.permissions import holds, require


def seen_tenant(request: HttpRequest, slug: str, right: Right = Right.VIEW_TENANT) -> Tenant:
    """The tenant of a page, for who may see it: 404 for others, also for who may see one persona of it alone.

    Raises `NotPermitted` for who may see it but lacks ``right``.
    """
    actor, tenant = actor_of(request), get_tenant(request, slug)
    if not holds(actor, Right.VIEW_TENANT, tenant):
        raise Http404
    if right is not Right.VIEW_TENANT:
        require(actor, right, tenant)
    return tenant
