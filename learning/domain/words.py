"""Cut text into the smallest pieces a reader compares: words, spaces, signs, characters of unspaced scripts."""

import regex

# Scripts written without spaces between words. A character each, so that a mark is smaller than the sentence.
# Katakana is the exception: it writes loan words and names, so a run of it reads as one word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Line_Break=Complex_Context}"

# What joins the character before it into one grapheme cluster.
_EXTEND = r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]"

# Left to `\X`: characters that join the one *after* them (Prepend), and signs that start an emoji sequence.
_LETTER = rf"(?:[[\p{{L}}\p{{N}}\p{{M}}_]--[{_UNSPACED}]--[\p{{GCB=Prepend}}\p{{Extended_Pictographic}}]]{_EXTEND}*+)"

_WORD = rf"{_LETTER}++(?:(?:[.'’](?!{_EXTEND})|(?<=\d),(?=\d)){_LETTER}++)*+"
_KATAKANA = rf"(?:[\p{{Katakana}}ー]{_EXTEND}*+)++"
_SPACES = rf"(?:[ \t](?!{_EXTEND}))++"

_TOKEN = regex.compile(rf"{_WORD}|{_KATAKANA}|{_SPACES}|\X", regex.V1)


def tokens(text: str) -> list[str]:
    """Cut `text` into words, runs of spaces, and single grapheme clusters for everything else.

    A word may hold inner full stops and apostrophes (`kb.search`, `don’t`, `3.5`) and commas between digits (`1,000`);
    a hyphen or slash parts words (`2026-01-22` is five tokens). Han, Hiragana, Thai and other unspaced scripts give one
    token for each character. Joining the tokens gives `text` back; a grapheme cluster is never cut.
    """
    found: list[str] = _TOKEN.findall(text)
    return found
