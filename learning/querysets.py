"""Which proposals an actor may reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.db.models import F, Q

from personas.domain.rights import Right
from personas.models import AgentPersona

if TYPE_CHECKING:
    from personas.actors import Actor


class ProposalQuerySet(models.QuerySet[Any]):
    def permitted(self, actor: Actor, right: Right = Right.VIEW_PERSONA) -> Self:
        """Proposals of the personas on which the actor holds the right."""
        return self.filter(persona__in=AgentPersona.objects.permitted(actor, right).values("pk"))

    def pending(self) -> Self:
        return self.filter(status="pending")

    def stale(self) -> Self:
        """Pending proposals whose persona has moved on since they were written."""
        return self.pending().exclude(base_revision=F("persona__live_revision"))

    def search(self, words: str) -> Self:
        """Proposals whose persona, agent class, proposer or rationale contains every word."""
        rows = self
        for word in words.split():
            rows = rows.filter(
                Q(persona__name__icontains=word)
                | Q(persona__agent_class__canonical__icontains=word)
                | Q(proposed_by_name__icontains=word)
                | Q(rationale__icontains=word)
            )
        return rows
