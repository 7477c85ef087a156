"""What the rail of every page shows: where the person may go, and what waits there."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from learning.reading import waiting_by_tenant
from personas.domain.rights import Right
from personas.http import actor_of
from personas.models import Tenant
from personas.permissions import rights_on
from personas_site.login_proof import owes_second_factor


@dataclass(frozen=True, slots=True)
class Place:
    """A tenant in the switcher, with the number of proposals that wait for the person."""

    tenant: Tenant
    waiting: int
    child: bool


@dataclass(frozen=True, slots=True)
class Rail:
    places: list[Place]
    here: Tenant | None
    waiting: int
    waiting_here: int
    rights: frozenset[Right]

    @property
    def sees_tenant(self) -> bool:
        return Right.VIEW_TENANT in self.rights


def navigation(request: HttpRequest) -> dict[str, Any]:
    """The context processor; nothing is asked of the database until a template draws the rail."""
    return {"rail": SimpleLazyObject(lambda: _rail(request))}


def _rail(request: HttpRequest) -> Rail | None:
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return None
    if owes_second_factor(request):
        return None  # names of tenants are for who proved to be that person
    actor = actor_of(request)
    tenants = list(Tenant.objects.reachable(actor).select_related("parent").order_by("name", "pk")[:200])
    waiting = waiting_by_tenant(actor)
    slug = request.resolver_match.kwargs.get("tenant") if request.resolver_match else None
    here = next((tenant for tenant in tenants if tenant.slug == slug), None)
    known = {tenant.pk for tenant in tenants}
    roots = [tenant for tenant in tenants if tenant.parent_id not in known]
    places: list[Place] = []
    for root in roots:
        _add(root, tenants, waiting, places, child=False)
    return Rail(
        places=places,
        here=here,
        waiting=sum(waiting.values()),
        waiting_here=waiting.get(here.pk, 0) if here else 0,
        rights=rights_on(actor, here) if here else frozenset(),
    )


def _add(tenant: Tenant, every: list[Tenant], waiting: dict[Any, int], places: list[Place], *, child: bool) -> None:
    places.append(Place(tenant, waiting.get(tenant.pk, 0), child))
    for below in every:
        if below.parent_id == tenant.pk:
            _add(below, every, waiting, places, child=True)
