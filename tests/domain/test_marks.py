"""Hidden characters are drawn by name, and none slips in unseen."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.domain.marks import count_new, ghost, pieces, trailing

CHARS = st.one_of(
    st.characters(),
    st.characters(categories=["Cf", "Cc", "Zs", "Co", "Cs"]),
    st.sampled_from("a👩🏴❤1#\u20e3\u200d\ufe0f"),
)


def labels(text: str) -> list[str]:
    return [piece.ghost.label for piece in pieces(text) if piece.ghost]


@given(st.text(CHARS))
def test_pieces_join_to_the_text(text: str) -> None:
    found = pieces(text)
    assert "".join(piece.text for piece in found) == text
    for piece in found:
        assert piece.text
        assert piece.ghost is None or piece.ghost.char == piece.text
        assert piece.ghost is None or (piece.ghost.label and piece.ghost.name)
    assert not any(left.ghost is right.ghost is None for left, right in pairwise(found))


@pytest.mark.parametrize(
    ("char", "label", "name"),
    [
        ("\u200b", "ZWSP", "zero width space"),
        ("\u200c", "ZWNJ", "zero width non-joiner"),
        ("\u200d", "ZWJ", "zero width joiner"),
        ("\u2060", "WJ", "word joiner"),
        ("\u00a0", "NBSP", "no-break space"),
        ("\u202f", "NNBSP", "narrow no-break space"),
        ("\u2009", "THSP", "thin space"),
        ("\u00ad", "SHY", "soft hyphen"),
        ("\ufeff", "BOM", "byte order mark"),
        ("\u200e", "LRM", "left-to-right mark"),
        ("\u061c", "ALM", "arabic letter mark"),
        ("\u202e", "RLO", "right-to-left override"),
        ("\u2066", "LRI", "left-to-right isolate"),
        ("\u2069", "PDI", "pop directional isolate"),
        ("\u2028", "LSEP", "line separator"),
        ("\u0085", "NEL", "next line"),
        ("\u0000", "NUL", "null"),
        ("\u001b", "ESC", "escape"),
        ("\u0007", "BEL", "bell"),
        ("\r", "CR", "carriage return"),
        ("\u001f", "US", "unit separator"),
        ("\u009b", "U+009B", "control character"),
        ("\U000e0061", "TAG a", "tag latin small letter a"),
        ("\U000e0020", "TAG space", "tag space"),
        ("\ufe0f", "VS16", "variation selector-16"),
        ("\U000e0100", "VS17", "variation selector-17"),
        ("\u3164", "HF", "hangul filler"),
        ("\u034f", "CGJ", "combining grapheme joiner"),
        ("\u2800", "U+2800", "braille pattern blank"),
        ("\ue000", "U+E000", "private use"),
        ("\ud800", "U+D800", "lone surrogate"),
        ("\uffff", "U+FFFF", "noncharacter"),
        ("\ufdd0", "U+FDD0", "noncharacter"),
        ("\U000e0fff", "U+E0FFF", "unassigned"),
    ],
)
def test_each_hidden_character_has_its_usual_name(char: str, label: str, name: str) -> None:
    mark = ghost(char)
    assert (mark.label, mark.code, mark.name) == (label, f"U+{ord(char):04X}", name)
    assert [(piece.text, piece.ghost) for piece in pieces(f"a{char}b")] == [("a", None), (char, mark), ("b", None)]


@pytest.mark.parametrize(
    "text",
    [
        "Plain text,\twith a tab\nand a line.",
        "👨\u200d👩\u200d👧 👍🏽 👩🏽\u200d🚒 🏳\ufe0f\u200d🌈 ❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3 🇬🇧 ©\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "　你好，世界。　日本語",
        "cafe\u0301 हिन्दी العربية \u06dd",
    ],
)
def test_ordinary_text_and_emoji_read_without_marks(text: str) -> None:
    assert [(piece.text, piece.ghost) for piece in pieces(text)] == [(text, None)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("❤\ufe0f\ufe0f", ["VS16"]),
        ("a\ufe0f", ["VS16"]),
        ("1\ufe0f", ["VS16"]),
        ("\u200d👩", ["ZWJ"]),
        ("👩\u200d", ["ZWJ"]),
        ("👩\u200d\u200d👩", ["ZWJ", "ZWJ"]),
        ("🏴\U000e0069\U000e0067\U000e006e\U000e007f", ["TAG i", "TAG g", "TAG n", "TAG END"]),
        ("می\u200cخواهم क्\u200dष", ["ZWNJ", "ZWJ"]),
    ],
)
def test_what_hides_beside_emoji_or_in_words_is_drawn(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


@pytest.mark.parametrize(
    ("line", "count"), [("a", 0), ("a ", 1), ("a \t ", 3), ("   ", 3), ("", 0), (" a", 0), ("a\u00a0", 0)]
)
def test_trailing_spaces_are_counted(line: str, count: int) -> None:
    assert trailing(line) == count


def new(before: str, after: str) -> list[tuple[str, int, int]]:
    return [(found.ghost.label, found.line, found.count) for found in count_new(before, after)]


def test_new_hidden_characters_are_counted_by_line() -> None:
    before = "First line.\nScores below 60% fail.\nThe last line."
    after = "First li\u200bne \u200bnow.\nScores below\u00a060% fail.\nThe last line.\nMore\u202e."
    assert new(before, after) == [("ZWSP", 1, 2), ("NBSP", 2, 1), ("RLO", 4, 1)]


def test_those_that_were_there_are_not_new() -> None:
    before = "Keep 10\u00a0kg and a\u200bb here.\nOther \u200b line."
    assert new(before, before) == []
    assert new(before, before.replace("Keep", "Hold").replace("10", "12")) == []
    assert new(before, "Keep 10 kg and ab here.\nOther  line.") == []


def test_one_that_went_to_another_place_is_new_there() -> None:
    assert new("Pay a\u200bb the sum of ten coins.", "Pay ab the sum of ten\u200b coins.") == [("ZWSP", 1, 1)]
    assert new("One \u200b line.\nAnother line here.", "One  line.\nAnother \u200b line here.") == [("ZWSP", 2, 1)]


def test_emoji_that_come_in_hide_nothing() -> None:
    assert new("Sign.", "Sign. 👩\u200d🚒 ❤\ufe0f") == []


@given(st.text("ab \n", max_size=30), st.integers(0, 30), st.sampled_from("\u200b\u202e\u00a0\U000e0041"))
def test_an_inserted_hidden_character_is_always_found(text: str, at: int, char: str) -> None:
    at = min(at, len(text))
    after = text[:at] + char + text[at:]
    line = text[:at].count("\n") + 1
    assert [(found.ghost.char, found.line) for found in count_new(text, after)] == [(char, line)]
