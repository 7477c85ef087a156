"""The API about proposals: looking, proposing, deciding."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from ninja import Router, Status

from learning.models import DirectiveProposal
from learning.schemas import (
    ApprovedOut,
    ApproveIn,
    OneProposalOut,
    ProposalOut,
    ProposalPage,
    ProposalsQuestion,
    ProposeIn,
    RejectIn,
)
from learning.services import review
from learning.services.proposals import propose
from personas.actors import Actor
from personas.api import find_persona
from personas.api_support.bearer import TokenRequest
from personas.api_support.described import READ, WRITE, described
from personas.api_support.idempotency import answer_once
from personas.api_support.pages import cut_page, read_question
from personas.api_support.problems import invalid, not_found
from personas.models import AgentPersona, PersonaRevision

router = Router(tags=["Proposals"])

Origin = DirectiveProposal.Origin
PROPOSALS_ORDER = ("-created_at", "-pk")


def _proposals(actor: Actor) -> QuerySet[Any, Any]:
    """The proposals the actor may see, with all that an answer shows, in two statements."""
    rows = DirectiveProposal.objects.permitted(actor)
    return rows.select_related("persona__live_revision", "persona__tenant", "base_revision").prefetch_related(
        "decisions"
    )


def _find(actor: Actor, proposal_id: UUID) -> DirectiveProposal:
    proposal: DirectiveProposal | None = _proposals(actor).filter(pk=proposal_id).first()
    if proposal is None:
        raise not_found()
    return proposal


def _revision(persona: AgentPersona, number: int, field: str) -> PersonaRevision:
    revision: PersonaRevision | None = persona.revisions.filter(number=number).first()
    if revision is None:
        raise invalid(field, f"This persona has no revision {number}.")
    return revision


@router.get(
    "/proposals", response=ProposalPage, summary="Proposals, newest first", **described(READ, ProposalsQuestion)
)
def list_proposals(request: TokenRequest) -> ProposalPage:
    """The proposals for the personas of the token's tenant."""
    question = read_question(ProposalsQuestion, request)
    rows = _proposals(request.auth)
    if question.status is not None:
        rows = rows.filter(status=question.status)
    if question.persona_id is not None:
        rows = rows.filter(persona=question.persona_id)
    found, following = cut_page(rows, PROPOSALS_ORDER, question)
    return ProposalPage(items=[ProposalOut.of(proposal) for proposal in found], next=following)


@router.get("/proposals/{uuid:proposal_id}", response=OneProposalOut, summary="One proposal", **described(READ))
def get_proposal(request: TokenRequest, proposal_id: UUID) -> OneProposalOut:
    return OneProposalOut.of(_find(request.auth, proposal_id))


@router.post(
    "/proposals",
    response={201: OneProposalOut},
    summary="Propose a directive",
    **described(
        WRITE,
        keyed=True,
        on_409="`conflict`: the same change waits already, or the persona is archived; `idempotency_running`.",
        on_422="`invalid`, or `idempotency_mismatch`.",
    ),
)
@answer_once
def create_proposal(request: TokenRequest, payload: ProposeIn) -> Status[Any]:
    """Write a directive down for review. Nothing that is served changes."""
    actor = request.auth
    persona = find_persona(actor, payload.persona_id)
    base = None
    if payload.base_revision is not None:
        base = _revision(persona, payload.base_revision, "base_revision")
    proposal = propose(
        persona,
        actor=actor,
        instructions=payload.instructions,
        rationale=payload.rationale,
        base=base,
        origin=Origin.RUNTIME if actor.account.is_service else Origin.PERSON,
    )
    return Status(201, OneProposalOut.of(_find(actor, proposal.pk)))


@router.post(
    "/proposals/{uuid:proposal_id}/approve",
    response=ApprovedOut,
    summary="Approve a proposal",
    **described(
        WRITE,
        keyed=True,
        on_409="`not_pending`, `stale_revision`, `locked`, `second_person_required`, `conflict`; "
        "`idempotency_running`.",
        on_422="`invalid`, or `idempotency_mismatch`.",
    ),
)
@answer_once
def approve_proposal(request: TokenRequest, proposal_id: UUID, payload: ApproveIn) -> Status[Any]:
    """Say yes, as it stands or with an edit. With enough approvals the directive is live when the answer comes."""
    actor = request.auth
    proposal = _find(actor, proposal_id)
    outcome = review.approve(
        proposal,
        actor=actor,
        expected_revision=_revision(proposal.persona, payload.expected_revision, "expected_revision"),
        seen_sha256=payload.seen_sha256 or "",
        instructions=payload.instructions,
        note=payload.note,
    )
    return Status(200, ApprovedOut.of_outcome(_find(actor, proposal_id), outcome))


@router.post(
    "/proposals/{uuid:proposal_id}/reject",
    response=ProposalOut,
    summary="Reject a proposal",
    **described(
        WRITE,
        keyed=True,
        on_409="`not_pending`, `conflict`; `idempotency_running`.",
        on_422="`invalid`, or `idempotency_mismatch`.",
    ),
)
@answer_once
def reject_proposal(request: TokenRequest, proposal_id: UUID, payload: RejectIn) -> Status[Any]:
    """Refuse a proposal for good, with a note that its author sees."""
    review.reject(_find(request.auth, proposal_id), actor=request.auth, note=payload.note)
    return Status(200, ProposalOut.of(_find(request.auth, proposal_id)))
