"""Leaving a tenant: removed by an admin or by oneself, and what happens to an account that belongs nowhere then."""

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Length

from personas import audit, hooks
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid
from personas.domain.people import FORMER_PREFIX, former_names
from personas.domain.rights import Right
from personas.models import Invitation, Tenant, User
from personas.permissions import belongs_somewhere, require, require_superuser, take_all
from personas.services.accounts import check_admin_stays, check_admins_stay, revoke_tokens
from personas.services.offers import revoke_offers_by, revoke_offers_to

TRIES = 20


@transaction.atomic
def remove_member(tenant: Tenant, user: User, *, actor: Actor) -> User:
    """Take every role, right on a persona, and token that a person has in the tenant, at once. Anyone may leave.

    What they offered there ends, and what was offered there to their address; offers of other tenants are not touched.

    A person who then belongs nowhere and is neither staff nor superuser is retired: logged out, nameless, and for good.
    Raises `NotPermitted` without ``manage-members``, `Conflict` for the last admin, `Invalid` for a service account or
    somebody who is no member.
    """
    if user != actor.account:
        require(actor, Right.MANAGE_MEMBERS, tenant)
    if user.is_service:
        raise Invalid("A service account is deactivated, not removed.")
    _end_offers(user, tenant, actor, "removed")  # every lock on invitations comes before any on roles
    check_admin_stays(tenant, user)
    user = User.objects.select_for_update().get(pk=user.pk)
    if not _take_everything(user, tenant, actor):
        raise Invalid("This person is no member here.")
    if not (user.is_staff or user.is_superuser or belongs_somewhere(user)):
        _retire(user, actor, tenant)
    return user


@transaction.atomic
def retire_account(user: User, *, actor: Actor) -> User:
    """End a person's account everywhere, as if removed from every tenant. A superuser act.

    Raises `Conflict` for the last admin of some tenant and for oneself, `Invalid` for a service account.
    """
    require_superuser(actor, "retire an account")
    if user == actor.account:
        raise Conflict("Nobody retires their own account: ask another superuser.")
    if user.is_service:
        raise Invalid("A service account is deactivated, not retired.")
    with_role = Q(roles__group__user=user)
    with_right = Q(personas__agentpersonauserobjectpermission__user=user) | Q(tenantuserobjectpermission__user=user)
    tenants = list(Tenant.objects.filter(with_role | with_right).distinct().order_by("pk"))
    _end_offers(user, None, actor, "retired")
    check_admins_stay(user)
    # All superusers are held: of two who retire each other, one stays.
    superusers = User.objects.select_for_update().filter(is_superuser=True).order_by("pk")
    if actor.account.pk not in [other.pk for other in superusers if other.is_active]:
        raise Conflict("You are no superuser any more.")
    user = User.objects.select_for_update().get(pk=user.pk)
    for tenant in tenants:
        _take_everything(user, tenant, actor)
    _retire(user, actor, None)
    return user


def _end_offers(user: User, tenant: Tenant | None, actor: Actor, done: str) -> None:
    """What the person offered, and what was offered to them: neither lets anybody in, or back in, afterwards."""
    revoke_offers_by(user, tenant, actor=actor, why=f"Whoever offered it was {done}.")
    revoke_offers_to(user, tenant, actor=actor, why=f"The person with this address was {done}.")


def _take_everything(user: User, tenant: Tenant, actor: Actor) -> bool:
    """Whether there was anything to take but tokens."""
    taken = take_all(user, tenant)
    before = {**taken, "tokens": revoke_tokens(user, tenant)}
    audit.record("member.removed", user, actor=actor, tenant=tenant, before=before)
    for heard in hooks.person_removed:
        heard(user, tenant, actor)
    return any(taken.values())


def _retire(user: User, actor: Actor, tenant: Tenant | None) -> None:
    """Nothing is deleted: the row stays for what the person did, and the names written then stay beside it."""
    revoke_tokens(user)
    audit.record("account.retired", user, actor=actor, tenant=tenant)
    Invitation.objects.filter(accepted_by=user).update(email="")
    user.is_active = user.is_staff = user.is_superuser = False
    user.email, user.last_login = "", None
    user.set_unusable_password()
    _rename(user)


def _rename(user: User) -> None:
    """Give the next free number. Two removals at once can both see the same one free."""
    numbered = User.objects.filter(username__regex=rf"^{FORMER_PREFIX}[0-9]{{1,9}}$")
    for _ in range(TRIES):
        last = numbered.order_by(Length("username").desc(), "-username").first()
        number = int(last.username.removeprefix(FORMER_PREFIX)) + 1 if last else 1
        user.username, user.name = former_names(number)
        try:
            with transaction.atomic():
                user.save(update_fields=[
                    "username", "name", "email", "password", "is_active", "is_staff", "is_superuser", "last_login",
                ])  # fmt: skip
        except IntegrityError:
            continue
        return
    raise Conflict("Too many people are being removed at this moment: try again.")
