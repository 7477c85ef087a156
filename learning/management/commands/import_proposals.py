"""``manage.py import_proposals``: personas with proposed edits, from JSON lines."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from learning.models import DirectiveProposal
from learning.services.imports import ProposalReport, import_proposals
from personas.domain.imports import read_edits
from personas.management.importing import (
    Printer,
    add_options,
    counted,
    label,
    persona_summary,
    progress_bar,
    read_file,
    stopping,
    terms_of,
)


class Command(BaseCommand):
    help = (
        "Import edits of personas from JSON lines (id, persona, date, note, current, proposed). Each persona starts "
        "with its current text; each edit waits for review. An edit that was imported before is not proposed again, "
        "not even when it was rejected. Exit status: 0 all good, 1 some lines were bad and the others kept, 2 nothing "
        "was done."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="file", type=Path, help="A file of JSON lines.")
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        terms = terms_of(options)
        reading = read_edits(read_file(options["path"]), label(options["path"]))
        with stopping(terms), progress_bar(2 * len(reading.records), "step") as advance:
            report = import_proposals(reading.records, terms, progress=advance)
        printer = Printer(self.stdout, self.stderr, options)
        printer.personas(report.personas)
        printer.listing("New proposals", [f"{made.persona}: {_first_line(made.rationale)}" for made in report.made])
        printer.notices([*reading.notices, *report.personas.notices])
        faults = [*reading.faults, *report.personas.faults, *report.faults]
        printer.end(_summary(report), faults, good=len(report.made) + sum(report.same.values()))


def _summary(report: ProposalReport) -> str:
    known = sum(report.same.values())
    rejected = report.same.get(DirectiveProposal.Status.REJECTED, 0)
    stays = f" ({rejected:,} of them rejected, and not proposed again)" if rejected else ""
    edits = f"{counted(len(report.made), 'proposal')} waiting, {known:,} there already{stays}"
    return f"{persona_summary(report.personas)}; {edits}."


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:100]
