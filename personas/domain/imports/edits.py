"""Proposed edits from JSON lines: one object a line with id, persona, date, note, current and proposed."""

import codecs
import io
import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

from personas.domain.imports.records import Collector, EditRecord, Reading, encoding_fault, file_fault
from personas.domain.text import clean_name, clean_text, shown

# Two texts of the greatest length, every character of them written as a pair of six-byte escapes, take 2.4 million.
MAX_LINE_BYTES = 4 * 1024 * 1024
KEYS = ("id", "persona", "date", "note", "current", "proposed")
_CLEAN = {
    "id": partial(clean_name, what="id"),
    "persona": partial(clean_name, what="persona"),
    "note": partial(clean_text, what="note", allow_empty=True),
    "current": partial(clean_text, what="current text"),
    "proposed": partial(clean_text, what="proposed text"),
}
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


class _Repeated(ValueError):
    """An object names a key twice."""


def read_edits(data: bytes, source: str) -> Reading[EditRecord]:
    """Read UTF-8 JSON lines; ``source`` names the file in reports. A line with a fault is left out, others are kept."""
    out: Collector[EditRecord] = Collector(source)
    if reason := file_fault(data):
        out.fault(None, reason)
        return out.reading()
    first_lines: dict[str, int] = {}
    unknown: set[str] = set()
    for line, raw in enumerate(io.BytesIO(data), 1):
        if out.full:
            break
        content = raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw
        if not content.strip():
            continue
        values = _object(line, content, out)
        if values is None:
            continue
        for key in values.keys() - unknown - set(KEYS):
            unknown.add(key)
            out.notice(line, f"The key {shown(key)} was not read, here and wherever else it stands.")
        edit = _edit(line, values, out)
        if edit is None:
            continue
        if first_lines.setdefault(edit.key, line) != line:
            out.fault(line, f"The id {shown(edit.key)} stands in line {first_lines[edit.key]} already: give its own.")
            continue
        out.record(edit)
    return out.reading()


def _object(line: int, raw: bytes, out: Collector[EditRecord]) -> dict[str, Any] | None:
    """Return the object of one line, or None after reporting why there is none."""
    if len(raw) > MAX_LINE_BYTES:
        out.fault(line, f"Shorten the texts: the line has {len(raw):,} bytes, at most {MAX_LINE_BYTES:,} are read.")
        return None
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        out.fault(line, encoding_fault(raw[error.start]))
    except json.JSONDecodeError as error:
        out.fault(line, f"The line is no JSON ({error.msg}, character {error.pos + 1}): write one object a line.")
    except _Repeated as error:
        out.fault(line, str(error))
    except RecursionError:
        out.fault(line, "The line is nested too deeply: write one flat object a line.")
    except ValueError:
        # What json itself does not check: an integer of more digits than Python reads.
        out.fault(line, "The line holds a number that is too long: write one object of texts a line.")
    else:
        if isinstance(value, dict):
            return value
        out.fault(line, f"The line is {_kind(value)}: write one object a line.")
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's pairs as a dict; raise _Repeated when a key stands twice, since one value would be lost."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _Repeated(f"The key {shown(key)} stands twice: keep one.")
        values[key] = value
    return values


def _edit(line: int, values: dict[str, Any], out: Collector[EditRecord]) -> EditRecord | None:
    """Return the record of one object, or None after reporting every fault of it."""
    usable = [key for key in KEYS if _is_text(line, key, values, out)]
    clean = {key: out.cleaned(line, _CLEAN[key], values[key]) for key in usable if key in _CLEAN}
    date = _date(line, values["date"], out) if "date" in usable else None
    texts = {key: text for key, text in clean.items() if text is not None}
    if date is None or len(texts) < len(_CLEAN):
        return None
    if texts["current"] == texts["proposed"]:
        out.fault(line, "The edit changes nothing: its current and its proposed text are the same.")
        return None
    return EditRecord(
        key=texts["id"],
        name=texts["persona"],
        current=texts["current"],
        proposed=texts["proposed"],
        note=texts["note"],
        date=date,
        line=line,
        source=out.source,
    )


def _is_text(line: int, key: str, values: dict[str, Any], out: Collector[EditRecord]) -> bool:
    if key not in values:
        out.fault(line, f"The key “{key}” is missing: add it.")
    elif not isinstance(values[key], str):
        out.fault(line, f"The key “{key}” holds {_kind(values[key])}: write text.")
    else:
        return True
    return False


def _date(line: int, text: str, out: Collector[EditRecord]) -> datetime | None:
    """Return an ISO 8601 date and time in UTC, or None after reporting that it is none."""
    try:
        date = datetime.fromisoformat(text)
        if date.tzinfo is None:
            out.notice(line, f"The date {shown(text)} has no time zone: it was read as UTC.")
            date = date.replace(tzinfo=UTC)
        return date.astimezone(UTC)
    except (ValueError, OverflowError):
        out.fault(line, f"The date {shown(text)} is none: write it like 2026-01-31T09:30:00+00:00.")
        return None


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a number")
