"""What the pages and the API read about proposals: lists in a total order, and one proposal with all it needs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core import signing
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from learning.domain.diff import Comparison, compare
from learning.domain.marks import NewGhost, count_new
from learning.domain.merge import Merge, merge3
from learning.models import Decision, DirectiveProposal
from learning.querysets import ProposalQuerySet
from learning.services.review import text_to_decide
from personas.actors import Actor
from personas.domain import settings as persona_settings
from personas.domain.rights import Right
from personas.domain.text import digest
from personas.models import AgentPersona, PersonaRevision, Tenant, User

PAGE = 50
CURSOR = "queue"
NEWEST = ("-created_at", "-pk")


def waiting_for(actor: Actor) -> ProposalQuerySet:
    """Pending proposals the actor can bring further now: with the right, no yes of theirs that still stands, and where
    the rules ask for a second person, not their own."""
    decisions = Decision.objects.filter(proposal=OuterRef("pk"))
    edited = decisions.filter(edited_instructions__isnull=False).order_by("-created_at", "-pk")
    mine = decisions.filter(
        reviewer=actor.account,
        verdict=Decision.Verdict.APPROVE,
        seen_revision=OuterRef("persona__live_revision"),
        # Their yes to an earlier text is void, and the proposal waits for them again.
        seen_sha256=OuterRef("text_now"),
    )
    rows = DirectiveProposal.objects.pending().permitted(actor, Right.ACTIVATE_DIRECTIVE)
    rows = rows.annotate(text_now=Coalesce(Subquery(edited.values("seen_sha256")[:1]), F("text_sha256")))
    return rows.exclude(Exists(mine)).exclude(_written_by(actor))


def _written_by(actor: Actor) -> Q:
    """Proposals under a rule for a second person that the actor wrote, edited, or wrote in an earlier form."""
    strict = Q(require_second_person=True) | Q(tenant__require_second_person=True)
    edits = Decision.objects.filter(reviewer=actor.account, edited_instructions__isnull=False)
    own = Q(proposed_by=actor.account) | Q(proposed_through=actor.account) | Q(pk__in=edits.values("proposal"))
    before = Q(replaces__proposed_by=actor.account) | Q(replaces__in=edits.values("proposal"))
    return strict & (own | before)


def waiting_by_tenant(actor: Actor) -> dict[uuid.UUID, int]:
    """How many proposals wait for the actor, by tenant."""
    rows = waiting_for(actor).order_by().values_list("tenant").annotate(number=Count("pk"))
    return dict(rows)


SHOW = ("mine", "all", "stale", "decided")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, and the cursor of the next one, empty on the last."""

    items: list[DirectiveProposal]
    next: str


def queue(actor: Actor, show: str, *, tenant: Tenant | None = None, words: str = "") -> ProposalQuerySet:
    """The proposals of one tab of the queue, newest first. Texts are not fetched."""
    rows = {
        "mine": lambda: waiting_for(actor),
        "all": lambda: DirectiveProposal.objects.permitted(actor).pending(),
        "stale": lambda: DirectiveProposal.objects.permitted(actor).stale(),
        "decided": lambda: DirectiveProposal.objects.permitted(actor).exclude(status="pending"),
    }[show]()
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    return rows.search(words).select_related("tenant", "persona__agent_class").defer("instructions").order_by(*NEWEST)


def page_of(rows: QuerySet[Any, Any], cursor: str, *, size: int = PAGE) -> Page:
    """One page of a queue. A cursor that cannot be read starts from the beginning."""
    position = _read(cursor)
    if position:
        moment, pk = position
        rows = rows.filter(Q(created_at__lt=moment) | Q(created_at=moment, pk__lt=pk))
    found = list(rows[: size + 1])
    more = found[size - 1] if len(found) > size else None
    return Page(found[:size], _write(more) if more else "")


def _write(last: DirectiveProposal) -> str:
    return signing.dumps([last.created_at.isoformat(), str(last.pk)], salt=CURSOR)


def _read(cursor: str) -> tuple[datetime, uuid.UUID] | None:
    try:
        moment, pk = signing.loads(cursor, salt=CURSOR)
    except signing.BadSignature:
        return None
    return datetime.fromisoformat(moment), uuid.UUID(pk)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where a proposal stands in the list of what waits for the actor, newest first; position 0 is outside."""

    previous: DirectiveProposal | None
    next: DirectiveProposal | None
    position: int
    total: int


def neighbours(proposal: DirectiveProposal, actor: Actor) -> Neighbours:
    """The proposals before and after this one among those of its tenant that wait for the actor."""
    rows = waiting_for(actor).filter(tenant=proposal.tenant_id).defer("instructions")
    newer = Q(created_at__gt=proposal.created_at) | Q(created_at=proposal.created_at, pk__gt=proposal.pk)
    older = Q(created_at__lt=proposal.created_at) | Q(created_at=proposal.created_at, pk__lt=proposal.pk)
    inside = rows.filter(pk=proposal.pk).exists()
    return Neighbours(
        previous=rows.filter(newer).order_by("created_at", "pk").first(),
        next=rows.filter(older).order_by(*NEWEST).first(),
        position=rows.filter(newer).count() + 1 if inside else 0,
        total=rows.count(),
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One bar of the small map above a diff, in a picture 144 wide."""

    kind: str
    x: float
    width: float


