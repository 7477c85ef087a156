"""What changed between two JSON documents, as rows of path, before and after."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEEPEST = 12  # levels that become steps of a path; what lies deeper is shown as JSON
LONGEST_ROW = 120  # characters


@dataclass(frozen=True, slots=True)
class Change:
    """One leaf that differs. ``before`` or ``after`` is None where it was not there."""

    path: str
    before: str | None
    after: str | None

    @property
    def is_prose(self) -> bool:
        """Whether it is better read as a comparison of texts than in a row."""
        return any("\n" in side or len(side) > LONGEST_ROW for side in (self.before, self.after) if side)


@dataclass(frozen=True, slots=True)
class Same:
    """One leaf that stayed."""

    path: str
    value: str


def compare_leaves(before: Any, after: Any) -> tuple[list[Change], list[Same]]:
    """Return the leaves that differ and those that stayed, each by path.

    A path is made of the names and positions that lead to the leaf, as ``binding.permissions.tool:kb.search`` or
    ``tools[0]``. A leaf is a text, as it is, or the JSON of another value; an empty list or object is a leaf.
    """
    was, now = dict(leaves(before)), dict(leaves(after))
    changes, same = [], []
    for path in [*was, *(path for path in now if path not in was)]:
        if path in was and path in now and was[path] == now[path]:
            same.append(Same(path, was[path][1]))
        else:
            changes.append(Change(path, *(side[path][1] if path in side else None for side in (was, now))))
    return sorted(changes, key=lambda change: change.path), sorted(same, key=lambda leaf: leaf.path)


def leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, tuple[bool, str]]]:
    """Every leaf as its path, whether it is a text, and its text: so the text ``1`` is not the number."""
    if isinstance(value, Mapping) and (value or not path) and depth < DEEPEST:
        for name, part in value.items():
            yield from leaves(part, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value and depth < DEEPEST:
        for number, part in enumerate(value):
            yield from leaves(part, f"{path}[{number}]", depth + 1)
    else:
        yield path, (isinstance(value, str), writable(value if isinstance(value, str) else as_json(value)))


def as_json(value: Any) -> str:
    """JSON on one line, with every character that can be written as it is."""
    return writable(json.dumps(value, ensure_ascii=False))


def writable(text: str) -> str:
    """The text with halves of surrogate pairs, which no output can hold, written as ``\\udxxx``."""
    return text.encode("utf-8", "backslashreplace").decode()
