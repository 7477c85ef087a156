"""Recognise a text, or a change, that was refused before, though it comes back in another dress."""

import hashlib
import unicodedata
from collections import Counter

import regex

_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_BLANK_LINE = regex.compile(r"\n\s*\n")


def fold(text: str) -> str:
    """Return `text` without what a reader cannot tell apart.

    Default-ignorable characters are removed first (one between a letter and its accent would keep them from
    composing), then the text is brought to NFC, then each run of white space becomes one space, and none at either end.
    """
    return " ".join(unicodedata.normalize("NFC", _IGNORABLE.sub("", text)).split())


def text_fingerprint(text: str) -> str:
    """Return the SHA-256 of the folded `text`, in hexadecimal."""
    return _digest(fold(text))


def changed_paragraphs(base: str, proposed: str) -> tuple[list[str], list[str]]:
    """Return the folded paragraphs that `proposed` adds to `base`, and those it removes, each list sorted.

    Paragraphs are parted by blank lines. One that is there more often counts as added so many times; the order of
    paragraphs is not looked at.
    """
    old, new = _paragraphs(base), _paragraphs(proposed)
    return sorted((new - old).elements()), sorted((old - new).elements())


def change_fingerprint(base: str, proposed: str) -> str:
    """Return the SHA-256, in hexadecimal, of what `proposed` adds to `base` and removes from it.

    The same change against another base has the same fingerprint; adding a paragraph differs from removing it.
    """
    added, removed = changed_paragraphs(base, proposed)
    # A folded paragraph holds no newline, so one line for each cannot be read in two ways.
    return _digest("\n".join([*(f"+{text}" for text in added), *(f"-{text}" for text in removed)]))


def _paragraphs(text: str) -> Counter[str]:
    """Count the folded paragraphs of `text`. A line of invisible characters is blank."""
    return Counter(folded for part in _BLANK_LINE.split(_IGNORABLE.sub("", text)) if (folded := fold(part)))


def _digest(text: str) -> str:
    # A lone surrogate has no UTF-8; it is hashed all the same, as a text of its own.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
