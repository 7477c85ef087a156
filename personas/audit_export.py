"""The audit as CSV, written in pieces: a million entries take the memory of a few thousand."""

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import UTC
from typing import Any

from asgiref.sync import sync_to_async

from personas.audit_reading import Entries, older
from personas.domain.leaves import as_json, writable
from personas.models import AuditEntry

PIECE = 2000
BOM = "\ufeff"  # without it spreadsheets take UTF-8 for something else
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
COLUMNS = (
    "time", "actor", "user_name", "token", "tenant", "verb", "object_type", "object_id", "object_label", "before",
    "after", "request_id", "note", "id",
)  # fmt: skip


def csv_pieces(rows: Entries, than: AuditEntry, *, may: Callable[[], bool]) -> Iterator[str]:
    """A heading and the entries older than one, newest first.

    Each piece is read by its own statement from where the last one ended, so neither a cursor nor a transaction stays
    open while a slow reader takes its time; since entries are only ever added, nothing is missed or doubled.
    ``may`` is asked before each piece: it ends with the right to read it.
    """
    yield BOM + _written([COLUMNS])
    while may() and (found := list(older(rows, than)[:PIECE])):
        yield _written(map(_cells, found))
        than = found[-1]


async def in_thread(pieces: Iterator[str]) -> AsyncIterator[str]:
    """The same pieces for a server that runs an event loop: each is read in the thread that has the database."""
    draw = sync_to_async(next)
    while (piece := await draw(pieces, None)) is not None:  # type: ignore[call-arg]
        yield piece


def neutral(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _written(rows: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    # All quoted: where a spreadsheet splits at another sign, a cell stays whole and what follows that sign starts none.
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([neutral(writable(cell)) for cell in row] for row in rows)
    return text.getvalue()


def _cells(entry: AuditEntry) -> Iterable[str]:
    return (
        entry.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
        entry.actor_name,
        entry.actor.username if entry.actor else "",
        entry.token_prefix,
        entry.tenant.slug if entry.tenant else "",
        entry.verb,
        entry.object_type,
        entry.object_id,
        entry.object_label,
        _document(entry.before),
        _document(entry.after),
        entry.request_id,
        entry.note,
        str(entry.pk),
    )


def _document(value: Any) -> str:
    return as_json(value) if value else ""
