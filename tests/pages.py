"""What the tests of pages share."""

from typing import Any

from django.test import Client

from learning import reading
from learning.models import DirectiveProposal
from personas.actors import Actor
from personas.resolve import resolve_for_tenant
from tests.factory import World


def client_of(actor: Actor) -> Client:
    client = Client()
    client.force_login(actor.account, backend="personas.permissions.PersonBackend")
    return client


def form(proposal: DirectiveProposal, **changes: Any) -> dict[str, Any]:
    """What the page's form sends for a proposal as it stands."""
    seen = reading.read(proposal)
    data = {"expected_revision": seen.live.number, "seen_sha256": seen.digest, "note": "", "instructions": seen.text}
    return {**data, **changes}


def url(proposal: DirectiveProposal, verb: str = "") -> str:
    return f"/t/{proposal.tenant.slug}/review/{proposal.pk}/" + (f"{verb}/" if verb else "")


def served(world: World) -> str:
    return resolve_for_tenant(world.tenant, "Support", ("", "")).instructions


def refusal(proposal: DirectiveProposal, note: str) -> dict[str, Any]:
    """What the page's dialog sends to reject."""
    return {"note": note, "seen_sha256": reading.read(proposal).digest}
