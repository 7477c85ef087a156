"""The one door to rights: checks for services and views, and grants for the services that audit them."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Group
from django.db import models
from guardian.shortcuts import assign_perm, remove_perm

from personas.actors import Actor
from personas.domain.errors import NotPermitted
from personas.domain.rights import PERSONA_RIGHTS, ROLE_RIGHTS, TENANT_RIGHTS, Right, Role
from personas.models import (
    AgentPersona,
    AgentPersonaUserObjectPermission,
    Tenant,
    TenantGroupObjectPermission,
    TenantRole,
    TenantUserObjectPermission,
    User,
)
from personas.querysets import holds_nothing

WORDS = {
    Right.VIEW_TENANT: "see this tenant",
    Right.CHANGE_TENANT: "change the settings of this tenant",
    Right.MANAGE_PERSONAS: "write drafts and proposals here",
    Right.GIVE_FEEDBACK: "give feedback here",
    Right.ACTIVATE_DIRECTIVE: "activate directives",
    Right.MANAGE_MEMBERS: "manage members here",
    Right.MANAGE_BINDINGS: "manage agent bindings here",
    Right.MANAGE_TOKENS: "manage tokens here",
    Right.VIEW_AUDIT: "read the audit here",
    Right.VIEW_PERSONA: "see this persona",
    Right.CHANGE_PERSONA: "write drafts and proposals for this persona",
}


class PersonBackend(ModelBackend):
    """Log-in with a password, for active people only. It grants nothing: rights live on objects."""

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) and not user.is_service

    def has_perm(self, user_obj: Any, perm: str, obj: models.Model | None = None) -> bool:
        return False

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return False


def holds(actor: Actor, right: Right, target: Tenant | AgentPersona) -> bool:
    """Whether the actor holds the right on the tenant or persona. The same query as the lists use."""
    return type(target).objects.permitted(actor, right).filter(pk=target.pk).exists()


def rights_on(actor: Actor, tenant: Tenant) -> frozenset[Right]:
    """Every right the actor holds on a tenant, in two statements. The same answer as `holds` for each of them."""
    possible = {right for right in TENANT_RIGHTS if not holds_nothing(actor, right)}
    if actor.token is not None and actor.token.tenant_id != tenant.pk:
        return frozenset()
    if possible and actor.account.is_superuser:
        return frozenset(possible)
    if not possible:
        return frozenset()
    own = TenantUserObjectPermission.objects.filter(user=actor.account, content_object=tenant)
    group = TenantGroupObjectPermission.objects.filter(group__user=actor.account, content_object=tenant)
    stored = set(own.values_list("permission__codename", flat=True))
    stored |= set(group.values_list("permission__codename", flat=True))
    return frozenset(right for right in possible if right.value in stored)


def holders(accounts: Iterable[User], right: Right, tenant: Tenant) -> set[UUID]:
    """Which of these accounts hold the right on a tenant, in two statements. The same answer as `holds` for each."""
    possible = {account.pk: account for account in accounts if not holds_nothing(Actor(account), right)}
    stored = {"content_object": tenant, "permission__codename": right.value}
    own = TenantUserObjectPermission.objects.filter(user__in=possible, **stored)
    group = TenantGroupObjectPermission.objects.filter(group__user__in=possible, **stored)
    found = set(own.values_list("user", flat=True)) | set(group.values_list("group__user", flat=True))
    return {pk for pk, account in possible.items() if pk in found or account.is_superuser}


def require(actor: Actor, right: Right, target: Tenant | AgentPersona) -> None:
    """Raise `NotPermitted` unless the actor holds the right on the tenant or persona."""
    if not holds(actor, right, target):
        message = f"You may not {WORDS[right]}: “{target}” needs the right {right.value}."
        raise NotPermitted(message, right=right.value, target=target)


def require_superuser(actor: Actor, what: str) -> None:
    """Raise `NotPermitted` unless the actor is an active superuser without a token."""
    if not (actor.user.is_active and actor.user.is_superuser and actor.token is None):
        raise NotPermitted(f"Only a superuser may {what}.", right="superuser")


def make_role_group(tenant: Tenant, role: Role) -> TenantRole:
    """The group of a role on a new tenant, with its object permissions."""
    group = Group.objects.create(name=f"{tenant.pk}:{role.value}")
    for right in ROLE_RIGHTS[role]:
        assign_perm(right.value, group, tenant)
    return TenantRole.objects.create(tenant=tenant, role=role.value, group=group)


def give(right: Right, user: User, target: Tenant | AgentPersona) -> None:
    """Grant one right on one object to one account. Called by services, which audit it."""
    allowed = PERSONA_RIGHTS if isinstance(target, AgentPersona) else TENANT_RIGHTS
    if right not in allowed:
        raise ValueError(f"{right} cannot be granted on {target!r}")
    assign_perm(right.value, user, target)


def take(right: Right, user: User, target: Tenant | AgentPersona) -> None:
    """Take one right on one object from one account. Called by services, which audit it."""
    remove_perm(right.value, user, target)


def take_all(user: User, tenant: Tenant) -> dict[str, list[str]]:
    """Take every role and right that an account has on a tenant and its personas.

    Returns what was taken, for the audit: names of roles, and ``right on persona``. Called by services, which audit it.
    """
    groups = Group.objects.filter(tenant_role__tenant=tenant, user=user)
    roles = sorted(groups.values_list("tenant_role__role", flat=True))
    on_personas = AgentPersonaUserObjectPermission.objects.filter(user=user, content_object__tenant=tenant)
    names = on_personas.values_list("permission__codename", "content_object__name")
    rights = sorted(f"{codename} on {name}" for codename, name in names)
    user.groups.remove(*groups)
    on_personas.delete()
    TenantUserObjectPermission.objects.filter(user=user, content_object=tenant).delete()
    return {"roles": roles, "rights": rights}


def belongs_somewhere(user: User) -> bool:
    """Whether an account has a role or right on any tenant or persona."""
    return (
        user.groups.filter(tenant_role__isnull=False).exists()
        or TenantUserObjectPermission.objects.filter(user=user).exists()
        or AgentPersonaUserObjectPermission.objects.filter(user=user).exists()
    )
