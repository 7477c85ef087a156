"""What the API takes and gives about proposals."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from learning.domain.diff import compare
from learning.domain.hunks import Hunk, hunks
from learning.models import DirectiveProposal
from learning.services.review import Outcome
from personas.api_support.pages import NO_NUL, ListQuestion
from personas.schemas import values_of

Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Note = Annotated[str, StringConstraints(max_length=5000, pattern=NO_NUL)]
Instructions = Annotated[
    str, Field(min_length=1, description="At most 100,000 characters after line ends became `\\n`, no NUL.")
]


class Body(BaseModel):
    """The body of a POST. A member that is unknown is refused, lest it be thought to count."""

    model_config = ConfigDict(extra="forbid")


class ProposeIn(Body):
    persona_id: UUID
    base_revision: Number | None = Field(None, description="What it is written against; the live one by default.")
    instructions: Instructions
    rationale: Annotated[Note, StringConstraints(min_length=1)]


class ApproveIn(Body):
    expected_revision: Number = Field(description="The live revision the reviewer compared with.")
    seen_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="Of the text the reviewer saw, in UTF-8."
    )
    instructions: Instructions | None = Field(None, description="The reviewer's edit.")
    note: Note = ""


class RejectIn(Body):
    note: Annotated[Note, StringConstraints(min_length=1)]


class ProposalsQuestion(ListQuestion):
    status: Literal["pending", "approved", "rejected", "superseded"] | None = None
    persona_id: UUID | None = None


class ProposalOut(BaseModel):
    """A directive that waits for review, or was reviewed: a whole candidate of text and settings."""

    id: UUID
    persona_id: UUID
    status: Annotated[str, values_of(DirectiveProposal.Status)]
    base_revision: int
    live_revision: int | None
    current_instructions: str = Field(description="What is live now.")
    proposed_instructions: str
    proposed_settings: dict[str, Any]
    edited_instructions: str | None = Field(description="The last edit of a reviewer: what an approval makes live.")
    rationale: str
    confidence: float | None
    evidence: list[dict[str, Any]]
    proposed_by: str
    created_at: datetime
    action: Annotated[str, values_of(DirectiveProposal.Action)]

    @classmethod
    def of(cls, proposal: DirectiveProposal, **more: Any) -> Self:
        """The proposal as it stands. It brings its persona with the live revision, its base, and its decisions."""
        live = proposal.persona.live_revision
        return cls(
            id=proposal.pk,
            persona_id=proposal.persona_id,
            status=proposal.status,
            base_revision=proposal.base_revision.number,
            live_revision=live.number if live else None,
            current_instructions=live.instructions if live else "",
            proposed_instructions=proposal.instructions,
            proposed_settings=proposal.settings,
            edited_instructions=last_edit(proposal),
            rationale=proposal.rationale,
            confidence=None if proposal.confidence is None else float(proposal.confidence),
            evidence=[],
            proposed_by=proposal.proposed_by_name,
            created_at=proposal.created_at,
            action=proposal.action,
            **more,
        )


def last_edit(proposal: DirectiveProposal) -> str | None:
    """The text a reviewer wrote last, None if nobody edited. It reads decisions that may have been fetched ahead."""
    edits = [decision for decision in proposal.decisions.all() if decision.edited_instructions is not None]
    last = max(edits, key=lambda decision: (decision.created_at, decision.pk), default=None)
    return last.edited_instructions if last else None


class ProposalPage(BaseModel):
    items: list[ProposalOut]
    next: str | None


class OneProposalOut(ProposalOut):
    hunks: list[Hunk] = Field(description="Lines that differ between the base and the text an approval makes live.")

    @classmethod
    def of(cls, proposal: DirectiveProposal, **more: Any) -> Self:
        edit = last_edit(proposal)
        text = proposal.instructions if edit is None else edit
        return super().of(proposal, hunks=hunks(compare(proposal.base_revision.instructions, text)), **more)


class StandingOut(BaseModel):
    missing: int = Field(description="Approvals that are still needed.")
    needs_other: bool = Field(description="Whether one has to come from somebody who wrote none of it.")


class ApprovedOut(ProposalOut):
    revision: int | None = Field(description="The revision that went live, null while approvals are missing.")
    standing: StandingOut

    @classmethod
    def of_outcome(cls, proposal: DirectiveProposal, outcome: Outcome) -> Self:
        """A proposal, read again after the decision, and what the decision led to."""
        return cls.of(
            proposal,
            revision=outcome.revision.number if outcome.revision else None,
            standing=StandingOut(missing=outcome.standing.missing, needs_other=outcome.standing.needs_other),
        )
