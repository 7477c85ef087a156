"""The gate: nothing goes live without a permitted person who saw what is live."""

from learning.services import review
from learning.services.proposals import propose
from personas.domain.text import digest
from personas.models import Activation, AuditEntry
from personas.resolve import resolve_for_tenant
from tests.factory import World


def served(world: World, context: tuple[str, str] = ("", "")) -> str:
    return resolve_for_tenant(world.tenant, "Support", context).instructions


def test_approving_serves_exactly_what_was_proposed(world: World) -> None:
    persona = world.persona(text="Old.")
    proposal = propose(persona, actor=world.editor, instructions="New.", rationale="because")
    assert served(world) == "Old."
    outcome = review.approve(
        proposal, actor=world.reviewer, expected_revision=persona.live_revision, seen_sha256=digest("New.")
    )
    assert served(world) == "New."
    assert outcome.revision is not None and outcome.revision.number == 2
    activation = Activation.objects.get(revision=outcome.revision)
    assert (activation.verb, activation.source) == ("approve", f"proposal:{proposal.pk}")
    assert [person["name"] for person in activation.approvers] == ["Reviewer"]
    verbs = set(AuditEntry.objects.filter(actor=world.reviewer.user).values_list("verb", flat=True))
    assert {"proposal.approved", "directive.approve"} <= verbs
