"""Personas from Markdown files whose YAML front matter gives ``name``, ``description``, ``tools`` and ``model``."""

import codecs
import re
from collections.abc import Callable, Iterable
from functools import partial

from personas.domain.imports.front_matter import FrontMatter, FrontMatterFault, Value, read_front_matter
from personas.domain.imports.records import Collector, PersonaRecord, Reading, encoding_fault, file_fault
from personas.domain.text import check_tool_id, clean_instructions, clean_name, clean_text, shown

KEYS = ("name", "description", "tools", "model")


def read_folder(files: Iterable[tuple[str, bytes]]) -> Reading[PersonaRecord]:
    """Read many files, each as ``(name, content)``. Those not named ``*.md`` are left out with a notice."""
    out: Collector[PersonaRecord] = Collector("")
    for source, data in files:
        if out.full:
            break
        one: Collector[PersonaRecord] = Collector(source)
        if source.lower().endswith(".md"):
            _read(data, one)
        else:
            one.notice(None, "The file was not read: its name does not end in “.md”.")
        out.absorb(one.reading())
    return out.reading()


def read_subagent(data: bytes, source: str) -> Reading[PersonaRecord]:
    """Read one file; ``source`` names it in reports. The instructions are what follows the front matter.

    Blank lines before the instructions and white space after them belong to the file, not to the text. ``model``
    becomes a hint, keys we do not know a notice, and a tool id that we refuse a fault.
    """
    out: Collector[PersonaRecord] = Collector(source)
    _read(data, out)
    return out.reading()


def _read(data: bytes, out: Collector[PersonaRecord]) -> None:
    """Add the record of one file, or its faults."""
    if reason := file_fault(data):
        out.fault(None, reason)
        return
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        out.fault(data.count(b"\n", 0, error.start) + 1, encoding_fault(error.object[error.start]))
        return
    try:
        front = read_front_matter(re.sub(r"\r\n?", "\n", text))
    except FrontMatterFault as fault:
        out.fault(fault.line, fault.message)
        return
    for line, notice in front.notices:
        out.notice(line, notice)
    for key, value in front.values.items():
        if key not in KEYS:
            out.notice(value.line, f"The key {shown(key)} was not read; its value is {_shown_value(value)}.")
    _record(front, out)


def _record(front: FrontMatter, out: Collector[PersonaRecord]) -> None:
    """Add the record of a file whose front matter is read, or every fault of it."""
    name = _text(front, "name", clean_name, out)
    if name is None and "name" not in front.values:
        out.fault(1, "The front matter has no name: add a line “name: …”.")
    description = _text(front, "description", partial(clean_text, what="description", allow_empty=True), out)
    model = _text(front, "model", _clean_model, out)
    tools = _tools(front, out)
    instructions = out.cleaned(front.body_line, clean_instructions, _without_blank_ends(front.body))
    if out.has_faults or name is None or instructions is None:
        return
    record = PersonaRecord(
        name=name,
        instructions=instructions,
        line=1,
        source=out.source,
        description=description or "",
        tools=tools,
        hints={"model": model} if model else {},
    )
    out.record(record)


def _without_blank_ends(body: str) -> str:
    """Return the text without blank lines before it and white space after it; its first line stays indented."""
    first = len(body) - len(body.lstrip())
    return body[body.rfind("\n", 0, first) + 1 :].rstrip()


def _text(front: FrontMatter, key: str, clean: Callable[[str], str], out: Collector[PersonaRecord]) -> str | None:
    """Return the clean text of a key; None if it is absent, or wrong and reported."""
    value = front.values.get(key)
    if value is None:
        return None
    if not isinstance(value.content, str):
        out.fault(value.line, f"The key “{key}” holds a list or a mapping: write text.")
        return None
    return out.cleaned(value.line, clean, value.content)


def _clean_model(text: str) -> str:
    return clean_name(text, what="model") if text.strip() else ""


def _tools(front: FrontMatter, out: Collector[PersonaRecord]) -> tuple[str, ...] | None:
    """Return the checked tool ids, each once; None if the key is absent or what it holds is wrong and reported."""
    value = front.values.get("tools")
    if value is None:
        return None
    if value.content is None:
        out.fault(value.line, "The key “tools” holds more than a list of texts: write them with commas between them.")
        return None
    written = value.content.split(",") if isinstance(value.content, str) else value.content
    named = [tool.strip() for tool in written if tool.strip()]
    if not named:
        out.notice(
            value.line, "“tools” is empty: the persona gets no tools. Leave the key out to give it those of its class."
        )
    tools = [out.cleaned(value.line, check_tool_id, tool) for tool in dict.fromkeys(named)]
    return tuple(tool for tool in tools if tool is not None)


def _shown_value(value: Value) -> str:
    if value.content is None:
        return "a nested list or mapping"
    return shown(value.content if isinstance(value.content, str) else ", ".join(value.content))
