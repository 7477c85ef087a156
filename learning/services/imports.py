"""Importing edits of personas: each starts with its current text, and each edit waits for review."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import batched

from django.db import transaction

from learning.models import DirectiveProposal
from learning.services.proposals import propose
from personas.domain.errors import NotPermitted, Refused
from personas.domain.imports import EditRecord, Fault, PersonaRecord
from personas.domain.text import digest
from personas.services.imports import LOOKUP, ImportReport, Progress, Result, Row, Terms, no_progress, place_personas

Known = dict[tuple[object, str], str]


@dataclass(slots=True)
class ProposalReport:
    """What an import of edits did: to the personas, and with each edit.

    ``made`` are new proposals; ``same`` counts those that were there already by their status, edits that stand twice
    in the file among the pending ones.
    """

    personas: ImportReport
    made: list[DirectiveProposal] = field(default_factory=list)
    same: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


@transaction.atomic
def import_proposals(
    records: Sequence[EditRecord], terms: Terms, *, progress: Progress = no_progress
) -> ProposalReport:
    """Make the personas of the edits where they are missing, and a pending proposal of each edit that is new.

    An edit whose text was proposed for the first revision of its persona is not proposed again, whatever became of it
    there. Raises as `import_personas` does; ``progress`` is called twice for each record.
    """
    places = place_personas([_start(record) for record in records], terms, progress=progress)
    report = ProposalReport(places)
    known = _known(row for row in places.rows if row.result is Result.SAME)
    for record, row in zip(records, places.rows, strict=True):
        _place(record, row, known, report, terms)
        progress()
    if terms.dry_run:
        transaction.set_rollback(True)
    return report


def _start(record: EditRecord) -> PersonaRecord:
    """The persona an edit speaks of, before it."""
    return PersonaRecord(name=record.name, instructions=record.current, line=record.line, source=record.source)


def _known(rows: Iterable[Row]) -> Known:
    """The status of every proposal for the first revision of these personas, by persona and digest of the text."""
    known: Known = {}
    ids = sorted({row.persona.pk for row in rows if row.persona})
    for part in batched(ids, LOOKUP):
        proposals = DirectiveProposal.objects.filter(persona__in=part, base_revision__number=1)
        for persona, text, status in proposals.values_list("persona", "text_sha256", "status"):
            # A rejection is what people look for, so it is not hidden by a later proposal of the same text.
            if known.get((persona, text)) != DirectiveProposal.Status.REJECTED:
                known[persona, text] = status
    return known


def _place(record: EditRecord, row: Row, known: Known, report: ProposalReport, terms: Terms) -> None:
    """Propose one edit, count it as there already, or report why a rule refuses it."""
    if row.persona is None:
        return  # its persona was refused, and this line is among the faults with the reason
    key = row.persona.pk, digest(record.proposed)
    if key in known:
        report.same[known[key]] = report.same.get(known[key], 0) + 1
        return
    try:
        proposal = propose(
            row.persona,
            actor=terms.actor,
            instructions=record.proposed,
            rationale=rationale_of(record),
            base=row.first,
            origin=DirectiveProposal.Origin.IMPORT,
        )
    except NotPermitted:
        raise  # true of the whole file
    except Refused as refusal:
        report.faults.append(Fault(record.source, record.line, refusal.message))
        return
    known[key] = proposal.status
    report.made.append(proposal)


def rationale_of(record: EditRecord) -> str:
    """The rationale of an imported edit, which keeps the date it was made: "Imported edit of 14 December 2022: ..."."""
    note = record.note.strip()
    return f"Imported edit of {record.date:%-d %B %Y}{f': {note}' if note else '.'}"
