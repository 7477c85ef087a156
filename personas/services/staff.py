"""What only superusers do to accounts: who is active, staff or superuser, and which roles an account holds."""

from collections.abc import Iterable

from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid
from personas.domain.people import FORMER_PREFIX
from personas.domain.rights import Role
from personas.models import AgentPersona, TenantRole, User
from personas.permissions import require_superuser
from personas.services.accounts import check_admins_stay, grant_role, revoke_role
from personas.services.offers import revoke_offers_by
from personas.services.tokens import revoke_token

FLAGS = ("is_active", "is_staff", "is_superuser")


@transaction.atomic
def set_account_flags(
    user: User,
    *,
    actor: Actor,
    is_active: bool | None = None,
    is_staff: bool | None = None,
    is_superuser: bool | None = None,
    give: Iterable[TenantRole] = (),
    take: Iterable[TenantRole] = (),
) -> User:
    """Set what an account is; None leaves a flag as it is. ``give`` and ``take`` are roles, each audited in its tenant.

    An account that is no longer active loses its sessions, its tokens and what it offered to others, for good. A
    superuser act. Raises `Invalid` for a service account that should be staff or superuser, `Conflict` for the last
    active superuser, for the last admin of a tenant, for a retired account, and for a superuser whom an enabled persona
    runs as.
    """
    require_superuser(actor, "change what an account is")
    if is_active is False:  # before any lock on a role, as accepting an invitation takes them
        revoke_offers_by(user, actor=actor, why="The account that offered it was deactivated.")
    # Then roles: the services that give and take them lock a role before the account that gets it.
    for role in take:
        revoke_role(role.tenant, user, Role(role.role), actor=actor)
    for role in give:
        grant_role(role.tenant, user, Role(role.role), actor=actor)
    if is_active is False and user.is_active:
        check_admins_stay(user)
    given = dict(zip(FLAGS, (is_active, is_staff, is_superuser), strict=True))
    if is_active is False or is_superuser is False:
        # All superusers are held: of two who take the flag from each other, one stays.
        list(User.objects.select_for_update(no_key=True).filter(is_superuser=True).order_by("pk").values_list("pk"))
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    after = {name: value for name, value in given.items() if value is not None and value != getattr(user, name)}
    if not after:
        return user
    before = {name: getattr(user, name) for name in after}
    _check(user, after)
    for name, value in after.items():
        setattr(user, name, value)
    user.save(update_fields=list(after))
    audit.record("account.changed", user, actor=actor, tenant=user.tenant, before=before, after=after)
    if after.get("is_active") is False:
        _end_access(user, actor)
    return user


def _check(user: User, after: dict[str, bool]) -> None:
    if user.is_service and (after.get("is_staff") or after.get("is_superuser")):
        raise Invalid("A service account is neither staff nor superuser.")
    if after.get("is_active") and user.username.startswith(FORMER_PREFIX):
        raise Conflict("This account was retired, which is for good: make another one.")
    if user.is_superuser and user.is_active and False in (after.get("is_active"), after.get("is_superuser")):
        others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
        if not others.exists():
            raise Conflict("This is the last superuser: make somebody else a superuser first.")
    if after.get("is_superuser") and AgentPersona.objects.filter(run_as=user, enabled=True).exists():
        raise Conflict("No persona may run as a superuser: let the personas of this account run as another one first.")


def _end_access(user: User, actor: Actor) -> None:
    """End every session and token, so that making the account active again brings none of them back."""
    for token in user.api_tokens.filter(revoked_at=None).select_related("tenant"):
        revoke_token(token, actor=actor)
    open_sessions = Session.objects.filter(expire_date__gt=timezone.now())
    # A session does not say whose it is until it is read.
    mine = [row.pk for row in open_sessions.iterator() if row.get_decoded().get("_auth_user_id") == str(user.pk)]
    Session.objects.filter(pk__in=mine).delete()
