"""Where the audit finds the things of this app."""

import uuid
from collections.abc import Sequence

from django.urls import reverse

from learning.models import DirectiveProposal
from personas.actors import Actor
from personas.models import Tenant


def proposal_pages(actor: Actor, tenant: Tenant | None, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The addresses of the proposals that the actor may see."""
    rows = DirectiveProposal.objects.permitted(actor).filter(pk__in=ids).values_list("pk", "tenant__slug")
    return {pk: reverse("proposal", args=[slug, pk]) for pk, slug in rows}
