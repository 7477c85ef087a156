"""Clean text, names, context ids and tool ids."""

import re
import sys
import unicodedata
from importlib import import_module

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from personas.domain.text import (
    MAX_INSTRUCTIONS,
    TextFault,
    check_tool_id,
    clean_instructions,
    clean_name,
    digest,
    name_key,
    shown,
    slugify_id,
)

any_text = st.text(st.characters(exclude_categories=()))


def refusal(function, *arguments, **options) -> TextFault:
    with pytest.raises(TextFault) as caught:
        function(*arguments, **options)
    return caught.value


class TestInstructions:
    def test_line_ends_become_newlines(self):
        assert clean_instructions("a\r\nb\rc\n\r\nd\r") == "a\nb\nc\n\nd\n"

    def test_nothing_else_changes(self):
        text = "  \ufeffÅ e\u0301 \u202eabc\u200b\t\x07\u2028 \x85 👩‍💻  \n\n"
        assert clean_instructions(text) == text

    def test_nul_is_refused_with_its_line(self):
        fault = refusal(clean_instructions, "one\r\ntwo\rth\0ree")
        assert fault.code == "nul"
        assert "line 3" in str(fault)

    def test_half_a_surrogate_pair_is_refused_with_its_line(self):
        fault = refusal(clean_instructions, "one\ntwo \ud83d")
        assert fault.code == "surrogate"
        assert "line 2" in fault.message
        assert "U+D83D" in fault.message

    def test_the_limit_counts_characters_after_cleaning(self):
        assert len(clean_instructions("😀" * MAX_INSTRUCTIONS)) == MAX_INSTRUCTIONS
        assert len(clean_instructions("\r\n" * (MAX_INSTRUCTIONS - 1) + "x")) == MAX_INSTRUCTIONS
        fault = refusal(clean_instructions, "x" * (MAX_INSTRUCTIONS + 1))
        assert fault.code == "too_long"
        assert "100,001" in fault.message
        assert "100,000" in fault.message

    @pytest.mark.parametrize("text", ["", " ", "\r\n\t", "\u3000\xa0"])
    def test_empty_is_refused_unless_allowed(self, text):
        assert refusal(clean_instructions, text).code == "empty"
        assert clean_instructions(text, allow_empty=True) == text.replace("\r\n", "\n")

    @given(any_text)
    def test_cleaning_twice_is_cleaning_once(self, text):
        try:
            clean = clean_instructions(text, allow_empty=True)
        except TextFault:
            assert "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)
        else:
            assert clean_instructions(clean, allow_empty=True) == clean
            assert "\r" not in clean
            assert len(digest(clean)) == 64


class TestName:
    @pytest.mark.parametrize(
        ("text", "clean"),
        [
            ("  Life Coach\n", "Life Coach"),
            ("Cafe\u0301", "Café"),
            ("客服助手", "客服助手"),
            ("🚀", "🚀"),
            ("a  b", "a  b"),
            ("\u3000x\xa0", "x"),
        ],
    )
    def test_names_are_composed_and_stripped(self, text, clean):
        assert clean_name(text) == clean

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("", "empty"),
            (" \n ", "empty"),
            ("a\nb", "control_character"),
            ("a\tb", "control_character"),
            ("a\x85b", "control_character"),
            ("a\u2028b", "control_character"),
            ("a\u200bb", "invisible_character"),
            ("\ufeffa", "invisible_character"),
            ("a\u202eb", "invisible_character"),
            ("a\u2066b", "invisible_character"),
            ("a\U000e0041", "invisible_character"),
            ("a\0", "nul"),
            ("a\udc80", "surrogate"),
            ("x" * 201, "too_long"),
            ("x" * 10_000_000, "too_long"),
        ],
    )
    def test_what_is_refused(self, text, code):
        assert refusal(clean_name, text).code == code

    def test_the_limit_counts_composed_characters(self):
        assert len(clean_name("e\u0301" * 200)) == 200

    def test_the_message_points_at_the_character(self):
        assert "character 3 of the name: U+202E" in str(refusal(clean_name, " ab\u202ec"))
        assert "the persona must" in str(refusal(clean_name, "", what="persona"))

    @pytest.mark.parametrize("name", ["\u2764\ufe0f Care", "\U0001f469\u200d\U0001f4bb Coder", "Key 1\ufe0f\u20e3"])
    def test_emoji_may_be_put_together(self, name):
        assert clean_name(name) == name

    @pytest.mark.parametrize(
        "name", ["a\ufe0fb", "a\u200db", "\U0001f600\u200d", "\u200d\U0001f600", "\u2764\ufe0f\ufe0f"]
    )
    def test_a_joiner_that_joins_no_emoji_is_refused(self, name):
        assert refusal(clean_name, name).code == "invisible_character"

    def test_exactly_the_default_ignorable_characters_are_invisible(self):
        """Whatever Unicode calls default-ignorable is refused inside a name, and nothing else as invisible."""
        ignorable = import_module("regex").compile(r"\p{Default_Ignorable_Code_Point}")
        for point in range(sys.maxunicode + 1):
            character = chr(point)
            try:
                clean_name(f"a{character}b")
                invisible = False
            except TextFault as fault:
                invisible = fault.code == "invisible_character"
            assert invisible == bool(ignorable.match(character)), f"U+{point:04X}"

    @given(any_text)
    @example("\u2000a")
    def test_cleaning_twice_is_cleaning_once(self, text):
        try:
            clean = clean_name(text)
        except TextFault:
            return
        assert clean_name(clean) == clean
        assert 1 <= len(clean) <= 200
        assert clean == clean.strip() == unicodedata.normalize("NFC", clean)


