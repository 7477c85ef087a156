"""When a proposal has what it needs: whose approval counts, and in words why one does not."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Vote:
    """One decision, in the order they were made.

    ``edited`` is the digest of the text the reviewer wrote, None if it was left as it was; ``seen`` the digest of the
    text they said yes to; ``base`` the live revision they compared it with; ``holds_right`` whether they still may.
    """

    reviewer: Hashable
    name: str
    approves: bool
    seen: str
    base: Hashable
    edited: str | None = None
    holds_right: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """The stricter of the tenant's rules when the proposal was made and now."""

    second_person: bool
    approvals: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a proposal is: whose approvals ``count``, why others do not, and how many are missing.

    ``needs_other`` is set while no approver is free of authorship and the rules ask for one.
    """

    counting: tuple[Any, ...]
    void: tuple[tuple[str, str], ...]
    missing: int
    needs_other: bool

    @property
    def complete(self) -> bool:
        return self.missing == 0 and not self.needs_other


def stricter(then: Rules, now: Rules) -> Rules:
    """The rules that ask for more, of those when a proposal was made and those of today."""
    return Rules(then.second_person or now.second_person, max(then.approvals, now.approvals))


def standing(
    votes: Sequence[Vote], *, authors: Collection[Hashable], rules: Rules, text: str, live: Hashable
) -> Standing:
    """Count the approvals of the text with digest ``text`` against the ``live`` revision.

    Parameters: ``votes`` oldest first; ``authors`` everyone who wrote any of it, editors among them.
    """
    counting: dict[Hashable, None] = {}
    void: dict[Hashable, tuple[str, str]] = {}
    last_edit = max((index for index, vote in enumerate(votes) if vote.edited is not None), default=0)
    for index, vote in enumerate(votes):
        if not vote.approves:
            continue
        # A text that was edited away and back is no text this person was asked about a second time.
        why = _why_not(vote, text if index >= last_edit else None, live)
        if why is None:
            counting[vote.reviewer] = None
            void.pop(vote.reviewer, None)
        elif vote.reviewer not in counting:
            void[vote.reviewer] = vote.name, why
    needs_other = rules.second_person and not any(reviewer not in authors for reviewer in counting)
    missing = max(0, rules.approvals - len(counting))
    return Standing(tuple(counting), tuple(void.values()), missing, needs_other)


def _why_not(vote: Vote, text: str | None, live: Hashable) -> str | None:
    if not vote.holds_right:
        return "may not activate directives here any more"
    if vote.seen != text:
        return "approved an earlier text"
    if vote.base != live:
        return "compared it with a revision that is not live any more"
    return None
