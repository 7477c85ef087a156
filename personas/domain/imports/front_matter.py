"""Front matter: the YAML between two lines of ``---`` at the start of a Markdown file, read as plain texts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from personas.domain.text import shown

MAX_CHARACTERS = 64 * 1024
_MAX_DEPTH = 8
_MAX_REPAIRS = 10
_NULL = "tag:yaml.org,2002:null"
# A whole entry on one line whose plain value holds a colon that YAML takes for another entry's.
_STRAY_COLON = re.compile(r"(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s\"'\[\]{}|>&*!%@`#,?-].*?:(?:[ \t].*)?)[ \t]*")

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)


class FrontMatterFault(ValueError):
    """Front matter that cannot be read, with the line of the file that shows it."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Value:
    """What a key holds: a text, a list of texts, or None for anything deeper. Every scalar is the text as written."""

    line: int
    content: str | list[str] | None


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values by key, the text below (from ``body_line`` on), and ``(line, text)`` of what was read leniently."""

    values: Mapping[str, Value]
    body: str
    body_line: int
    notices: tuple[tuple[int, str], ...]


def read_front_matter(text: str) -> FrontMatter:
    """Split a file with ``\\n`` line ends and read its front matter.

    Raises FrontMatterFault with the line for anything that is not one flat YAML mapping of distinct keys. Anchors,
    aliases and tags are refused: nothing here needs them, and they are how a small file becomes a large one.
    """
    raw, body = _split(text)
    lines = raw.split("\n")
    notices: list[tuple[int, str]] = []
    while True:
        try:
            values = _values("\n".join(lines))
            return FrontMatter(values, body, raw.count("\n") + 3, tuple(notices))
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark.line if error.problem_mark else 0
            stray = _STRAY_COLON.fullmatch(lines[at]) if at < len(lines) and len(notices) < _MAX_REPAIRS else None
            if stray is None:
                problem = error.problem or error.context
                raise FrontMatterFault(at + 2, f"The front matter cannot be read as YAML: {problem}.") from error
            # Programs that run these files take such a value as it stands, so it is quoted and read again.
            value = stray["value"].rstrip().replace("'", "''")
            lines[at] = f"{stray['key']}: '{value}'"
            notices.append((at + 2, f"“{stray['key']}” holds an unquoted colon: the whole line was read as its value."))


def _split(text: str) -> tuple[str, str]:
    """Return what stands between the two marks, and what stands below them."""
    opening = _OPENING.match(text)
    if opening is None:
        raise FrontMatterFault(1, "There is no front matter: start the file with a line “---”, then “name: …”.")
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise FrontMatterFault(1, "The front matter is never closed: end it with a line “---”.")
    raw = text[opening.end() : closing.start()]
    if len(raw) > MAX_CHARACTERS:
        raise FrontMatterFault(
            1, f"Shorten the front matter: {len(raw):,} characters, at most {MAX_CHARACTERS:,} are read."
        )
    return raw, text[closing.end() :]


class _Loader(yaml.SafeLoader):
    """Composes plain nodes only, and not deep ones: the composer calls itself for each level."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if event.anchor is not None or getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(None, None, "anchors &, aliases * and tags ! are not read", event.start_mark)
        if self.depth == _MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, f"it is nested more than {_MAX_DEPTH} deep", event.start_mark)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _values(raw: str) -> dict[str, Value]:
    """Return the top-level entries of a YAML mapping. Raises yaml.MarkedYAMLError or FrontMatterFault."""
    try:
        root = yaml.compose(raw, Loader=_Loader)
    except yaml.reader.ReaderError as error:
        line = raw.count("\n", 0, error.position) + 2
        raise FrontMatterFault(line, f"Remove U+{error.character:04X}: YAML does not allow it.") from error
    except (ValueError, OverflowError) as error:
        # PyYAML does not check numbers, such as that of the escape "\UFFFFFFFF", before it uses them.
        raise FrontMatterFault(1, "A number in the front matter's escapes or directives is too large.") from error
    if not isinstance(root, yaml.MappingNode):
        raise FrontMatterFault(2, "The front matter is no mapping: write lines like “name: …”.")
    values: dict[str, Value] = {}
    for key, value in root.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode):
            raise FrontMatterFault(line, "A key of the front matter is no text: write lines like “name: …”.")
        if key.value in values:
            raise FrontMatterFault(line, f"The key {shown(key.value)} stands twice: keep one.")
        values[key.value] = Value(line, _content(value))
    return values


def _content(node: yaml.Node) -> str | list[str] | None:
    """Return a node as a text, a list of texts, or None for anything deeper."""
    if isinstance(node, yaml.ScalarNode):
        # Types are not guessed, so that a persona may be called "on" or "007"; only an explicit nothing is empty.
        return "" if node.tag == _NULL else str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return [str(item.value) for item in node.value]
    return None
