"""People, service accounts, and the rights they are given."""

from django.db import transaction

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import PEOPLE_ONLY, PERSONA_RIGHTS, ROLE_RIGHTS, Right, Role
from personas.models import AgentPersona, Tenant, TenantRole, User
from personas.permissions import give, require, require_superuser, take
from personas.services.checks import saved


@transaction.atomic
def create_person(username: str, *, name: str, email: str, password: str | None, actor: Actor) -> User:
    """Make an account for a person, without any right. A superuser act. Raises `Invalid` for a taken name."""
    require_superuser(actor, "make an account for a person")
    person = User(username=username, name=name, email=email)
    person.set_password(password)
    saved(person)
    audit.record("person.created", person, actor=actor, tenant=None, after={"username": username})
    return person


@transaction.atomic
def create_service_account(tenant: Tenant, username: str, *, name: str, actor: Actor) -> User:
    """Make an account for a runtime. It may view its tenant, and cannot log in to pages.

    Raises `NotPermitted` without ``manage-members``, `Invalid` for a taken name.
    """
    require(actor, Right.MANAGE_MEMBERS, tenant)
    account = User(username=username, name=name, kind=User.Kind.SERVICE, tenant=tenant)
    account.set_unusable_password()
    saved(account, exclude=["password"])
    account.groups.add(TenantRole.objects.get(tenant=tenant, role=Role.VIEWER).group)
    audit.record("service_account.created", account, actor=actor, tenant=tenant, after={"username": username})
    return account


@transaction.atomic
def grant_role(tenant: Tenant, user: User, role: Role, *, actor: Actor) -> None:
    """Give one of the four roles of a tenant.

    Raises `NotPermitted` without ``manage-members`` or for oneself, `Invalid` for a role the account cannot hold.
    """
    group = _role_group(tenant, user, role, actor)
    if user.is_service and (user.tenant_id != tenant.pk or ROLE_RIGHTS[role] & PEOPLE_ONLY):
        raise Invalid("A service account can be viewer or editor of its own tenant, nothing else.", field="role")
    if not user.groups.filter(pk=group.group_id).exists():
        user.groups.add(group.group)
        audit.record("role.granted", user, actor=actor, tenant=tenant, after={"role": role.value})


@transaction.atomic
def revoke_role(tenant: Tenant, user: User, role: Role, *, actor: Actor) -> None:
    """Take a role; nothing happens if the account has it not. Raises `Conflict` for the tenant's last admin."""
    group = _role_group(tenant, user, role, actor, revoking=True)
    if not user.groups.filter(pk=group.group_id).exists():
        return
    if role is Role.ADMIN and not group.group.user_set.filter(is_active=True).exclude(pk=user.pk).exists():
        raise Conflict("This is the last admin of the tenant: give the role to somebody else first.")
    user.groups.remove(group.group)
    audit.record("role.revoked", user, actor=actor, tenant=tenant, before={"role": role.value})


def _role_group(tenant: Tenant, user: User, role: Role, actor: Actor, *, revoking: bool = False) -> TenantRole:
    require(actor, Right.MANAGE_MEMBERS, tenant)
    if user == actor.account and not revoking and not actor.account.is_superuser:
        raise NotPermitted("Nobody gives a role to themselves: ask another admin.")
    return TenantRole.objects.select_for_update(of=("self",)).select_related("group").get(tenant=tenant, role=role)


@transaction.atomic
def grant_persona_right(persona: AgentPersona, user: User, right: Right, *, actor: Actor) -> None:
    """Give a right on one persona alone; the holder sees that persona's pages and nothing else of the tenant.

    Raises `NotPermitted` without ``manage-members`` or for oneself, `Invalid` for a service account that may not
    hold it.
    """
    require(actor, Right.MANAGE_MEMBERS, persona.tenant)
    if user == actor.account and not actor.account.is_superuser:
        raise NotPermitted("Nobody gives a right to themselves: ask another admin.")
    if user.is_service and right in PEOPLE_ONLY:
        raise Invalid("A service account cannot hold this right.", field="right")
    for needed in dict.fromkeys((Right.VIEW_PERSONA, right)):
        give(needed, user, persona)
    after = {"user": user.username, "right": right.value}
    audit.record("persona_right.granted", persona, actor=actor, tenant=persona.tenant, after=after)


@transaction.atomic
def revoke_persona_right(persona: AgentPersona, user: User, right: Right, *, actor: Actor) -> None:
    """Take a right on one persona, and with the right to see it every other. Raises `NotPermitted` without
    ``manage-members``."""
    require(actor, Right.MANAGE_MEMBERS, persona.tenant)
    for lost in PERSONA_RIGHTS if right is Right.VIEW_PERSONA else (right,):
        take(lost, user, persona)
    before = {"user": user.username, "right": right.value}
    audit.record("persona_right.revoked", persona, actor=actor, tenant=persona.tenant, before=before)
