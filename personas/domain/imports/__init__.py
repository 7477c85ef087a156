"""Readers of the files people bring: bytes in, records, faults and notices out. Nothing here raises for bad input."""

from personas.domain.imports.csv_file import read_csv
from personas.domain.imports.edits import read_edits
from personas.domain.imports.names import New, Repeat, Same, allocate_names
from personas.domain.imports.records import EditRecord, Fault, Notice, PersonaRecord, Reading
from personas.domain.imports.subagents import read_folder, read_subagent

__all__ = [
    "EditRecord",
    "Fault",
    "New",
    "Notice",
    "PersonaRecord",
    "Reading",
    "Repeat",
    "Same",
    "allocate_names",
    "read_csv",
    "read_edits",
    "read_folder",
    "read_subagent",
]
