"""Importing personas: one file, one transaction. What a rule refuses is listed, and the rest is kept."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import batched
from typing import Any

from django.db import transaction
from django.db.models import F

from personas.actors import Actor
from personas.domain.errors import NotPermitted, Refused, SecondPersonRequired
from personas.domain.imports import Fault, Notice, PersonaRecord, Repeat, Same, allocate_names
from personas.domain.rights import Right
from personas.domain.settings import PersonaSettings
from personas.domain.text import MAX_SLUG, digest, slugify_id
from personas.models import AgentClass, AgentPersona, PersonaRevision, Tenant, User
from personas.permissions import require
from personas.services.activation import check_run_as
from personas.services.bindings import availability_below
from personas.services.personas import create_persona
from personas.services.tenants import lock_path

# Called once for each record that is dealt with.
Progress = Callable[[], Any]
LOOKUP = 500
SHOWN_NAMES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Where an import goes, and on whose behalf.

    ``run_as`` is the account the personas run as; ``context_type`` gives each persona the context (type, slug of its
    name); ``dry_run`` does everything and takes it back.
    """

    tenant: Tenant
    agent_class: AgentClass
    run_as: User
    actor: Actor
    enable: bool = False
    context_type: str = ""
    dry_run: bool = False


class Result(StrEnum):
    """What becomes of a record; ``repeat`` is one that says the same as an earlier one of its file."""

    DRAFT = "draft"
    ENABLED = "enabled"
    SAME = "same"
    REPEAT = "repeat"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Row:
    """One record and what became of it; ``first`` is the first revision of a persona that was there already."""

    record: PersonaRecord
    result: Result
    persona: AgentPersona | None = None
    first: PersonaRevision | None = None


@dataclass(slots=True)
class ImportReport:
    """What an import of personas did: a row for each record, in their order, and what there is to say."""

    rows: list[Row] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def named(self, *results: Result) -> list[Row]:
        """The rows with one of these results."""
        return [row for row in self.rows if row.result in results]

    @property
    def made(self) -> list[Row]:
        """The rows whose persona is new."""
        return self.named(Result.DRAFT, Result.ENABLED)

    @property
    def there(self) -> list[AgentPersona]:
        """The personas that were there already, each once."""
        found = {row.persona.pk: row.persona for row in self.named(Result.SAME) if row.persona}
        return list(found.values())

    @property
    def renamed(self) -> list[tuple[str, str]]:
        """The wanted and the given name of each new persona whose name another text has."""
        pairs = [(row.record.name, row.persona.name) for row in self.made if row.persona]
        return [(wanted, given) for wanted, given in pairs if wanted != given]


def no_progress() -> None:
    """For callers that show none."""


@transaction.atomic
def import_personas(
    records: Sequence[PersonaRecord], terms: Terms, *, progress: Progress = no_progress
) -> ImportReport:
    """Make each persona that is not there yet, as a draft or enabled, and say what became of every record.

    Raises `NotPermitted` or `SecondPersonRequired` when the actor may not do it, `Invalid` for a wrong account or
    context type; nothing is written then. Whatever else a rule refuses is a fault of its row.
    """
    report = place_personas(records, terms, progress=progress)
    report.notices += _about_repeats(report.rows)
    if terms.dry_run:
        transaction.set_rollback(True)
    return report


@transaction.atomic
def place_personas(records: Sequence[PersonaRecord], terms: Terms, *, progress: Progress = no_progress) -> ImportReport:
    """Do the same for a caller that goes on in the same transaction, and takes it back itself for a dry run."""
    _check(terms)
    lock_path(terms.tenant.pk)  # two imports of one file wait for each other
    wanted = [(record.name, digest(record.instructions)) for record in records]
    existing = _first_revisions(terms, {text for _, text in wanted})
    taken = AgentPersona.objects.current().filter(tenant=terms.tenant, agent_class=terms.agent_class)
    answers = allocate_names(wanted, existing, set(taken.values_list("name", flat=True)))
    report, contexts = ImportReport(), _ContextIds(terms)
    for record, answer in zip(records, answers, strict=True):
        if isinstance(answer, Same):
            report.rows.append(Row(record, Result.SAME, answer.ident.persona, answer.ident))
        elif isinstance(answer, Repeat):
            report.rows.append(_repeat(record, report.rows[answer.first], report))
        else:
            report.rows.append(_make(record, answer.name, terms, contexts, report))
        progress()
    report.notices += [*contexts.notices, *_about_settings(report, terms), *_about_serving(report, terms)]
    return report


def _check(terms: Terms) -> None:
    """Refuse the whole import for what would refuse each of its rows."""
    require(terms.actor, Right.MANAGE_PERSONAS, terms.tenant)
    if terms.enable:
        require(terms.actor, Right.ACTIVATE_DIRECTIVE, terms.tenant)
        if terms.tenant.require_second_person or terms.tenant.required_approvals > 1:
            raise SecondPersonRequired(f"{terms.tenant} asks for the approval of more than one person.")
    check_run_as(terms.tenant, str(terms.run_as.pk), {terms.actor.account})
    PersonaSettings(name="any", run_as=str(terms.run_as.pk), context_type=terms.context_type).cleaned()


