"""What a reader gives back, and the collector that keeps it bounded."""

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from personas.domain.text import TextFault

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_RECORDS = 100_000
MAX_REPORTS = 1_000

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


@dataclass(frozen=True, slots=True)
class PersonaRecord:
    """One persona as a file describes it.

    ``tools`` None means the file says nothing about tools, an empty tuple that there are none. ``hints`` are values a
    person may want to see that no persona has, such as ``{"model": "sonnet"}``. ``line`` is where the record starts.
    """

    name: str
    instructions: str
    line: int
    source: str
    description: str = ""
    tools: tuple[str, ...] | None = None
    hints: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class EditRecord:
    """One proposed change of one persona's instructions; ``key`` is the file's id for it, ``date`` is in UTC."""

    key: str
    name: str
    current: str
    proposed: str
    note: str
    date: datetime
    line: int
    source: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a file (``line`` None) or what starts at a line of it was not read; ``source`` is "" for a whole folder."""

    source: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know about what was read."""

    source: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Reading[R]:
    """The records that are fine, in the order of the file, and what there is to say about the rest."""

    records: tuple[R, ...]
    faults: tuple[Fault, ...]
    notices: tuple[Notice, ...]


class Collector[R]:
    """Gathers a Reading. ``full`` turns true when a limit is passed: the reader stops, and a fault says so."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.full = False
        self._records: list[R] = []
        self._faults: list[Fault] = []
        self._notices: list[Notice] = []

    @property
    def has_faults(self) -> bool:
        """Whether anything was reported as not read."""
        return bool(self._faults)

    def record(self, record: R) -> None:
        """Keep a record."""
        if len(self._records) < MAX_RECORDS:
            self._records.append(record)
        else:
            self._stop(f"There are more than {MAX_RECORDS:,} records. The rest was not read: split the file.")

    def fault(self, line: int | None, reason: str) -> None:
        """Report what was not read."""
        self._keep_fault(Fault(self.source, line, reason))

    def notice(self, line: int | None, text: str) -> None:
        """Report what was read, but not as it stands."""
        self._keep_notice(Notice(self.source, line, text))

    def cleaned(self, line: int, clean: Callable[[str], str], value: str) -> str | None:
        """Return ``clean(value)``, or None after reporting the TextFault it raised."""
        try:
            return clean(value)
        except TextFault as fault:
            self.fault(line, fault.message)
            return None

    def absorb(self, reading: Reading[R]) -> None:
        """Add everything another Reading holds, under its own sources."""
        for record in reading.records:
            self.record(record)
        for fault in reading.faults:
            self._keep_fault(fault)
        for notice in reading.notices:
            self._keep_notice(notice)

    def reading(self) -> Reading[R]:
        """Return what was gathered."""
        return Reading(tuple(self._records), tuple(self._faults), tuple(self._notices))

    def _keep_fault(self, fault: Fault) -> None:
        if len(self._faults) < MAX_REPORTS:
            self._faults.append(fault)
        else:
            self._stop(f"There are more than {MAX_REPORTS:,} faults. The rest was not read: mend these first.")

    def _keep_notice(self, notice: Notice) -> None:
        if len(self._notices) < MAX_REPORTS:
            self._notices.append(notice)
        else:
            self._stop(f"There are more than {MAX_REPORTS:,} notices. The rest was not read: mend these first.")

    def _stop(self, reason: str) -> None:
        if not self.full:
            self.full = True
            self._faults.append(Fault(self.source, None, reason))


def file_fault(data: bytes) -> str | None:
    """Return why a file cannot be read at all: too large, empty, or in a wide encoding. None if it can."""
    if len(data) > MAX_FILE_BYTES:
        return f"The file has {len(data):,} bytes, and at most {MAX_FILE_BYTES:,} are read: split it."
    for mark, encoding in _WIDE_MARKS.items():
        if data.startswith(mark):
            return f"The file is in {encoding}: save it as UTF-8."
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        return "The file is empty."
    return None


def encoding_fault(byte: int) -> str:
    """Return what to say about a byte that is not UTF-8."""
    return f"The byte 0x{byte:02X} is not UTF-8: save the file as UTF-8 (in Excel “CSV UTF-8”)."
