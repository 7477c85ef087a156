"""Which rows an actor may reach: ``permitted()``, the one answer that lists and checks share."""

from __future__ import annotations

import difflib
import uuid
from typing import TYPE_CHECKING, Any, Self

from django.apps import apps
from django.db import models
from django.db.models import Q, QuerySet

from personas.domain.rights import ON_TENANT, PEOPLE_ONLY, PERSONA_RIGHTS, TENANT_RIGHTS, Right
from personas.models.base import AppendOnlyQuerySet

if TYPE_CHECKING:
    from personas.actors import Actor


def holds_nothing(actor: Actor, right: Right) -> bool:
    """Whether no row can give the actor this right, whatever is stored."""
    user = actor.user
    if not user.is_authenticated or not user.is_active:
        return True
    if right in PEOPLE_ONLY and actor.account.is_service:
        return True
    return right is Right.ACTIVATE_DIRECTIVE and actor.token is not None and not actor.token.may_review


def granted(model: str, actor: Actor, right: Right) -> Q:
    """Rows of a governed model on which guardian's tables grant the right, to the account or to a group of it."""
    permission = {"permission__codename": right.value, "permission__content_type__model": model.lower()}
    own = apps.get_model("personas", f"{model}UserObjectPermission")
    group = apps.get_model("personas", f"{model}GroupObjectPermission")
    return Q(pk__in=own.objects.filter(user=actor.account, **permission).values("content_object")) | Q(
        pk__in=group.objects.filter(group__user=actor.account, **permission).values("content_object")
    )


class TenantQuerySet(models.QuerySet[Any]):
    def permitted(self, actor: Actor, right: Right = Right.VIEW_TENANT) -> Self:
        """Tenants on which the actor holds the right. Raises `ValueError` for a right that no tenant knows."""
        if right not in TENANT_RIGHTS:
            raise ValueError(f"{right} is no right on a tenant")
        if holds_nothing(actor, right):
            return self.none()
        rows = self if actor.token is None else self.filter(pk=actor.token.tenant_id)
        return rows if actor.account.is_superuser else rows.filter(granted("Tenant", actor, right))

    def reachable(self, actor: Actor) -> Self:
        """Tenants whose name the actor may see: permitted ones, and those of a persona that is permitted."""
        personas = apps.get_model("personas", "AgentPersona").objects.permitted(actor)
        return self.filter(Q(pk__in=self.permitted(actor).values("pk")) | Q(pk__in=personas.values("tenant")))


class PersonaQuerySet(models.QuerySet[Any]):
    def permitted(self, actor: Actor, right: Right = Right.VIEW_PERSONA) -> Self:
        """Personas on which the actor holds the right, through the tenant or on the persona itself.

        Raises `ValueError` for a right that no persona knows.
        """
        if right not in PERSONA_RIGHTS:
            raise ValueError(f"{right} is no right on a persona")
        if holds_nothing(actor, right):
            return self.none()
        tenants = apps.get_model("personas", "Tenant").objects.permitted(actor, ON_TENANT[right])
        if actor.account.is_superuser:
            return self if actor.token is None else self.filter(tenant__in=tenants)
        alone = granted("AgentPersona", actor, right)
        if actor.token is not None:
            alone &= Q(tenant=actor.token.tenant_id)
        return self.filter(Q(tenant__in=tenants.values("pk")) | alone)

    def current(self) -> Self:
        """Personas that are not archived."""
        return self.filter(archived_at=None)


class AgentClassQuerySet(models.QuerySet[Any]):
    def named(self, name: str) -> Self:
        """The agent class with this canonical or short name, if there is one."""
        return self.filter(Q(canonical=name) | Q(short=name))

    def names_near(self, name: str) -> list[str]:
        """At most three canonical names that are near the given one."""
        known = self.order_by("canonical").values_list("short", "canonical")
        names = {key.casefold(): canonical for short, canonical in known for key in (short, canonical)}
        near = difflib.get_close_matches(name.casefold()[:200], names, n=6, cutoff=0.5)
        return list(dict.fromkeys(names[key] for key in near))[:3]


class BindingQuerySet(models.QuerySet[Any]):
    def permitted(self, actor: Actor, right: Right = Right.VIEW_TENANT) -> Self:
        """Bindings of the tenants on which the actor holds the right."""
        tenants = apps.get_model("personas", "Tenant").objects.permitted(actor, right)
        return self.filter(tenant__in=tenants.values("pk"))


class InvitationQuerySet(models.QuerySet[Any]):
    def permitted(self, actor: Actor) -> Self:
        """Invitations to the tenants whose members the actor manages."""
        tenants = apps.get_model("personas", "Tenant").objects.permitted(actor, Right.MANAGE_MEMBERS)
        return self.filter(tenant__in=tenants.values("pk"))

    def waiting(self) -> Self:
        """Invitations that were neither accepted nor revoked; they may have expired."""
        return self.filter(accepted_at=None, revoked_at=None)


class RuleChangeQuerySet(models.QuerySet[Any]):
    def permitted(self, actor: Actor) -> Self:
        """Requests about the tenants whose settings the actor may change."""
        tenants = apps.get_model("personas", "Tenant").objects.permitted(actor, Right.CHANGE_TENANT)
        return self.filter(tenant__in=tenants.values("pk"))

    def pending(self) -> Self:
        return self.filter(status="pending")


class AuditQuerySet(AppendOnlyQuerySet):
    def permitted(self, actor: Actor) -> Self:
        """Entries of the tenants whose audit the actor may read."""
        if not holds_nothing(actor, Right.VIEW_AUDIT) and actor.account.is_superuser and actor.token is None:
            return self
        tenants = apps.get_model("personas", "Tenant").objects.permitted(actor, Right.VIEW_AUDIT)
        return self.filter(tenant__in=tenants.values("pk"))


class TokenQuerySet(models.QuerySet[Any]):
    def valid(self, now: Any) -> Self:
        """Tokens that are neither revoked nor expired at ``now``, of active accounts."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None, user__is_active=True)


def path_of(tenant_id: uuid.UUID) -> QuerySet[Any, Any]:
    """Ids of a tenant and its ancestors, nearest first."""
    rows = apps.get_model("personas", "TenantAncestor").objects.filter(tenant=tenant_id)
    return rows.order_by("distance").values_list("ancestor_id", flat=True)