class TestNameKey:
    def test_case_and_composition_make_no_difference(self):
        assert name_key("STRASSE") == name_key("Straße")
        assert name_key("CAFÉ") == name_key("cafe\u0301")
        assert name_key("a") != name_key("b")

    @given(st.text())
    @example("\u0345\u03b1")
    @example("ΐ")
    def test_a_key_is_its_own_key(self, text):
        assert name_key(name_key(text)) == name_key(text)

    @given(st.text())
    def test_equivalent_texts_have_one_key(self, text):
        assert len({name_key(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}) == 1


class TestSlug:
    @pytest.mark.parametrize(
        ("name", "slug"),
        [
            ("Life Coach", "life-coach"),
            ("  C++ / C# (2) ", "c-c-2"),
            ("客服助手 一", "客服助手-一"),
            ("Über_Prüfer", "über-prüfer"),
            ("हिन्दी सहायक", "हिन्दी-सहायक"),
            ("🚀 Team", "team"),
            ("a\u200bb", "a-b"),
        ],
    )
    def test_letters_and_digits_of_any_script_are_kept(self, name, slug):
        assert slugify_id(name) == slug

    def test_a_name_of_emoji_alone_gets_a_stable_id(self):
        assert slugify_id("🚀") == slugify_id("🚀")
        assert slugify_id("🚀") != slugify_id("🎉")
        assert re.fullmatch("id-[0-9a-f]{12}", slugify_id("❤️"))

    @given(any_text)
    @example("İ" * 200)
    @example("ΑΣ ΑΣ")
    def test_every_text_gives_a_slug_that_is_its_own_slug(self, text):
        slug = slugify_id(text)
        assert 1 <= len(slug) <= 128
        assert slugify_id(slug) == slug
        assert slug == slug.strip("-")
        assert "--" not in slug


class TestToolId:
    @pytest.mark.parametrize("text", ["Read", "mcp__bgpt__search_papers", "a.b.c", "-", "A-1_b.9", "x" * 128])
    def test_good_ids_are_returned(self, text):
        assert check_tool_id(text) == text

    @pytest.mark.parametrize("text", ["", "Bash(git:*)", "a..b", ".a", "a.", "a b", "*", "é", "a\n", "a/b", "１"])
    def test_others_are_refused_by_name(self, text):
        fault = refusal(check_tool_id, text)
        assert fault.code == "malformed_tool_id"
        assert shown(text) in fault.message

    def test_the_limit(self):
        assert refusal(check_tool_id, "x" * 129).code == "too_long"


def test_shown_is_short_and_printable():
    assert shown("a\u202e\ud800") == r"'a\u202e\ud800'"
    assert len(shown("x" * 1000)) == 62


def test_the_digest_is_the_sha256_of_utf_8():
    assert digest("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
