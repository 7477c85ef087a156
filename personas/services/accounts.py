"""People, service accounts, and the rights they are given."""

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.people import SERVICE_PREFIX, clean_address, clean_person_name, clean_username
from personas.domain.rights import PEOPLE_ONLY, PERSONA_RIGHTS, ROLE_RIGHTS, Right, Role
from personas.domain.text import TextFault
from personas.models import AgentPersona, APIToken, Tenant, TenantRole, User
from personas.permissions import give, require, require_superuser, take
from personas.services.checks import saved
from personas.services.offers import revoke_offers_by

SERVICE_ROLES = (Role.VIEWER, Role.EDITOR)


def clean_part(clean: Callable[[str], str], text: str, *, field: str) -> str:
    """What a rule of `personas.domain.people` makes of a part of an account. Raises `Invalid` where it refuses."""
    try:
        return clean(text)
    except TextFault as fault:
        raise Invalid(str(fault), field=field) from fault


@transaction.atomic
def create_person(username: str, *, name: str, email: str, password: str | None, actor: Actor) -> User:
    """Make an account for a person, without any right. A superuser act. Raises `Invalid` for a taken name or one that
    is kept for other accounts."""
    require_superuser(actor, "make an account for a person")
    person = User(
        username=clean_part(clean_username, username, field="username"),
        name=clean_part(clean_person_name, name, field="name") if name else "",
        email=clean_part(clean_address, email, field="email") if email else "",
    )
    person.set_password(password)
    saved(person)
    audit.record("person.created", person, actor=actor, tenant=None, after={"username": person.username})
    return person


@transaction.atomic
def create_service_account(tenant: Tenant, username: str, *, name: str, actor: Actor, role: Role = Role.VIEWER) -> User:
    """Make an account for a runtime, viewer or editor of its tenant. It cannot log in to pages.

    Raises `NotPermitted` without ``manage-members``, `Invalid` for another role, a taken name, or a user name that
    does not start with ``svc-``.
    """
    require(actor, Right.MANAGE_MEMBERS, tenant)
    if role not in SERVICE_ROLES:
        raise Invalid("A service account can be viewer or editor of its own tenant, nothing else.", field="role")
    username = clean_part(lambda text: clean_username(text, prefix=SERVICE_PREFIX), username, field="username")
    name = clean_part(clean_person_name, name, field="name") if name else ""
    account = User(username=username, name=name, kind=User.Kind.SERVICE, tenant=tenant)
    account.set_unusable_password()
    saved(account, exclude=["password"])
    account.groups.add(TenantRole.objects.get(tenant=tenant, role=role).group)
    after = {"username": username, "role": role.value}
    audit.record("service_account.created", account, actor=actor, tenant=tenant, after=after)
    return account


@transaction.atomic
def deactivate_service_account(account: User, *, actor: Actor) -> User:
    """Stop a service account and revoke its tokens, at once. Personas that run as it stay as they are.

    Raises `NotPermitted` without ``manage-members`` on its tenant, `Invalid` for a person.
    """
    account, tenant = _lock_service_account(account, actor)
    if account.is_active:
        account.is_active = False
        account.save(update_fields=["is_active"])
        before = {"tokens": revoke_tokens(account)}
        audit.record("service_account.deactivated", account, actor=actor, tenant=tenant, before=before)
    return account


@transaction.atomic
def activate_service_account(account: User, *, actor: Actor) -> User:
    """Let a deactivated service account act again, with new tokens only. Raises as `deactivate_service_account`."""
    account, tenant = _lock_service_account(account, actor)
    if not account.is_active:
        account.is_active = True
        account.save(update_fields=["is_active"])
        audit.record("service_account.activated", account, actor=actor, tenant=tenant)
    return account


def _lock_service_account(account: User, actor: Actor) -> tuple[User, Tenant]:
    if account.tenant is None:
        raise Invalid("This is a person, not a service account.")
    require(actor, Right.MANAGE_MEMBERS, account.tenant)
    return User.objects.select_for_update(no_key=True).get(pk=account.pk), account.tenant


