"""What people and tokens were refused, kept in the audit: who, what right was missing, on what."""

from django.db import models, transaction
from django.http import HttpRequest

from personas import audit
from personas.actors import Actor
from personas.domain.errors import NotPermitted
from personas.models import Tenant

VERB = "access.refused"


def record_refusal(request: HttpRequest, refused: NotPermitted, *, actor: Actor) -> None:
    """Write that ``actor`` was refused, in a transaction of its own: that of the attempt was rolled back.

    The entry names the right and the row it was missing on where one right decides, else the tenant or the account.
    """
    tenant = _tenant(request, refused, actor)
    target = refused.target if isinstance(refused.target, models.Model) else tenant or actor.account
    # The pattern of the address, not the address: that may hold the secret of an invitation.
    route = request.resolver_match.route if request.resolver_match else ""
    after = {"asked": f"{request.method} /{route}", **({"right": refused.right} if refused.right else {})}
    with transaction.atomic():
        audit.record(VERB, target, actor=actor, tenant=tenant, after=after, note=refused.message)


def _tenant(request: HttpRequest, refused: NotPermitted, actor: Actor) -> Tenant | None:
    """The tenant of the thing, else of the token, else of the address, which was found before anything was refused."""
    if isinstance(refused.target, Tenant):
        return refused.target
    of_target = getattr(refused.target, "tenant", None)
    if isinstance(of_target, Tenant):
        return of_target
    if actor.token is not None:
        return actor.token.tenant
    slug = request.resolver_match.kwargs.get("tenant") if request.resolver_match else None
    found: Tenant | None = Tenant.objects.reachable(actor).filter(slug=slug).first() if slug else None
    return found
