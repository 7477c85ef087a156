"""What pages read about the members of a tenant: who holds which role, who may do what on a single persona."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone

from personas.domain.rights import Right, Role
from personas.models import (
    AgentPersona,
    AgentPersonaUserObjectPermission,
    APIToken,
    AuditEntry,
    Invitation,
    Tenant,
    User,
)

ROLES = tuple(Role)
# What a role lets somebody do, for who is about to give or take it.
MEANINGS = {
    Role.VIEWER: "sees the personas, the proposals and the members of the tenant",
    Role.EDITOR: "sees the tenant, writes drafts and proposals, and gives feedback",
    Role.REVIEWER: "can make a text live: approves and rejects proposals, and does what an editor does",
    Role.ADMIN: (
        "manages members, roles, agents, tokens and settings, and reads the audit; writes proposals, and approves none"
    ),
}
PERSONA_MEANINGS = {
    Right.VIEW_PERSONA: "sees this persona and its proposals",
    Right.CHANGE_PERSONA: "writes drafts and proposals for this persona",
    Right.ACTIVATE_DIRECTIVE: "can make a text of this persona live",
}


@dataclass(frozen=True, slots=True)
class Member:
    """An account of a tenant, its roles, its valid tokens there, and the personas that run as it."""

    user: User
    roles: frozenset[Role]
    tokens: int
    last_seen: datetime | None
    runs: int

    @property
    def marks(self) -> list[tuple[Role, bool]]:
        return [(role, role in self.roles) for role in ROLES]


def people(tenant: Tenant, words: str = "") -> QuerySet[User, User]:
    """The people with a role in the tenant, by name. ``words`` must all stand in the name, user name or address."""
    rows = User.objects.filter(kind=User.Kind.PERSON, pk__in=_role_holders(tenant))
    for word in words.split():
        rows = rows.filter(Q(name__icontains=word) | Q(username__icontains=word) | Q(email__icontains=word))
    return rows.order_by(Lower("name"), "username")


def service_accounts(tenant: Tenant) -> QuerySet[User, User]:
    """The service accounts of the tenant, the active ones first."""
    return User.objects.filter(tenant=tenant).order_by("-is_active", Lower("name"), "username")


def belonging(tenant: Tenant) -> QuerySet[User, User]:
    """Every account with anything in the tenant: a role, a right on one of its personas, or as a service account."""
    alone = AgentPersonaUserObjectPermission.objects.filter(content_object__tenant=tenant).values("user")
    return User.objects.filter(Q(tenant=tenant) | Q(pk__in=_role_holders(tenant)) | Q(pk__in=alone))


def account_with(address: str) -> User | None:
    """The account with an e-mail address, of any tenant: for who has proved that the address is theirs."""
    return User.objects.filter(email__iexact=address).first() if address else None


def _role_holders(tenant: Tenant) -> Any:
    return User.groups.through.objects.filter(group__tenant_role__tenant=tenant).values("user_id")


def members(tenant: Tenant, users: Sequence[User]) -> list[Member]:
    """These accounts as members of the tenant, in their order, in four statements."""
    ids = [user.pk for user in users]
    roles: dict[UUID, set[Role]] = defaultdict(set)
    held = User.groups.through.objects.filter(user__in=ids, group__tenant_role__tenant=tenant)
    for user, role in held.values_list("user_id", "group__tenant_role__role"):
        roles[user].add(Role(role))
    tokens = APIToken.objects.filter(tenant=tenant, user__in=ids).order_by()
    used = {row["user"]: row["last"] for row in tokens.values("user").annotate(last=Max("last_used_at"))}
    usable = tokens.valid(timezone.now()).values("user").annotate(n=Count("pk"))
    valid = {row["user"]: row["n"] for row in usable}
    run = AgentPersona.objects.current().filter(tenant=tenant, run_as__in=ids).order_by().values("run_as")
    runs = {row["run_as"]: row["n"] for row in run.annotate(n=Count("pk"))}
    return [
        Member(
            user=user,
            roles=frozenset(roles[user.pk]),
            tokens=valid.get(user.pk, 0),
            last_seen=max(filter(None, (user.last_login, used.get(user.pk))), default=None),
            runs=runs.get(user.pk, 0),
        )
        for user in users
    ]


def run_by(user: User, tenant: Tenant) -> list[AgentPersona]:
    """The personas of the tenant that run as this account, by name."""
    rows = AgentPersona.objects.current().filter(tenant=tenant, run_as=user)
    return list(rows.select_related("agent_class").order_by("name_key", "pk")[:100])


@dataclass(frozen=True, slots=True)
class Holder:
    """An account and what it may do with one persona, beside what its roles allow."""

    user: User
    persona: AgentPersona
    rights: tuple[Right, ...]

    @property
    def meaning(self) -> str:
        return "; ".join(PERSONA_MEANINGS[right] for right in reversed(self.rights))


def persona_holders(tenant: Tenant, user: User | None = None) -> list[Holder]:
    """Who holds rights on single personas of the tenant, by persona and name."""
    rows = AgentPersonaUserObjectPermission.objects.filter(content_object__tenant=tenant)
    rows = rows.filter(content_object__archived_at=None)
    rows = rows.filter(user=user) if user else rows
    ordered = rows.select_related("user", "content_object", "permission").order_by(
        "content_object__name_key", "content_object_id", Lower("user__name"), "user__username"
    )
    found: dict[tuple[UUID, UUID], tuple[Any, list[Right]]] = {}
    for row in ordered:
        key = (row.content_object_id, row.user_id)
        found.setdefault(key, (row, []))[1].append(Right(row.permission.codename))
    order = list(PERSONA_MEANINGS)
    return [
        Holder(row.user, row.content_object, tuple(sorted(rights, key=order.index))) for row, rights in found.values()
    ]


def waiting_invitations(tenant: Tenant) -> list[Invitation]:
    """Invitations to the tenant that nobody accepted or revoked, the newest first; they may have expired."""
    rows = Invitation.objects.waiting().filter(tenant=tenant).select_related("persona")
    return list(rows.order_by("-created_at", "pk")[:200])


def who_can_activate(tenant: Tenant) -> int:
    """How many people can make any text of the tenant live."""
    role = {"groups__tenant_role__tenant": tenant, "groups__tenant_role__role": Role.REVIEWER}
    return User.objects.filter(kind=User.Kind.PERSON, is_active=True, **role).count()


def is_last_admin(tenant: Tenant, user: User) -> bool:
    """Whether nobody else could manage the members if this person left."""
    role = {"groups__tenant_role__tenant": tenant, "groups__tenant_role__role": Role.ADMIN}
    admins = User.objects.filter(is_active=True, **role)
    return admins.filter(pk=user.pk).exists() and not admins.exclude(pk=user.pk).exists()


def former_members(tenant: Tenant) -> int:
    """How many people were removed from the tenant and did not come back."""
    gone = AuditEntry.objects.filter(tenant=tenant, verb="member.removed").values("object_id").distinct()
    here = {str(pk) for pk in belonging(tenant).values_list("pk", flat=True)}
    return len({row["object_id"] for row in gone} - here)