def revoke_tokens(account: User, tenant: Tenant | None = None) -> list[str]:
    """End all tokens of an account at once, or those of one tenant; their prefixes. For services, which audit it."""
    rows = APIToken.objects.filter(user=account, revoked_at=None)
    rows = rows.filter(tenant=tenant) if tenant else rows
    prefixes = list(rows.order_by("prefix").values_list("prefix", flat=True))
    rows.update(revoked_at=timezone.now())
    return prefixes


@transaction.atomic
def grant_role(tenant: Tenant, user: User, role: Role, *, actor: Actor) -> None:
    """Give one of the four roles of a tenant.

    Raises `NotPermitted` without ``manage-members`` or for oneself, `Invalid` for a role the account cannot hold or an
    account that is not active.
    """
    require(actor, Right.MANAGE_MEMBERS, tenant)
    _refuse_oneself(user, actor)
    group = _lock_role(tenant, role).group
    _lock_active(user)
    if user.is_service and (user.tenant_id != tenant.pk or ROLE_RIGHTS[role] & PEOPLE_ONLY):
        raise Invalid("A service account can be viewer or editor of its own tenant, nothing else.", field="role")
    if not user.groups.filter(pk=group.pk).exists():
        user.groups.add(group)
        audit.record("role.granted", user, actor=actor, tenant=tenant, after={"role": role.value})


@transaction.atomic
def revoke_role(tenant: Tenant, user: User, role: Role, *, actor: Actor) -> None:
    """Take a role; nothing happens if the account has it not. Anyone may lay down a role of their own.

    Who is no longer admin has invited nobody: their open invitations are revoked. Raises `NotPermitted` without
    ``manage-members``, `Conflict` for the tenant's last admin.
    """
    if user != actor.account:
        require(actor, Right.MANAGE_MEMBERS, tenant)
    if role is Role.ADMIN:
        revoke_offers_by(user, tenant, actor=actor, why="Whoever offered it is no longer admin.")
        check_admin_stays(tenant, user)
    group = _lock_role(tenant, role).group
    if user.groups.filter(pk=group.pk).exists():
        user.groups.remove(group)
        audit.record("role.revoked", user, actor=actor, tenant=tenant, before={"role": role.value})


def check_admin_stays(tenant: Tenant, user: User) -> None:
    """Raise `Conflict` if ``user`` is the last active admin of the tenant. Holds the role until the end of the
    transaction, so that two admins cannot leave at once."""
    admins = _lock_role(tenant, Role.ADMIN).group.user_set
    if admins.filter(pk=user.pk).exists() and not admins.filter(is_active=True).exclude(pk=user.pk).exists():
        raise Conflict(f"This is the last admin of {tenant}: give the role to somebody else first.")


def check_admins_stay(user: User) -> None:
    """The same for every tenant that the account is an admin of, always in one order. Raises `Conflict`."""
    role = {"roles__role": Role.ADMIN, "roles__group__user": user}
    for tenant in Tenant.objects.filter(**role).order_by("pk"):
        check_admin_stays(tenant, user)


def _lock_role(tenant: Tenant, role: Role) -> TenantRole:
    return TenantRole.objects.select_for_update(of=("self",)).select_related("group").get(tenant=tenant, role=role)


def _lock_active(user: User) -> None:
    """Whoever is being removed gets nothing meanwhile."""
    if not User.objects.select_for_update(no_key=True).get(pk=user.pk).is_active:
        raise Invalid(f"{user} is not active.", field="user")


def _refuse_oneself(user: User, actor: Actor) -> None:
    if user == actor.account and not actor.account.is_superuser:
        raise NotPermitted("Nobody gives a role or right to themselves: ask another admin.")


@transaction.atomic
def grant_persona_right(persona: AgentPersona, user: User, right: Right, *, actor: Actor) -> None:
    """Give a right on one persona alone; the holder sees that persona's pages and nothing else of the tenant.

    Raises `NotPermitted` without ``manage-members`` or for oneself, `Invalid` for a service account that may not
    hold it or an account that is not active.
    """
    require(actor, Right.MANAGE_MEMBERS, persona.tenant)
    _refuse_oneself(user, actor)
    _lock_active(user)
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
