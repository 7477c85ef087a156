"""Personas from a CSV file with the columns ``act`` (the name) and ``prompt`` (the instructions)."""

import csv
import io
import re
from collections.abc import Iterator, Sequence

from personas.domain.imports.records import (
    MAX_FILE_BYTES,
    Collector,
    PersonaRecord,
    Reading,
    encoding_fault,
    file_fault,
)
from personas.domain.text import clean_instructions, clean_name, shown

COLUMNS = ("act", "prompt")
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_SHOWN_COLUMNS = 20


def read_csv(data: bytes, source: str) -> Reading[PersonaRecord]:
    """Read comma-separated UTF-8 with a header row; ``source`` names the file in reports.

    Other columns than ``act`` and ``prompt`` are reported, not read. A row with a fault is left out and the others are
    kept; after quotes that do not match nothing is read, since where the next row starts cannot be known.
    """
    out: Collector[PersonaRecord] = Collector(source)
    if reason := file_fault(data):
        out.fault(None, reason)
        return out.reading()
    rows = _rows(data, out)
    header = next(rows, None)
    if header is None:
        if not out.has_faults:
            out.fault(None, "The file is empty: it holds blank rows only.")
        return out.reading()
    line, titles = header
    columns = [title.strip().lower() for title in titles]
    if reason := _header_fault(columns, titles):
        out.fault(line, reason)
        return out.reading()
    if extra := [title for title, column in zip(titles, columns, strict=True) if column not in COLUMNS]:
        out.notice(line, f"These columns were not read: {_listed(extra)}.")
    found = False
    for row_line, fields in rows:
        found = True
        _read_row(row_line, fields, columns, out)
        if out.full:
            break
    if not found and not out.has_faults:
        out.notice(line, "There are no rows below the header.")
    return out.reading()


def _rows(data: bytes, out: Collector[PersonaRecord]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank with the line it starts at; report quotes that do not match and end."""
    # The limit belongs to the whole process, so it is raised for good: setting it back would race with other readers.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_FILE_BYTES))
    # Bad bytes become lone surrogates, so that one of them costs its row and not the file.
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(lines, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            out.fault(
                line,
                f"The quotes of the row that starts here do not match ({error}): end each quoted field with a quote,"
                " and double every quote inside it. Nothing after this was read.",
            )
            return
        if any(field.strip() for field in fields):
            yield line, fields


def _header_fault(columns: Sequence[str], titles: Sequence[str]) -> str | None:
    """Return why the header row does not do, or None."""
    if all(columns.count(column) == 1 for column in COLUMNS):
        return None
    found = f"Found {_listed(titles)}; the columns “act” and “prompt” are needed, each once."
    if len(titles) == 1 and (other := next((mark for mark in ";\t|" if mark in titles[0]), None)):
        return f"{found} The fields seem to be separated by {shown(other)}: save the file with commas."
    if "\0" in titles[0]:
        return f"{found} The file seems to be in UTF-16: save it as UTF-8."
    return found


def _read_row(line: int, fields: list[str], columns: Sequence[str], out: Collector[PersonaRecord]) -> None:
    """Add the record of one row, or its faults."""
    if len(fields) != len(columns):
        out.fault(line, f"The row has {len(fields)} fields, the header {len(columns)}: check its quotes and commas.")
        return
    values = {column: fields[columns.index(column)] for column in COLUMNS}
    if bad := _BAD_BYTE.search("".join(values.values())):
        out.fault(line, encoding_fault(ord(bad[0]) - 0xDC00))
        return
    name = out.cleaned(line, clean_name, values["act"])
    instructions = out.cleaned(line, clean_instructions, values["prompt"])
    if name is not None and instructions is not None:
        out.record(PersonaRecord(name=name, instructions=instructions, line=line, source=out.source))


def _listed(titles: Sequence[str]) -> str:
    """Return column titles for a message, at most 20 of them."""
    more = f" and {len(titles) - _SHOWN_COLUMNS:,} more" if len(titles) > _SHOWN_COLUMNS else ""
    return ", ".join(shown(title) for title in titles[:_SHOWN_COLUMNS]) + more