def _first_revisions(terms: Terms, digests: Iterable[str]) -> dict[tuple[str, str], PersonaRevision]:
    """First revisions by the name and the digest they were made with, archived and renamed personas among them."""
    found: dict[tuple[str, str], PersonaRevision] = {}
    for part in batched(sorted(digests), LOOKUP):
        rows = PersonaRevision.objects.filter(
            number=1, text_sha256__in=part, persona__tenant=terms.tenant, persona__agent_class=terms.agent_class
        )
        # Of two with one name and text the one in use counts, which comes last.
        in_use_last = F("persona__archived_at").asc(nulls_last=True)
        for revision in rows.select_related("persona__tenant").order_by(in_use_last, "created_at", "pk"):
            found[revision.settings["name"], revision.text_sha256] = revision
    return found


class _ContextIds:
    """Gives each new persona a context id of its own, made from its name."""

    def __init__(self, terms: Terms) -> None:
        self.type = terms.context_type
        self.notices: list[Notice] = []
        rows = AgentPersona.objects.current().filter(tenant=terms.tenant, agent_class=terms.agent_class)
        self._used = set(rows.filter(context_type=self.type).values_list("context_id", flat=True))
        self._numbers: dict[str, int] = {}

    def take(self, name: str, record: PersonaRecord) -> str:
        if not self.type:
            return ""
        wanted = ident = slugify_id(name)
        while ident in self._used:
            self._numbers[wanted] = self._numbers.get(wanted, 1) + 1
            suffix = f"-{self._numbers[wanted]}"
            ident = wanted[: MAX_SLUG - len(suffix)].rstrip("-") + suffix
        self._used.add(ident)
        if ident != wanted:
            text = f"The context ({self.type}, {wanted}) belongs to another persona: “{name}” gets {ident}."
            self.notices.append(Notice(record.source, record.line, text))
        return ident


def _make(record: PersonaRecord, name: str, terms: Terms, contexts: _ContextIds, report: ImportReport) -> Row:
    """The row of a new persona, or of one that a rule refuses, with its fault."""
    settings = PersonaSettings(
        name=name,
        run_as=str(terms.run_as.pk),
        context_type=terms.context_type,
        context_id=contexts.take(name, record),
        allowed_tools=record.tools,
    )
    try:
        persona = create_persona(
            terms.tenant,
            terms.agent_class,
            instructions=record.instructions,
            settings=settings,
            actor=terms.actor,
            description=record.description,
            hints=record.hints,
            enable=terms.enable,
            origin=PersonaRevision.Origin.IMPORT,
            note=f"Imported from {record.source}, line {record.line}.",
        )
    except (NotPermitted, SecondPersonRequired):
        raise  # true of the whole file
    except Refused as refusal:
        report.faults.append(Fault(record.source, record.line, refusal.message))
        return Row(record, Result.REFUSED)
    return Row(record, Result.ENABLED if persona.enabled else Result.DRAFT, persona)


def _repeat(record: PersonaRecord, first: Row, report: ImportReport) -> Row:
    """The row of a record that says what an earlier one says, and shares its fate."""
    if first.result is Result.REFUSED:
        where = f"{first.record.source}:{first.record.line}"
        report.faults.append(Fault(record.source, record.line, f"The same as {where}, which was refused."))
        return Row(record, Result.REFUSED)
    return Row(record, Result.REPEAT, first.persona, first.first)


def _about_repeats(rows: Iterable[Row]) -> list[Notice]:
    return [
        Notice(row.record.source, row.record.line, f"“{row.record.name}” with this text came before: made once.")
        for row in rows
        if row.result is Result.REPEAT
    ]


def _about_settings(report: ImportReport, terms: Terms) -> list[Notice]:
    """Say which personas are there, but otherwise than this import would make them: they are left as they are."""
    groups: dict[str, dict[str, None]] = {}
    for row in report.named(Result.SAME):
        persona, first = row.persona, row.first
        assert persona is not None
        assert first is not None
        tools = None if row.record.tools is None else list(row.record.tools)
        if persona.archived_at is not None:
            groups.setdefault("is archived; restore it to use it again", {})[persona.name] = None
        elif terms.enable and not persona.enabled:
            groups.setdefault("was there as a draft and is one still: enable it on its page", {})[persona.name] = None
        if first.settings["allowed_tools"] != tools:
            groups.setdefault("is there with other tools, which it keeps", {})[persona.name] = None
        if first.settings["context_type"] != terms.context_type:
            groups.setdefault("is there with another context, which it keeps", {})[persona.name] = None
    return [Notice("", None, f"{_listed(list(names))} {why}.") for why, names in groups.items()]


def _about_serving(report: ImportReport, terms: Terms) -> list[Notice]:
    """Say what keeps new personas from answering though they are enabled."""
    enabled = report.named(Result.ENABLED)
    notices = []
    if len(enabled) > 1 and not terms.context_type:
        notices.append(
            f"{len(enabled):,} personas were enabled for the whole tenant: only the first of them by priority and name "
            "answers. --context-type gives each a context of its own."
        )
    if enabled and not availability_below(terms.tenant, terms.agent_class)[terms.tenant.pk].available:
        notices.append(f"{terms.agent_class} is not enabled for {terms.tenant}: nothing answers until it is.")
    return [Notice("", None, text) for text in notices]


def _listed(names: Sequence[str]) -> str:
    """A few names, and how many more: “A”, “B” and 3 more, each ..."""
    shown = ", ".join(f"“{name}”" for name in names[:SHOWN_NAMES])
    more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
    return shown if len(names) == 1 else f"{shown}{more}: each"
