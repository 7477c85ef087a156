"""Name the characters a reader cannot see: invisible, turning the text around, or not what they look like."""

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import regex

from learning.domain.diff import Comparison, compare

# Emoji need joiners and selectors to be drawn; inside a well-formed sequence these hide nothing. Of the flags made with
# tag characters only the three that have a glyph: any other would carry hidden letters.
_PICTURE = r"\p{Extended_Pictographic}(?:[\uFE0E\uFE0F]|\p{Emoji_Modifier})?+"
_EMOJI = (
    r"\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F"  # England
    r"|\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"  # Scotland
    r"|\U0001F3F4\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F"  # Wales
    r"|[0-9#*]\uFE0F\u20E3"
    rf"|{_PICTURE}(?:\u200D{_PICTURE})*+"
)
# Left out of the classes: the two white spaces every text has, the wide space of Chinese and Japanese, and format
# characters with a glyph of their own. Added: a braille cell without dots.
_GHOST = (
    r"[[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Co}\p{Cn}\u2800]"
    r"--[ \n\t\u3000\p{Prepended_Concatenation_Mark}]]"
)
_SPLIT = regex.compile(rf"(?:{_EMOJI})(*SKIP)(*FAIL)|{_GHOST}", regex.V1)

_CONTROLS = [
    ("NUL", "null"), ("SOH", "start of heading"), ("STX", "start of text"), ("ETX", "end of text"),
    ("EOT", "end of transmission"), ("ENQ", "enquiry"), ("ACK", "acknowledge"), ("BEL", "bell"), ("BS", "backspace"),
    ("HT", "tabulation"), ("LF", "line feed"), ("VT", "line tabulation"), ("FF", "form feed"),
    ("CR", "carriage return"), ("SO", "shift out"), ("SI", "shift in"), ("DLE", "data link escape"),
    ("DC1", "device control one"), ("DC2", "device control two"), ("DC3", "device control three"),
    ("DC4", "device control four"), ("NAK", "negative acknowledge"), ("SYN", "synchronous idle"),
    ("ETB", "end of transmission block"), ("CAN", "cancel"), ("EM", "end of medium"), ("SUB", "substitute"),
    ("ESC", "escape"), ("FS", "file separator"), ("GS", "group separator"), ("RS", "record separator"),
    ("US", "unit separator"),
]  # fmt: skip
_LABELS = {
    0x7F: "DEL", 0x85: "NEL", 0xA0: "NBSP", 0xAD: "SHY", 0x34F: "CGJ", 0x61C: "ALM", 0x115F: "HCF", 0x1160: "HJF",
    0x180B: "FVS1", 0x180C: "FVS2", 0x180D: "FVS3", 0x180E: "MVS", 0x180F: "FVS4",
    0x2000: "NQSP", 0x2001: "MQSP", 0x2002: "ENSP", 0x2003: "EMSP", 0x2004: "3MSP", 0x2005: "4MSP", 0x2006: "6MSP",
    0x2007: "FSP", 0x2008: "PSP", 0x2009: "THSP", 0x200A: "HSP",
    0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM", 0x2028: "LSEP", 0x2029: "PSEP",
    0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x202F: "NNBSP", 0x205F: "MMSP",
    0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0x3164: "HF", 0xFEFF: "BOM",
    0xFFA0: "HHF", 0xE0001: "TAG", 0xE007F: "TAG END",
}  # fmt: skip
_NAMES = {0x7F: "delete", 0x85: "next line", 0xFEFF: "byte order mark", 0xE0001: "language tag"}
_KINDS = {"Cc": "control character", "Cs": "lone surrogate", "Co": "private use", "Cn": "unassigned"}


@dataclass(frozen=True, slots=True)
class Ghost:
    """A character that is drawn as a named mark: `label` is short ("ZWSP"), `code` is "U+200B", `name` is in words."""

    char: str
    label: str
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: visible (`ghost` is None), or one character that is drawn as its name."""

    text: str
    ghost: Ghost | None = None


@dataclass(frozen=True, slots=True)
class NewGhost:
    """How often a hidden character is new in one line of a text; `line` counts from 1."""

    ghost: Ghost
    line: int
    count: int


def pieces(text: str) -> list[Piece]:
    """Cut `text` into visible stretches and named marks; their texts joined give `text` back.

    A mark is what cannot be seen, turns the text around or only looks like a space: controls except newline and tab,
    bidirectional and other format characters, default-ignorable code points, unusual spaces, lone surrogates,
    private-use and unassigned code points. Joiners, selectors and tags inside a well-formed emoji are part of it.
    """
    found: list[Piece] = []
    at = 0
    for match in _SPLIT.finditer(text):
        if match.start() > at:
            found.append(Piece(text[at : match.start()]))
        found.append(Piece(match[0], ghost(match[0])))
        at = match.end()
    if at < len(text):
        found.append(Piece(text[at:]))
    return found


@lru_cache(maxsize=4096)
def ghost(char: str) -> Ghost:
    """Name the one character `char` by its usual abbreviation, its code and its Unicode name."""
    number = ord(char)
    code = f"U+{number:04X}"
    name = _NAMES.get(number) or unicodedata.name(char, "").lower()
    if number < 0x20:
        label, name = _CONTROLS[number]
        return Ghost(char, label, code, name)
    if 0xFE00 <= number <= 0xFE0F:
        label = f"VS{number - 0xFE00 + 1}"
    elif 0xE0100 <= number <= 0xE01EF:
        label = f"VS{number - 0xE0100 + 17}"
    elif 0xE0020 <= number <= 0xE007E:
        label = f"TAG {chr(number - 0xE0000)}" if number > 0xE0020 else "TAG space"
    else:
        label = _LABELS.get(number, code)
    if number & 0xFFFE == 0xFFFE or 0xFDD0 <= number <= 0xFDEF:
        name = "noncharacter"
    return Ghost(char, label, code, name or _KINDS.get(unicodedata.category(char), "character without a name"))


def trailing(text: str) -> int:
    """Count the spaces and tabs at the end of the line `text`."""
    return len(text) - len(text.rstrip(" \t"))


def new_in(comparison: Comparison) -> list[NewGhost]:
    """List the hidden characters inside inserted text, by line, in order of appearance.

    Everything in an inserted segment is new, also when the same character went elsewhere: put into another place, it
    says something else there.
    """
    found: list[NewGhost] = []
    for row in comparison.rows:
        if row.kind not in ("edit", "add") or row.now is None:
            continue
        inserted = (segment.text for segment in row.now.segments if segment.kind == "ins")
        counts = Counter(piece.ghost for text in inserted for piece in pieces(text) if piece.ghost)
        found += [NewGhost(mark, row.now.number, count) for mark, count in counts.items()]
    return found


def count_new(before: str, after: str) -> list[NewGhost]:
    """List the hidden characters that are new in `after`, as `new_in` does for a comparison at hand."""
    return new_in(compare(before, after))
