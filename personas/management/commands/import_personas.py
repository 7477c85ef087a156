"""``manage.py import_personas``: personas from a CSV file, a Markdown file with front matter, or a folder of those."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from personas.domain.imports import Fault, Notice, PersonaRecord, Reading, read_csv, read_folder, read_subagent
from personas.management.importing import (
    NOTHING_DONE,
    Printer,
    add_options,
    content_of,
    label,
    persona_summary,
    progress_bar,
    read_file,
    stopping,
    terms_of,
)
from personas.services.imports import Result, import_personas


class Command(BaseCommand):
    help = (
        "Import personas from a CSV file with the columns act and prompt, from a Markdown file with front matter, or "
        "from a folder of those. Importing a file again changes nothing. Exit status: 0 all good, 1 some rows were bad "
        "and the others kept, 2 nothing was done."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="A .csv file, a .md file, or a folder of .md files.")
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        terms = terms_of(options)
        reading = read(options["path"])
        with stopping(terms), progress_bar(len(reading.records), "persona") as advance:
            report = import_personas(reading.records, terms, progress=advance)
        printer = Printer(self.stdout, self.stderr, options)
        printer.personas(report)
        printer.notices([*reading.notices, *report.notices])
        good = len(report.rows) - len(report.named(Result.REFUSED))
        printer.end(f"{persona_summary(report)}.", [*reading.faults, *report.faults], good=good)


def read(path: Path) -> Reading[PersonaRecord]:
    """What a file or folder holds. Raises `CommandError` when it cannot be read at all."""
    if not path.is_dir():
        reader = read_subagent if path.suffix.lower() == ".md" else read_csv
        return reader(read_file(path), label(path))
    try:
        inside = sorted(path.iterdir())
    except OSError as error:
        raise CommandError(f"{label(path)} cannot be read: {error.strerror}.", returncode=NOTHING_DONE) from error
    faults: list[Fault] = []
    reading = read_folder(_contents(inside, faults))
    folders = [Notice(label(entry), None, "The folder was not read.") for entry in inside if entry.is_dir()]
    if not (reading.records or reading.faults or faults):
        raise CommandError(f"There is no .md file in {label(path)}.", returncode=NOTHING_DONE)
    return Reading(reading.records, (*reading.faults, *faults), (*reading.notices, *folders))


def _contents(entries: list[Path], faults: list[Fault]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file; one that cannot be read is added to the faults."""
    for entry in entries:
        if entry.is_dir():
            continue
        try:
            # The reader looks at nothing but the name of a file that is no Markdown.
            yield label(entry), content_of(entry) if entry.suffix.lower() == ".md" else b""
        except OSError as error:
            faults.append(Fault(label(entry), None, f"The file cannot be read: {error.strerror or error}."))
