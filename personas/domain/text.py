"""Clean text: what may be an instruction text, a name, a context id or a tool id, and what a refusal says."""

import hashlib
import re
import unicodedata

import regex

MAX_INSTRUCTIONS = 100_000
MAX_NAME = 200
MAX_SLUG = 128
MAX_TOOL_ID = 128

_LINE_ENDS = re.compile(r"\r\n?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOOL_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
# The Unicode property Default_Ignorable_Code_Point, which holds the bidirectional controls too.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# A joiner or selector inside a well-formed emoji hides nothing; anywhere else it makes two names look like one.
_EMOJI = regex.compile(
    r"(?:[0-9#*]\uFE0F\u20E3|\p{Extended_Pictographic}[\uFE0E\uFE0F]?\p{Emoji_Modifier}?"
    r"(?:\u200D\p{Extended_Pictographic}[\uFE0E\uFE0F]?\p{Emoji_Modifier}?)*)"
)


class TextFault(ValueError):
    """A text that is refused. ``code`` is stable; the message says what is wrong and what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def clean_instructions(text: str, *, allow_empty: bool = False) -> str:
    """Return the text with every line end as ``\\n`` and nothing else changed.

    Raises TextFault for NUL, lone surrogates, more than 100,000 characters and, unless ``allow_empty``, a text of white
    space alone.
    """
    return clean_text(text, what="instructions", allow_empty=allow_empty)


def clean_text(text: str, *, what: str, allow_empty: bool = False) -> str:
    """Do the same for any text of several lines; ``what`` names it in messages ("The <what> is ...")."""
    text = _LINE_ENDS.sub("\n", text)
    if len(text) > MAX_INSTRUCTIONS:
        raise TextFault(
            "too_long", f"Shorten the {what}: {len(text):,} characters, at most {MAX_INSTRUCTIONS:,} are allowed."
        )
    _refuse_characters(text, what)
    if not allow_empty and not text.strip():
        raise TextFault("empty", f"Write something: the {what} must not be empty.")
    return text


def clean_name(text: str, *, what: str = "name") -> str:
    """Return a name in NFC without white space around it: 1 to 200 characters on one line, all of them visible.

    ``what`` names the input in messages. Raises TextFault for anything else. Cleaning a clean name changes nothing.
    """
    _refuse_characters(text, what)
    # What is longer than any clean name could have been is not worth normalising.
    name = unicodedata.normalize("NFC", text).strip() if len(text) <= 100 * MAX_NAME else text
    if not name:
        raise TextFault("empty", f"Write something: the {what} must not be empty.")
    if len(name) > MAX_NAME:
        raise TextFault("too_long", f"Shorten the {what}: {len(name):,} characters, at most {MAX_NAME} are allowed.")
    for position, character in enumerate(_EMOJI.sub(lambda found: "x" * len(found[0]), name), 1):
        place = f"Remove character {position} of the {what}: U+{ord(character):04X} is"
        if unicodedata.category(character) in {"Cc", "Zl", "Zp"}:
            raise TextFault("control_character", f"{place} a line break or control character.")
        if _INVISIBLE.match(character):
            raise TextFault("invisible_character", f"{place} an invisible character.")
    return name


def name_key(name: str) -> str:
    """Return what names are ordered by: casefolded, in NFC. Compare it bytewise, never by a locale."""
    # Decomposed first, as Unicode's caseless matching asks: folding a composed letter can undo the composition.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def slugify_id(name: str) -> str:
    """Return an id of at most 128 characters made from a name: letters and digits of any script in lower case.

    Everything else becomes a hyphen. A name with no letter or digit, such as one of emoji alone, gives ``id-`` and the
    first 12 digits of its hash, so the same name always gives the same id. Never empty, never raises.
    """
    kept: list[str] = []
    for character in unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).lower()):
        kind = unicodedata.category(character)
        # Marks are the vowels of many scripts, but say nothing without a letter before them.
        wanted = kind[0] in "LN" or (kind in {"Mn", "Mc"} and kept and kept[-1] != "-")
        if wanted and not _INVISIBLE.match(character):
            kept.append(character)
        elif kept and kept[-1] != "-":
            kept.append("-")
    slug = "".join(kept[:MAX_SLUG]).strip("-")
    return slug or "id-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def check_tool_id(text: str) -> str:
    """Return the tool id unchanged: parts of ASCII letters, digits, ``_`` and ``-`` joined by single dots.

    Raises TextFault for anything else and for more than 128 characters.
    """
    if len(text) > MAX_TOOL_ID:
        raise TextFault(
            "too_long",
            f"Shorten the tool id {shown(text)}: {len(text):,} characters, at most {MAX_TOOL_ID} are allowed.",
        )
    if not _TOOL_ID.fullmatch(text):
        raise TextFault(
            "malformed_tool_id",
            f"Write the tool id {shown(text)} with letters, digits, “_” and “-” only, its parts joined by single dots.",
        )
    return text


def digest(text: str) -> str:
    """Return the sha256 of a clean text as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def shown(text: str, limit: int = 60) -> str:
    """Return input for use in a message: quoted, at most ``limit`` characters, unprintable ones escaped."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def _refuse_characters(text: str, what: str) -> None:
    """Raise TextFault for what no database can hold: NUL and halves of surrogate pairs."""
    position = text.find("\0")
    if position >= 0:
        raise TextFault("nul", f"Remove the NUL character in line {_line(text, position)} of the {what}.")
    if match := _SURROGATE.search(text):
        raise TextFault(
            "surrogate",
            f"Replace the character in line {_line(text, match.start())} of the {what}: U+{ord(match[0]):04X} is half a"
            " surrogate pair and stands for no character.",
        )


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
