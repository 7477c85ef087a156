"""Which name each imported text gets in a tenant, so that importing a file twice changes nothing."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from personas.domain.text import MAX_NAME

_NUMBERED = re.compile(r"(.+)( \(([2-9]|[1-9][0-9]{1,6})\))")
# The lengths of " (2)" to " (9999999)", the numbers that _NUMBERED knows.
_SUFFIX_LENGTHS = range(4, 11)


@dataclass(frozen=True, slots=True)
class Same[I]:
    """The text is there already under this name or a numbered form of it: nothing to do."""

    ident: I


@dataclass(frozen=True, slots=True)
class New:
    """The text is new; ``renamed_from`` is the wanted name if another text has it."""

    name: str
    renamed_from: str | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """The text is that of an earlier record of the same import, at this index."""

    first: int


def allocate_names[I](
    wanted: Sequence[tuple[str, str]], existing: Mapping[tuple[str, str], I], taken: Set[str]
) -> list[Same[I] | New | Repeat]:
    """Decide for each wanted ``(clean name, digest of the text)``, in order, what becomes of it.

    ``existing`` gives the persona that was first made with a name and a digest; ``taken`` are the names in use now. A
    taken name gets the lowest free number from 2 that no record of the import wants itself: "Name (2)", its base cut so
    that it stays within 200 characters. Applied again after its own result, it answers Same for every record.
    """
    known: _Known[Same[I] | Repeat] = _Known()
    for (name, text), ident in existing.items():
        known.add(name, text, Same(ident))
    used = set(taken)
    reserved = {name for name, _ in wanted}
    numbers: dict[str, int] = {}
    answers: list[Same[I] | New | Repeat] = []
    for index, (name, text) in enumerate(wanted):
        if (answer := known.find(name, text)) is not None:
            answers.append(answer)
            continue
        free = name
        while free in used or (free != name and free in reserved):
            numbers[name] = numbers.get(name, 1) + 1
            free = numbered(name, numbers[name])
        used.add(free)
        known.add(free, text, Repeat(index))
        answers.append(New(free, None if free == name else name))
    return answers


def numbered(name: str, number: int) -> str:
    """Return "Name (2)": the name, cut where needed, with its number, at most 200 characters."""
    suffix = f" ({number})"
    return _stem(name, len(suffix)) + suffix


def _stem(name: str, suffix_length: int) -> str:
    return name[: MAX_NAME - suffix_length].rstrip()


class _Known[A]:
    """Answers by name and text, also found by the name that a numbered name was made from."""

    def __init__(self) -> None:
        self._exact: dict[tuple[str, str], A] = {}
        self._numbered: dict[tuple[str, int, str], tuple[int, A]] = {}

    def add(self, name: str, text: str, answer: A) -> None:
        self._exact[name, text] = answer
        if match := _NUMBERED.fullmatch(name):
            key = match[1], len(match[2]), text
            number = int(match[3])
            if key not in self._numbered or number < self._numbered[key][0]:
                self._numbered[key] = number, answer

    def find(self, name: str, text: str) -> A | None:
        if (name, text) in self._exact:
            return self._exact[name, text]
        keys = ((_stem(name, length), length, text) for length in _SUFFIX_LENGTHS)
        found = [self._numbered[key] for key in keys if key in self._numbered]
        return min(found, key=lambda pair: pair[0])[1] if found else None
