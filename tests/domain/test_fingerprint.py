"""A refused text is recognised in any dress, and never taken for another."""

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from learning.domain.fingerprint import change_fingerprint, changed_paragraphs, fold, text_fingerprint

IGNORABLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\ufe0f\U000e0041\u202e\u3164"
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("aeé\u0301ệ각ｶ漢 \n")), max_size=40)
PARAGRAPHS = st.lists(st.sampled_from(["Be kind.", "Café é au lait.", "请用中文。", "- a\n- b"]), max_size=5)


def scatter(text: str, marks: str) -> str:
    """Put one of `marks` between all characters."""
    return "".join(char + marks[at % len(marks)] for at, char in enumerate(text))


@given(TEXTS)
def test_a_text_is_recognised_in_any_dress(text: str) -> None:
    expected = text_fingerprint(text)
    assert text_fingerprint(scatter(text, IGNORABLE)) == expected
    assert text_fingerprint(unicodedata.normalize("NFD", text)) == expected
    assert text_fingerprint(unicodedata.normalize("NFC", text)) == expected
    assert text_fingerprint(scatter(unicodedata.normalize("NFD", text), "\u034f")) == expected
    assert text_fingerprint("\u00a0\n" + text.replace(" ", "\t \u3000").replace("\n", "\r\n") + "\n\n") == expected


@given(TEXTS)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(TEXTS, TEXTS)
def test_different_texts_have_different_fingerprints(one: str, other: str) -> None:
    assert (text_fingerprint(one) == text_fingerprint(other)) == (fold(one) == fold(other))


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  two\n\n words\u00a0", "two words"),
        ("cafe\u0301", "café"),
        ("e\u200d\u0301", "é"),
        ("a\u200bb", "ab"),
        ("\u200b \ufeff", ""),
        ("Case STAYS.", "Case STAYS."),
    ],
)
def test_folding(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_the_fingerprint_is_a_sha256_in_hexadecimal() -> None:
    assert text_fingerprint("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert len(text_fingerprint("\ud800")) == 64


@given(PARAGRAPHS, PARAGRAPHS)
def test_a_change_is_recognised_in_any_dress(old: list[str], new: list[str]) -> None:
    base, proposed = "\n\n".join(old), "\n\n".join(new)
    expected = change_fingerprint(base, proposed)
    assert change_fingerprint(base, scatter(proposed, IGNORABLE)) == expected
    assert change_fingerprint(unicodedata.normalize("NFD", base), proposed) == expected
    assert (
        change_fingerprint(base, "\n" + proposed.replace(" ", "  ").replace("\n\n", "\n \u200b\t\n\r\n") + "\n")
        == expected
    )
    assert change_fingerprint(base, "\n\n".join(new[::-1])) == expected


@given(PARAGRAPHS, PARAGRAPHS, PARAGRAPHS)
def test_a_change_is_the_same_on_another_base(old: list[str], new: list[str], more: list[str]) -> None:
    one = change_fingerprint("\n\n".join(old), "\n\n".join(new))
    assert change_fingerprint("\n\n".join(old + more), "\n\n".join(more + new)) == one


@given(PARAGRAPHS, PARAGRAPHS)
def test_adding_differs_from_removing(old: list[str], new: list[str]) -> None:
    assume(sorted(old) != sorted(new))
    base, proposed = "\n\n".join(old), "\n\n".join(new)
    assert change_fingerprint(base, proposed) != change_fingerprint(proposed, base)
    assert change_fingerprint(base, proposed) != change_fingerprint(base, base)


def test_changed_paragraphs_are_counted_and_sorted() -> None:
    assert changed_paragraphs("a\n\nb\n\nc", "c\n \nz\n\n\n\na\n\na\nx") == (["a x", "z"], ["b"])
    assert changed_paragraphs("a", "a\n\na") == (["a"], [])
    assert changed_paragraphs("", "\u200b\n\n") == ([], [])


def test_paragraphs_are_not_read_across_one_another() -> None:
    assert change_fingerprint("", "a\n\n+b") != change_fingerprint("", "a\n+b")
    assert change_fingerprint("", "-a") != change_fingerprint("a", "")
