"""What the pages of the audit show: entries by filter, in pages, in words, with links to what is still there."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse

from personas.actors import Actor
from personas.audit import SYSTEM
from personas.domain.leaves import Change, Same, compare_leaves
from personas.domain.rights import Right
from personas.models import AgentPersona, APIToken, AuditEntry, Tenant, User
from personas.permissions import holds
from personas.roster import belonging
from personas.services.tokens import PREFIX

PAGE = 50
NEWEST = ("-created_at", "-pk")
MOST_TEXTS = 20
MOST_ACCOUNTS = 200  # that the name of an actor may stand for

Entries = QuerySet[AuditEntry, AuditEntry]
# For each type of object, the addresses of those that the actor may see, by id. Higher apps add theirs. The tenant is
# that of the entries, if it is one.
Finder = Callable[[Actor, Tenant | None, Sequence[uuid.UUID]], dict[uuid.UUID, str]]


def entries(actor: Actor, tenant: Tenant | None) -> Entries:
    """The audit of one tenant, for who was found to hold ``view-audit``, or None for all that the actor may read."""
    rows: Entries = AuditEntry.objects.permitted(actor) if tenant is None else tenant.audit_entries.all()
    return rows.select_related("actor", "tenant").order_by(*NEWEST)


def matching(rows: Entries, asked: dict[str, Any]) -> Entries:
    """The entries that fit every filter.

    Parameters: ``asked`` of `AuditForm`: ``actor`` an id, a name, part of an account's name, or the prefix of a token;
    ``verb`` whole, or what stands before its dot; ``type``; ``object`` an id or the start of a label; ``since`` and
    ``until`` days (UTC), both included; ``request`` an id.
    """
    for name, value in asked.items():
        rows = rows.filter(FILTERS[name](value))
    return rows


def _by(typed: str) -> Q:
    if ident := as_id(typed):
        return Q(actor=ident)
    if typed.lower() == SYSTEM:
        return Q(actor=None)
    if typed.startswith(PREFIX):
        owners = APIToken.objects.filter(prefix__startswith=typed[: len(PREFIX) + 6]).values_list("user", flat=True)
        return Q(actor__in=owners, token_prefix__startswith=typed)
    # The ids where they are few: so the planner knows that, and enters by the index.
    named = User.objects.filter(Q(username__icontains=typed) | Q(name__icontains=typed)).values_list("pk", flat=True)
    few = list(named[: MOST_ACCOUNTS + 1])
    return Q(actor__in=few if len(few) <= MOST_ACCOUNTS else named) | Q(actor_name=typed)


def _done(verb: str) -> Q:
    return Q(verb=verb) if "." in verb else Q(verb__startswith=f"{verb}.")


def _about(typed: str) -> Q:
    ident = as_id(typed)
    return Q(object_id=str(ident)) if ident else Q(object_label__startswith=typed)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


FILTERS: dict[str, Callable[[Any], Q]] = {
    "actor": _by,
    "verb": _done,
    "type": lambda name: Q(object_type=name),
    "object": _about,
    "since": lambda day: Q(created_at__gte=_midnight(day)),
    "until": lambda day: Q(created_at__lt=_midnight(day) + timedelta(days=1)),
    "request": lambda ident: Q(request_id=ident),
}


def may_read(actor: Actor, tenant: Tenant | None) -> bool:
    """Whether the account may read this audit as it stands now, whatever it was when the request began."""
    account = User.objects.filter(pk=actor.account.pk).first()
    if account is None or not account.is_active:
        return False
    return account.is_superuser if tenant is None else holds(Actor(account, actor.token), Right.VIEW_AUDIT, tenant)


def older(rows: Entries, than: AuditEntry | tuple[datetime, uuid.UUID]) -> Entries:
    """The entries behind one, or behind a time and id, in the order of the list."""
    moment, ident = (than.created_at, than.pk) if isinstance(than, AuditEntry) else than
    # The time is bounded by itself too, so that an index can be entered there.
    return rows.filter(Q(created_at__lt=moment) | Q(pk__lt=ident), created_at__lte=moment)


def write_cursor(last: AuditEntry) -> str:
    return f"{last.created_at.astimezone(UTC):%Y%m%dT%H%M%S.%f}-{last.pk.hex}"


def read_cursor(text: str) -> tuple[datetime, uuid.UUID] | None:
    """Where a page begins; None for what is no cursor."""
    moment, _, ident = text.partition("-")
    try:
        return datetime.strptime(moment, "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC), uuid.UUID(hex=ident)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Line:
    """One entry as a page shows it: what was done in words, what changed, and where its object is now, if anywhere."""

    entry: AuditEntry
    url: str = ""
    changes: list[Change] = field(default_factory=list)
    same: list[Same] = field(default_factory=list)

    @property
    def words(self) -> str:
        return verb_in_words(self.entry.verb)

    @property
    def texts(self) -> list[Change]:
        """What is compared as text, as far as a page has room."""
        return [change for change in self.changes if change.is_prose][:MOST_TEXTS]

    @property
    def leaves(self) -> list[Change]:
        """What is shown in rows: all but `texts`."""
        texts = {change.path for change in self.texts}
        return [change for change in self.changes if change.path not in texts]

    @property
    def kind(self) -> str:
        """Who acted: person, service, or system where there was no account."""
        return self.entry.actor.kind if self.entry.actor else SYSTEM


def lines(found: Sequence[AuditEntry], actor: Actor) -> list[Line]:
    """Entries as lines, with a statement or two for each type of object among them."""
    urls = object_urls(found, actor)
    return [Line(entry, urls.get(entry.pk, ""), *compare_leaves(entry.before, entry.after)) for entry in found]


ENDINGS = {
    "approve": "approved", "archive": "archived", "disable": "disabled", "edit": "edited",
    "enable": "enabled", "import": "imported", "rollback": "rolled back", "settings": "settings changed",
}  # fmt: skip


def verb_in_words(verb: str) -> str:
    """A verb as people say it: ``token.created`` is "Token created"."""
    noun, _, done = verb.partition(".")
    return f"{noun} {ENDINGS.get(done, done)}".replace("_", " ").replace(".", " ").strip().capitalize()


def suggestions(rows: Entries) -> dict[str, list[str]]:
    """Verbs, the parts before their dots, and types of objects among the newest thousand entries, for the filters."""
    newest = list(rows.values_list("verb", "object_type")[:1000])
    verbs = {verb for verb, _ in newest}
    return {
        "verbs": sorted(verbs | {verb.partition(".")[0] for verb in verbs}),
        "types": sorted({kind for _, kind in newest}),
    }


def object_urls(found: Iterable[AuditEntry], actor: Actor) -> dict[uuid.UUID, str]:
    """Addresses of the objects that are still there and that the actor may see, by the ids of their entries."""
    wanted: dict[tuple[str, Tenant | None], dict[uuid.UUID, uuid.UUID]] = {}
    for entry in found:
        if entry.object_type in PAGES and (ident := as_id(entry.object_id)):
            wanted.setdefault((entry.object_type, entry.tenant), {})[entry.pk] = ident
    urls: dict[uuid.UUID, str] = {}
    for (kind, tenant), objects in wanted.items():
        pages = PAGES[kind](actor, tenant, list(set(objects.values())))
        urls |= {entry: pages[ident] for entry, ident in objects.items() if ident in pages}
    return urls


def as_id(text: str) -> uuid.UUID | None:
    """The id that a text is, if it is one."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _tenants(actor: Actor, tenant: Tenant | None, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    rows = Tenant.objects.permitted(actor).filter(pk__in=ids).values_list("pk", "slug")
    return {pk: reverse("tenant", args=[slug]) for pk, slug in rows}


def _personas(actor: Actor, tenant: Tenant | None, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    rows = AgentPersona.objects.permitted(actor).filter(pk__in=ids).values_list("pk", "tenant__slug")
    return {pk: reverse("persona", args=[slug, pk]) for pk, slug in rows}


def _accounts(actor: Actor, tenant: Tenant | None, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    if tenant is None or not holds(actor, Right.VIEW_TENANT, tenant):
        return {}
    rows = belonging(tenant).filter(pk__in=ids).values_list("pk", flat=True)
    return {pk: reverse("member", args=[tenant.slug, pk]) for pk in rows}


PAGES: dict[str, Finder] = {"tenant": _tenants, "agentpersona": _personas, "user": _accounts}
