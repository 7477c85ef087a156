"""What the import commands share: their options, reading files, progress, and the report."""

import os
import stat
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper
from tqdm import tqdm  # type: ignore[import-untyped]

from personas.actors import Actor
from personas.domain.errors import NotPermitted, Refused, SecondPersonRequired
from personas.domain.imports import Fault, Notice
from personas.domain.imports.records import MAX_FILE_BYTES
from personas.models import Tenant, User
from personas.services.agents import find_agent_class
from personas.services.imports import ImportReport, Progress, Result, Terms

SOME_WERE_BAD = 1
NOTHING_DONE = 2
SHOWN = 20


def add_options(parser: ArgumentParser) -> None:
    """The options of both commands, beside the path."""
    parser.add_argument("--tenant", required=True, metavar="SLUG", help="The tenant the personas belong to.")
    parser.add_argument("--agent-class", required=True, metavar="NAME", help="Its canonical or its short name.")
    parser.add_argument(
        "--run-as",
        required=True,
        metavar="USER",
        help="The account the personas run as: a service account of the tenant, or the person of --by.",
    )
    parser.add_argument("--by", metavar="USER", help="Who imports; that account needs the rights. Default: --run-as.")
    parser.add_argument(
        "--enable", action="store_true", help="Let the new personas answer at once; without it they are drafts."
    )
    parser.add_argument(
        "--context-type", default="", metavar="TYPE", help="Give each persona the context (TYPE, slug of its name)."
    )
    parser.add_argument("--dry-run", action="store_true", help="Do everything, report it, and take it back.")


def terms_of(options: dict[str, Any]) -> Terms:
    """The terms that the options ask for. Raises `CommandError` for a tenant, class or account that is not there."""
    tenant = Tenant.objects.filter(slug=options["tenant"]).first()
    if tenant is None:
        raise CommandError(f"There is no tenant “{options['tenant']}”.", returncode=NOTHING_DONE)
    try:
        agent_class = find_agent_class(options["agent_class"])
    except Refused as refusal:
        raise CommandError(refusal.message, returncode=NOTHING_DONE) from refusal
    return Terms(
        tenant=tenant,
        agent_class=agent_class,
        run_as=_account(options["run_as"]),
        actor=Actor(_account(options["by"] or options["run_as"])),
        enable=options["enable"],
        context_type=options["context_type"],
        dry_run=options["dry_run"],
    )


def _account(username: str) -> User:
    try:
        return User.objects.get_by_natural_key(username)
    except User.DoesNotExist as error:
        raise CommandError(f"There is no account “{username}”.", returncode=NOTHING_DONE) from error


@contextmanager
def stopping(terms: Terms) -> Iterator[None]:
    """Turn what refuses the whole import into a `CommandError` that says who lacks what."""
    try:
        yield
    except (NotPermitted, SecondPersonRequired) as refusal:
        hint = "Import without --enable: drafts can be looked at and enabled one by one." if terms.enable else ""
        hint = hint or "Name somebody with the right by --by, or have it given."
        message = f"{terms.actor.account.username} may not do this. {refusal.message} Nothing was written. {hint}"
        raise CommandError(message, returncode=NOTHING_DONE) from refusal
    except Refused as refusal:
        raise CommandError(f"{refusal.message} Nothing was written.", returncode=NOTHING_DONE) from refusal


def label(path: str | Path) -> str:
    """The name of a file as reports show it: no folder, and nothing that a terminal would obey."""
    name = os.path.basename(path) or str(path)
    return "".join(character if character.isprintable() else "�" for character in name)


def read_file(path: Path) -> bytes:
    """The content of a file. Raises `CommandError` when it is no file, too large or not readable."""
    try:
        return content_of(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(f"{label(path)} cannot be read: {reason}.", returncode=NOTHING_DONE) from error


def content_of(path: Path) -> bytes:
    """The content of a file. Raises `OSError`, also for a pipe or device, and before too large a file is read."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise OSError("it is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is no ordinary file")
    if found.st_size > MAX_FILE_BYTES:
        raise OSError(f"it has {found.st_size:,} bytes, and at most {MAX_FILE_BYTES:,} are read")
    return path.read_bytes()


@contextmanager
def progress_bar(total: int, unit: str) -> Iterator[Progress]:
    """A bar on stderr that moves when what is yielded is called; none where stderr is no terminal."""
    with tqdm(total=total, unit=unit, file=sys.stderr, disable=None, leave=False) as bar:
        yield bar.update


class Printer:
    """Prints a report: what was done on stdout, what was bad on stderr."""

    def __init__(self, stdout: OutputWrapper, stderr: OutputWrapper, options: dict[str, Any]) -> None:
        self.stdout, self.stderr = stdout, stderr
        self.trial: bool = options["dry_run"]
        self.limit = sys.maxsize if options["verbosity"] > 1 else SHOWN if options["verbosity"] else 0

    def listing(self, title: str, lines: Sequence[str]) -> None:
        """A titled list with its length, cut after 20 lines unless the verbosity is 2."""
        if not (lines and self.limit):
            return
        self.stdout.write(f"{title} ({len(lines):,}):")
        for line in lines[: self.limit]:
            self.stdout.write(f"  {line}")
        if len(lines) > self.limit:
            self.stdout.write(f"  … and {len(lines) - self.limit:,} more (-v 2 lists all)")

    def personas(self, report: ImportReport) -> None:
        """What became of the personas."""
        for result, title in ((Result.DRAFT, "New drafts"), (Result.ENABLED, "New and enabled")):
            self.listing(title, [_persona_line(row.persona) for row in report.named(result)])
        self.listing("There already", [f"{persona}" for persona in report.there])
        self.listing(
            "Renamed, since the name belongs to another text",
            [f"{wanted} → {given}" for wanted, given in report.renamed],
        )

    def notices(self, notices: Iterable[Notice]) -> None:
        """Everything a person should know, in the order of the files."""
        for notice in sorted(notices, key=_place):
            self.stdout.write(f"Note: {_where(notice)}{notice.text}")

    def end(self, summary: str, faults: Sequence[Fault], *, good: int) -> None:
        """The faults and the summary. Raises `CommandError` with status 1 if some rows were bad, 2 if all were."""
        for fault in sorted(faults, key=_place):
            self.stderr.write(f"{_where(fault)}{fault.reason}")
        if not good and faults:
            raise CommandError("Nothing was imported: see above.", returncode=NOTHING_DONE)
        self.stdout.write(f"Trial, nothing was kept: {summary}" if self.trial else summary)
        if faults:
            raise CommandError(f"Not imported: {counted(len(faults), 'fault')}, see above.", returncode=SOME_WERE_BAD)


def persona_summary(report: ImportReport) -> str:
    """One sentence about the personas."""
    parts = [
        f"{counted(len(report.made), 'persona')} made",
        f"{len(report.named(Result.ENABLED)):,} of them enabled",
        f"{len(report.there):,} there already",
        f"{len(report.renamed):,} renamed",
    ]
    return ", ".join(parts)


def counted(number: int, noun: str) -> str:
    """The number with its noun, in the plural where it is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _persona_line(persona: Any) -> str:
    context = f"  ({persona.context_type}, {persona.context_id})" if persona.context_type else ""
    return f"{persona.name}{context}"


def _place(report: Fault | Notice) -> tuple[str, int]:
    return report.source, report.line or 0


def _where(report: Fault | Notice) -> str:
    line = f"{report.line}:" if report.line else ""
    return f"{report.source}:{line} " if report.source else ""
