"""Tokens: exact, never inside a grapheme cluster, and of a size that reads well."""

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from learning.domain.words import tokens

TEXTS = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("a1_.,'’- \t\r\n漢かカー\u0301\u200d\ufe0f👩🇬🇧กักกะ"))
)


@given(TEXTS)
@example("👩\u200d🚒\u2139\ufe0f\u200d👩")
@example("a.\u0301b ,\u0600(")
@example("\u0600. \u0d4e(")
def test_tokens_join_to_the_text_and_never_cut_a_grapheme_cluster(text: str) -> None:
    found = tokens(text)
    assert "".join(found) == text
    ends, at = set(), 0
    for cluster in regex.findall(r"\X", text):
        at += len(cluster)
        ends.add(at)
    at = 0
    for token in found:
        at += len(token)
        assert at in ends


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use kb.search, don’t guess.", ["Use", " ", "kb.search", ",", " ", "don’t", " ", "guess", "."]),
        ("on 2026-01-22", ["on", " ", "2026", "-", "01", "-", "22"]),
        ("1,000 at 3.5%, v2.0", ["1,000", " ", "at", " ", "3.5", "%", ",", " ", "v2.0"]),
        ("two  \t spaces", ["two", "  \t ", "spaces"]),
        ("snake_case **b**", ["snake_case", " ", "*", "*", "b", "*", "*"]),
        ("退款需要五天。", ["退", "款", "需", "要", "五", "天", "。"]),
        ("サポートは日本語で", ["サポート", "は", "日", "本", "語", "で"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("한국어 문장", ["한국어", " ", "문장"]),
        ("हिन्दी में", ["हिन्दी", " ", "में"]),
        ("بالعربية الفصحى", ["بالعربية", " ", "الفصحى"]),
        ("cafe\u0301 e\u0301te\u0301", ["cafe\u0301", " ", "e\u0301te\u0301"]),
        ("👨\u200d👩\u200d👧🇫🇷🇬🇧👍🏽", ["👨\u200d👩\u200d👧", "🇫🇷", "🇬🇧", "👍🏽"]),
        ("10\u00a0kg a\u200bb", ["10", "\u00a0", "kg", " ", "a", "\u200b", "b"]),
        ("", []),
    ],
)
def test_tokens_are_what_a_reader_compares(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected
