"""Whose approval counts, and in words why one does not."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from learning.domain.review import Rules, Standing, Vote, standing, stricter

ONE, TWO, SECOND = Rules(False, 1), Rules(False, 2), Rules(True, 1)


def yes(who: str, *, seen: str = "t", base: Any = 1, edited: str | None = None, may: bool = True) -> Vote:
    return Vote(who, who.title(), True, edited or seen, base, edited, may)


def count(*votes: Vote, authors: tuple[str, ...] = (), rules: Rules = ONE, text: str = "t") -> Standing:
    return standing(votes, authors=authors, rules=rules, text=text, live=1)


def test_the_stricter_rules() -> None:
    assert stricter(Rules(True, 1), Rules(False, 3)) == Rules(True, 3)
    assert stricter(Rules(False, 2), Rules(False, 1)) == Rules(False, 2)


def test_enough_people() -> None:
    assert not count().complete and count().missing == 1
    assert count(yes("ann")).complete
    assert count(yes("ann"), yes("ann"), rules=TWO).missing == 1
    assert count(yes("ann"), yes("bob"), rules=TWO).counting == ("ann", "bob")
    assert count(Vote("ann", "Ann", False, "t", 1)).missing == 1


def test_why_an_approval_does_not_count() -> None:
    votes = [yes("ann", may=False), yes("bob", seen="older"), yes("cid", base=0)]
    found = count(*votes)
    assert found.counting == () and not found.complete
    assert found.void == (
        ("Ann", "may not activate directives here any more"),
        ("Bob", "approved an earlier text"),
        ("Cid", "compared it with a revision that is not live any more"),
    )
    assert count(*votes, yes("ann"), yes("bob")).void == (("Cid", found.void[2][1]),)
    twins = [Vote("1", "Ann", True, "older", 1), Vote("2", "Ann", True, "t", 1)]
    assert count(*twins).void == (("Ann", "approved an earlier text"),)


def test_an_edit_voids_what_came_before() -> None:
    assert count(yes("ann"), yes("bob", edited="u"), text="u").counting == ("bob",)
    back = count(yes("ann"), yes("bob", edited="u"), yes("cid", edited="t"), rules=TWO)
    assert back.counting == ("cid",) and dict(back.void)["Ann"] == "approved an earlier text"
    assert count(yes("bob", edited="u"), yes("ann", seen="u"), text="u", rules=TWO).complete


def test_the_second_person() -> None:
    assert count(yes("ann"), authors=("ann",)).complete
    alone = count(yes("ann"), authors=("ann",), rules=SECOND)
    assert alone.needs_other and alone.missing == 0 and not alone.complete
    assert count(yes("ann"), yes("bob"), authors=("ann",), rules=SECOND).complete
    assert not count(yes("ann"), yes("bob", may=False), authors=("ann",), rules=SECOND).complete


names = st.sampled_from("abcd")
votes = st.builds(
    Vote,
    names,
    names,
    st.booleans(),
    st.sampled_from("tu"),
    st.sampled_from([1, 1, 0]),
    st.sampled_from([None, None, "t", "u"]),
    st.booleans(),
)


@given(st.lists(votes, max_size=8), st.sets(names), st.builds(Rules, st.booleans(), st.integers(1, 3)))
def test_only_a_yes_to_this_text_against_this_revision_counts(
    given_votes: list[Vote], authors: set[str], rules: Rules
) -> None:
    found = standing(given_votes, authors=authors, rules=rules, text="t", live=1)
    for who in found.counting:
        assert any(
            vote.approves and vote.seen == "t" and vote.base == 1 and vote.holds_right
            for vote in given_votes
            if vote.reviewer == who
        )
    assert len(set(found.counting)) == len(found.counting)
    assert found.missing == max(0, rules.approvals - len(found.counting))
    assert found.needs_other == (rules.second_person and set(found.counting) <= authors)
    more = standing([*given_votes, Vote("new", "New", True, "t", 1)], authors=authors, rules=rules, text="t", live=1)
    assert set(found.counting) < set(more.counting)
