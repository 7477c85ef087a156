"""Which persona answers: the rules by example, and who is displaced against brute force."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personas.domain.resolution import (
    Candidate,
    Context,
    applies,
    contexts_to_try,
    displaced,
    memory_scope,
    pick,
    specificity,
    subscriber,
    walk,
)

CONTEXTS: list[Context] = [("", ""), ("site", ""), ("site", "1"), ("site", "2"), ("shop", "1")]
PATHS = {"root": ["root"], "child": ["child", "root"], "leaf": ["leaf", "child", "root"], "other": ["other"]}


def candidate(name: str, context: Context = ("", ""), *, priority: int = 0, enabled: bool = True) -> Candidate:
    return Candidate(name, "t", name, context, priority, enabled)


@pytest.mark.parametrize(
    ("own", "asked", "answer"),
    [
        (("", ""), ("", ""), True),
        (("", ""), ("site", "1"), True),
        (("site", ""), ("site", "1"), True),
        (("site", ""), ("site", ""), True),
        (("site", ""), ("", ""), False),
        (("site", ""), ("shop", ""), False),
        (("site", ""), ("Site", ""), False),
        (("site", "1"), ("site", "1"), True),
        (("site", "1"), ("site", "2"), False),
        (("site", "1"), ("site", ""), False),
        (("site", "1"), ("shop", "1"), False),
    ],
)
def test_where_a_persona_applies(own: Context, asked: Context, answer: bool) -> None:
    assert applies(candidate("a", own), asked) is answer
    assert not applies(candidate("a", own, enabled=False), asked)


def test_the_most_specific_wins_then_priority_then_the_name() -> None:
    wide, kind, exact = (
        candidate("a", priority=9),
        candidate("b", ("site", ""), priority=5),
        candidate("c", ("site", "1")),
    )
    assert [specificity(one) for one in (wide, kind, exact)] == [0, 1, 2]
    assert pick([wide, kind, exact], ("site", "1")) is exact
    assert pick([wide, kind, exact], ("site", "2")) is kind
    assert pick([wide, kind, exact], ("shop", "1")) is wide
    low, high = candidate("a"), candidate("b", priority=1)
    assert pick([low, high], ("", "")) is high
    for first, second in (("a", "B"), ("STRASSE", "Straße"), ("A", "a"), ("Z", "é"), ("straße", "strasse" + "x")):
        pair = [candidate(second), candidate(first)]
        assert pick(pair, ("", "")) is pair[1], (first, second)
    assert pick([candidate("off", enabled=False)], ("", "")) is None


def test_the_first_level_that_answers_ends_the_walk() -> None:
    near, far = candidate("near"), candidate("far", ("site", "1"), priority=9)
    assert walk(["t", "p"], {"t": [near], "p": [far]}, ("site", "1")) == (0, near)
    off, other = candidate("off", enabled=False), candidate("other", ("shop", ""))
    assert walk(["t", "p"], {"t": [off, other], "p": [far]}, ("site", "1")) == (1, far)
    assert walk(["t", "p"], {"p": [far]}, ("site", "2")) is None
    assert walk([], {}, ("", "")) is None


def test_where_memory_is_kept() -> None:
    def scope(context: Context, persona_id: str | None, persona: str, manifest: str) -> str:
        return memory_scope("@a/b:C", "acme", context, persona_id=persona_id, persona=persona, manifest=manifest)

    assert scope(("site", "1"), "7", "own", "shared") == "own"
    assert scope(("site", "1"), "7", "", "shared") == "shared"
    assert scope(("site", "1"), "7", "", "") == "persona:7"
    assert scope(("site", "1"), None, "", "shared") == "shared"
    assert scope(("site", "1"), None, "", "") == "@a/b:C:acme:site:1"
    assert scope(("site", ""), None, "", "") == "@a/b:C:acme:site"
    assert scope(("", ""), None, "", "") == "@a/b:C:acme"


def test_the_singleton_has_no_key() -> None:
    assert subscriber("@a/b:C", None, "default") == (None, "@a/b:C")
    assert subscriber("@a/b:C", "7", "default") == (None, "@a/b:C")
    assert subscriber("@a/b:C", "7", "Default") == ("7", "@a/b:C#7")


def test_contexts_that_stand_for_all() -> None:
    found = contexts_to_try([candidate("a", ("site", "1")), candidate("b", ("shop", ""))])
    assert found == {("", ""), ("site", "1"), ("shop", ""), ("site", "\0"), ("shop", "\0")}


people = st.builds(
    Candidate,
    st.integers(0, 10**6),
    st.sampled_from(sorted(PATHS)),
    st.sampled_from(["a", "A", "b", "é", "Straße", "STRASSE"]),
    st.sampled_from(CONTEXTS),
    st.sampled_from([0, 0, 1]),
    st.booleans(),
)
worlds = st.lists(people, max_size=9, unique_by=(lambda one: one.id, lambda one: (one.tenant, one.name)))


@settings(max_examples=400, deadline=None)
@given(worlds, worlds)
def test_who_is_displaced(before: list[Candidate], after: list[Candidate]) -> None:
    """All pairs of loser and winner, found by asking everywhere, in contexts that nobody named too."""
    asked = [*CONTEXTS, ("site", "unnamed"), ("shop", "unnamed"), ("shop", ""), ("new", ""), ("new", "1")]
    pairs = set()
    for path, context in product(PATHS.values(), asked):
        answers = []
        for candidates in (before, after):
            by_tenant = {tenant: [one for one in candidates if one.tenant == tenant] for tenant in PATHS}
            won = walk(path, by_tenant, context)
            answers.append(won[1].id if won else None)
        if answers[0] != answers[1]:
            pairs.add(tuple(answers))
    assert displaced(before, after, PATHS.values()) == pairs
    assert displaced(before, before, PATHS.values()) == set()