def cells(comparison: Comparison) -> list[Cell]:
    """The overview of a comparison as bars."""
    width = 144 / max(1, len(comparison.overview))
    return [Cell(kind, round(i * width, 1), round(width, 2)) for i, kind in enumerate(comparison.overview)]


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting before and after, as text."""

    label: str
    before: str
    after: str


def setting_changes(before: dict[str, Any], after: dict[str, Any]) -> list[SettingChange]:
    """The settings that differ, in words."""
    accounts = {str(user.pk): user.username for user in User.objects.filter(pk__in=_accounts(before, after))}
    return [
        SettingChange(
            persona_settings.LABELS[name],
            _words(name, before.get(name), accounts),
            _words(name, after.get(name), accounts),
        )
        for name in persona_settings.changes(before, after)
    ]


def _accounts(*states: dict[str, Any]) -> Iterator[str]:
    return (state["run_as"] for state in states if state.get("run_as"))


def _words(name: str, value: Any, accounts: dict[str, str]) -> str:
    if name == "allowed_tools":
        return "those of the manifest" if value is None else ", ".join(value) or "none"
    if name == "run_as":
        return accounts.get(str(value), "an account that is gone")
    if name == "slots":
        return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else "—"
    return "—" if value in ("", None) else str(value)


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything the page of one proposal shows about its texts.

    ``text`` is what an approval would make live, ``digest`` its sha256; ``comparison`` is against the live text, or for
    a stale or decided proposal against its base. Of a stale one ``merge`` joins the three texts, and ``underneath`` is
    what changed between its base and the live text.
    """

    proposal: DirectiveProposal
    base: PersonaRevision
    live: PersonaRevision
    text: str
    edited: bool
    digest: str
    comparison: Comparison
    cells: list[Cell]
    ghosts: list[NewGhost]
    settings: list[SettingChange]
    merge: Merge | None
    underneath: Comparison | None

    @property
    def live_about(self) -> str:
        return f"revision {self.live.number}, {self.live.author_name}"

    @property
    def was_label(self) -> str:
        return "Live" if self.base.pk == self.live.pk else "Base"

    @property
    def was_about(self) -> str:
        """What the left side is, in words."""
        state = "" if self.base.pk == self.live.pk else ", not live any more"
        return f"revision {self.base.number}{state}"

    @property
    def now_about(self) -> str:
        """What the right side is, in words."""
        if self.proposal.made_revision is not None:
            return f"became revision {self.proposal.made_revision.number}"
        return f"would be revision {self.live.number + 1}" if self.proposal.is_pending else "was not made live"


def read(proposal: DirectiveProposal, *, text: str | None = None) -> Reading:
    """Compare the texts of a proposal. ``text`` None takes the one that waits: the last edit, or what was proposed."""
    base, live = proposal.base_revision, proposal.persona.live_revision
    assert live is not None
    waiting = text_to_decide(proposal) if text is None else text
    comparison = compare(base.instructions, waiting)
    stale = proposal.is_stale
    return Reading(
        proposal=proposal,
        base=base,
        live=live,
        text=waiting,
        edited=waiting != proposal.instructions,
        digest=digest(waiting),
        comparison=comparison,
        cells=cells(comparison),
        ghosts=hidden(proposal, waiting),
        settings=setting_changes(base.settings, proposal.settings),
        merge=merge3(base.instructions, waiting, live.instructions) if stale else None,
        underneath=compare(base.instructions, live.instructions) if stale else None,
    )


def hidden(proposal: DirectiveProposal, text: str) -> list[NewGhost]:
    """The characters that cannot be seen and that approving ``text`` would newly serve.

    Against the base, except where a draft is to answer: there, against what was served last, if anything ever was.
    """
    before = proposal.base_revision.instructions
    if proposal.action == DirectiveProposal.Action.ENABLE:
        before = last_served(proposal.persona)
    elif proposal.action in (DirectiveProposal.Action.DISABLE, DirectiveProposal.Action.ARCHIVE):
        return []
    return count_new(before, text)


def last_served(persona: AgentPersona) -> str:
    """The text a persona answered with last, empty if it never did."""
    latest = persona.activations.filter(live=True).select_related("revision").order_by("-created_at", "-pk").first()
    return latest.revision.instructions if latest else ""


def one(actor: Actor, tenant: Tenant) -> QuerySet[Any, Any]:
    """The proposals of a tenant that the actor may see, with what their page needs."""
    rows = DirectiveProposal.objects.permitted(actor).filter(tenant=tenant)
    return rows.select_related(
        "tenant", "persona__tenant", "persona__agent_class", "persona__run_as", "persona__live_revision",
        "base_revision", "made_revision", "replaces",
    )  # fmt: skip


def authored(proposals: list[DirectiveProposal], actor: Actor) -> set[uuid.UUID]:
    """Which of these the actor may not finish alone: the rules ask for a second person, and they wrote it."""
    rows = DirectiveProposal.objects.filter(_written_by(actor), pk__in=[row.pk for row in proposals])
    return set(rows.values_list("pk", flat=True))
