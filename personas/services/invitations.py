"""Invitations: offered to an e-mail address, accepted once by the person who reads its mail."""

import secrets
from datetime import datetime, timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.people import clean_address, clean_person_name, clean_username
from personas.domain.rights import PERSONA_RIGHTS, Right, Role
from personas.models import AgentPersona, Invitation, Tenant, User
from personas.permissions import holds, require
from personas.services.accounts import clean_part, grant_persona_right, grant_role
from personas.services.checks import saved
from personas.services.offers import offer_of, revoke_offer
from personas.services.tokens import token_digest

LIFETIME = timedelta(days=7)


class Gone(Conflict):
    """The invitation was used or revoked, has expired, or never was."""

    code = "gone"

    def __init__(self) -> None:
        super().__init__("This invitation was used or revoked, or it has expired. Ask for a new one.")


@transaction.atomic
def invite_member(
    tenant: Tenant,
    email: str,
    *,
    roles: list[Role],
    actor: Actor,
    persona: AgentPersona | None = None,
    persona_right: Right | None = None,
) -> tuple[Invitation, str]:
    """Offer roles, or a right on one persona, to whoever reads the mail of an address; returns the secret of the link.

    The secret is not kept. An earlier invitation of the address to this tenant ends. Whether the address has an account
    makes no difference. Raises `NotPermitted` without ``manage-members`` or for one's own address, `Invalid` for a
    malformed address, for a member, and when nothing is offered.
    """
    require(actor, Right.MANAGE_MEMBERS, tenant)
    address = clean_part(clean_address, email, field="email")
    _check_offer(tenant, roles, persona, persona_right)
    _check_address(tenant, address, actor)
    for earlier in Invitation.objects.waiting().filter(tenant=tenant, email=address).select_for_update():
        revoke_offer(earlier, actor=actor, why="Another one was sent to the address.")
    secret, now = secrets.token_urlsafe(32), timezone.now()
    invitation = Invitation(
        tenant=tenant,
        email=address,
        roles=[role.value for role in sorted(set(roles))],
        persona=persona,
        persona_right=persona_right.value if persona_right else "",
        digest=token_digest(secret),
        invited_by=actor.account,
        invited_by_name=actor.name,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    saved(invitation)
    audit.record("member.invited", invitation, actor=actor, tenant=tenant, after=offer_of(invitation))
    return invitation, secret


def _check_offer(tenant: Tenant, roles: list[Role], persona: AgentPersona | None, right: Right | None) -> None:
    if not roles and persona is None:
        raise Invalid("Choose at least one role, or a persona.", field="roles")
    if persona is not None and persona.tenant_id != tenant.pk:
        raise Invalid("Choose a persona of this tenant.", field="persona")
    if right is not None and right not in PERSONA_RIGHTS:
        raise Invalid("Choose a right that a persona knows.", field="persona")


def _check_address(tenant: Tenant, address: str, actor: Actor) -> None:
    if address == actor.account.email.lower():
        raise NotPermitted("Nobody invites themselves: ask another admin.")
    # Said to those alone who can see the members and their addresses anyway.
    if User.objects.filter(email__iexact=address, groups__tenant_role__tenant=tenant).exists():
        raise Invalid("This person is a member already: change the roles on their page.", field="email")


@transaction.atomic
def revoke_invitation(invitation: Invitation, *, actor: Actor) -> Invitation:
    """End an invitation at once; nothing happens to one that waits no longer. Raises `NotPermitted` without
    ``manage-members``, `Conflict` when it was accepted."""
    require(actor, Right.MANAGE_MEMBERS, invitation.tenant)
    row: Invitation = Invitation.objects.select_for_update(of=("self",)).get(pk=invitation.pk)
    if row.accepted_at is not None:
        raise Conflict("It was accepted meanwhile: remove the person instead.")
    if row.revoked_at is None:
        revoke_offer(row, actor=actor)
    return row


def find_invitation(digest: str) -> Invitation | None:
    """The open invitation whose secret has this sha256."""
    related = Invitation.objects.select_related("tenant", "persona", "invited_by")
    found: Invitation | None = related.filter(digest=digest).first()
    return found if found is not None and _is_usable(found, timezone.now()) else None


def _is_usable(invitation: Invitation, now: datetime) -> bool:
    """An offer ends with the right of whoever made it."""
    inviter = Actor(invitation.invited_by)
    return invitation.is_open(now) and holds(inviter, Right.MANAGE_MEMBERS, invitation.tenant)


@transaction.atomic
def accept_invitation(invitation: Invitation, *, actor: Actor) -> Invitation:
    """Take what was offered to one's own address. Works once, also for two requests at once.

    Raises `Gone` when it is no longer open, `NotPermitted` for an account with another address.
    """
    row = _lock_open(invitation)
    if actor.account.email.lower() != row.email:
        raise NotPermitted("This invitation is for another e-mail address than that of your account.", target=row)
    return _take(row, actor)


@transaction.atomic
def join_by_invitation(
    invitation: Invitation, *, username: str, name: str, password: str, request_id: str = ""
) -> User:
    """Make an account with exactly the invited address, and take what was offered to it. Works once.

    Raises `Gone` when it is no longer open, `Conflict` when the address has an account, `Invalid` for a taken or
    malformed name or a weak password.
    """
    row = _lock_open(invitation)
    if User.objects.filter(email__iexact=row.email).exists():
        raise Conflict("This address has an account by now: log in with it first.")
    person = User(
        username=clean_part(clean_username, username, field="username"),
        name=clean_part(clean_person_name, name, field="name"),
        email=row.email,
    )
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from error
    person.set_password(password)
    saved(person)
    actor = Actor(person, request_id=request_id)
    audit.record("person.created", person, actor=actor, tenant=row.tenant, after={"username": person.username})
    _take(row, actor)
    return person


def _lock_open(invitation: Invitation) -> Invitation:
    related = ("tenant", "persona__tenant", "invited_by")
    row: Invitation = Invitation.objects.select_for_update(of=("self",)).select_related(*related).get(pk=invitation.pk)
    if not _is_usable(row, timezone.now()):
        raise Gone
    return row


def _take(row: Invitation, actor: Actor) -> Invitation:
    """The one who invited gives; the audit names both."""
    giver = Actor(row.invited_by, request_id=actor.request_id)
    for role in row.role_list:
        grant_role(row.tenant, actor.account, role, actor=giver)
    if row.persona is not None:
        grant_persona_right(row.persona, actor.account, Right(row.persona_right), actor=giver)
    row.accepted_at, row.accepted_by = timezone.now(), actor.account
    row.save(update_fields=["accepted_at", "accepted_by"])
    after = {**offer_of(row), "invited_by": row.invited_by_name}
    audit.record("invitation.accepted", row, actor=actor, tenant=row.tenant, after=after)
    return row
