"""Importing proposed edits of personas."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from learning.models import Decision, DirectiveProposal
from learning.services import review
from personas.domain.imports import read_edits
from personas.models import Activation, AgentPersona, AuditEntry, PersonaRevision
from personas.resolve import resolve_for_tenant
from personas.services import personas as verbs
from tests.factory import World
from tests.test_import_personas import DATA, needs_data, write

TABLES: list[Any] = [AgentPersona, PersonaRevision, Activation, AuditEntry, DirectiveProposal, Decision]
EDIT = {"id": "1", "persona": "Desk", "date": "2022-12-14T14:41:10+03:00", "note": "kinder"}


def run(path: Path, *options: str, status: int = 0, by: str = "editor") -> tuple[str, str]:
    """Import a file, check the exit status, and return what was printed on stdout and on stderr."""
    out, err = io.StringIO(), io.StringIO()
    arguments = [str(path), "--tenant", "acme", "--agent-class", "Support", "--run-as", "svc-acme", "--by", by]
    reached, message = 0, ""
    try:
        call_command("import_proposals", *arguments, *options, stdout=out, stderr=err)
    except CommandError as error:
        reached, message = error.returncode, str(error)
    assert reached == status, (out.getvalue(), err.getvalue(), message)
    return out.getvalue(), err.getvalue() + message


def counts() -> list[int]:
    return [table._default_manager.count() for table in TABLES]


def edits(path: Path, *changes: dict[str, str]) -> Path:
    """A file of edits, each the usual one with some keys changed."""
    usual = {**EDIT, "current": "Help.", "proposed": "Help kindly."}
    lines = [json.dumps({**usual, "id": str(number), **change}) for number, change in enumerate(changes)]
    return write(path, "\n".join(lines))


@needs_data
def test_real_edits_wait_for_review_beside_personas_with_their_current_text(world: World) -> None:
    records = read_edits((DATA / "prompt_edits.jsonl").read_bytes(), "prompt_edits.jsonl").records
    out, _ = run(DATA / "prompt_edits.jsonl", "--enable", "--context-type", "edit", by="reviewer")
    starts = {(record.name, record.current) for record in records}
    assert f"{len(starts)} personas made, {len(starts)} of them enabled" in out
    assert "98 proposals waiting, 0 there already." in out
    proposals = DirectiveProposal.objects.select_related("persona", "base_revision")
    found = sorted((row.base_revision.instructions, row.instructions) for row in proposals)
    assert found == sorted((record.current, record.proposed) for record in records)
    assert {(row.status, row.origin, row.proposed_by_name) for row in proposals} == {("pending", "import", "Reviewer")}
    for persona in AgentPersona.objects.select_related("live_revision"):
        answer = resolve_for_tenant(world.tenant, "Support", ("edit", persona.context_id))
        assert answer.persona_id == str(persona.pk)
        assert persona.live_revision is not None
        assert answer.instructions == persona.live_revision.instructions
    assert "Imported edit of 14 December 2022: escape quotes" in set(proposals.values_list("rationale", flat=True))


@needs_data
def test_a_second_import_of_real_edits_changes_nothing(world: World) -> None:
    run(DATA / "prompt_edits.jsonl")
    before = counts()
    out, _ = run(DATA / "prompt_edits.jsonl")
    assert counts() == before
    assert "0 proposals waiting, 98 there already." in out


@needs_data
def test_a_trial_leaves_nothing(world: World) -> None:
    before = counts()
    out, _ = run(DATA / "prompt_edits.jsonl", "--dry-run")
    assert "Trial, nothing was kept:" in out
    assert counts() == before


def test_a_rejected_edit_never_comes_back(world: World, tmp_path: Path) -> None:
    file = edits(tmp_path / "a.jsonl", {})
    run(file)
    review.reject(DirectiveProposal.objects.get(), actor=world.reviewer, note="Too kind.")
    before = counts()
    out, _ = run(file)
    assert counts() == before
    assert "0 proposals waiting, 1 there already (1 of them rejected, and not proposed again)." in out


def test_an_edit_of_a_persona_that_moved_on_is_proposed_against_its_first_revision(
    world: World, tmp_path: Path
) -> None:
    run(edits(tmp_path / "a.jsonl", {}), "--enable", by="reviewer")
    persona = AgentPersona.objects.get()
    verbs.revise_persona(persona, actor=world.reviewer, instructions="Help at once.", note="speed")
    out, _ = run(edits(tmp_path / "b.jsonl", {"proposed": "Help slowly."}))
    assert "1 proposal waiting" in out
    late = DirectiveProposal.objects.get(instructions="Help slowly.")
    assert (late.persona, late.base_revision.number) == (persona, 1)
    assert late in DirectiveProposal.objects.stale()


def test_one_persona_with_two_current_texts_becomes_two(world: World, tmp_path: Path) -> None:
    changes = [{}, {"current": "Help kindly.", "proposed": "Help."}, {"proposed": "Help much."}, {"id": "9"}]
    out, _ = run(edits(tmp_path / "a.jsonl", *changes))
    assert "Desk → Desk (2)" in out
    assert "2 personas made" in out
    assert "3 proposals waiting, 1 there already" in out
    found = DirectiveProposal.objects.order_by("persona__name", "instructions").values_list("persona__name", flat=True)
    assert list(found) == ["Desk", "Desk", "Desk (2)"]


def test_an_edit_without_a_note_says_when_it_was_made(world: World, tmp_path: Path) -> None:
    run(edits(tmp_path / "a.jsonl", {"note": ""}))
    assert DirectiveProposal.objects.get().rationale == "Imported edit of 14 December 2022."


def test_bad_lines_are_named_and_the_good_ones_kept(world: World, tmp_path: Path) -> None:
    good = edits(tmp_path / "a.jsonl", {}, {"persona": ""}, {"note": "x" * 6000, "proposed": "Other."}).read_text()
    file = write(tmp_path / "a.jsonl", good + '\n{"id": "cut off, "persona')
    out, said = run(file, status=1)
    assert "1 proposal waiting" in out
    assert "a.jsonl:2: Write something: the persona must not be empty." in said
    assert "a.jsonl:3: Shorten the note" in said
    assert "a.jsonl:4: The line is no JSON" in said
    assert DirectiveProposal.objects.get().instructions == "Help kindly."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "The file is empty."),
        (b'{"id": "1", "persona": "De', "The line is no JSON"),
        (b"[1, 2]", "The line is a list"),
        (json.dumps({**EDIT, "current": "a", "proposed": "a"}).encode(), "The edit changes nothing"),
        (json.dumps({**EDIT, "current": "a"}).encode(), "The key “proposed” is missing"),
        (json.dumps({**EDIT, "current": "a", "proposed": "b\0"}).encode(), "Remove the NUL character"),
        (json.dumps({**EDIT, "current": "a", "proposed": "b" * 10_000_000}).encode(), "Shorten the texts"),
        (json.dumps({**EDIT, "current": "a", "proposed": "b", "date": "soon"}).encode(), "The date 'soon' is none"),
    ],
)
def test_broken_files_are_refused_whole(world: World, tmp_path: Path, content: bytes, said: str) -> None:
    before = counts()
    assert said in run(write(tmp_path / "a.jsonl", content), status=2)[1]
    assert counts() == before


def test_edits_from_windows_read_like_any_other(world: World, tmp_path: Path) -> None:
    line = json.dumps({**EDIT, "current": "One.\r\nTwo.", "proposed": "One.\r\nThree."})
    run(write(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + line.encode() + b"\r\n"))
    assert DirectiveProposal.objects.get().instructions == "One.\nThree."


def test_who_may_import_edits(world: World, tmp_path: Path) -> None:
    file = edits(tmp_path / "a.jsonl", {})
    before = counts()
    for by, options in [("viewer", []), ("outsider", []), ("editor", ["--enable"])]:
        assert run(file, *options, by=by, status=2)[1].startswith(f"{by} may not do this.")
    assert counts() == before
    run(file)
    assert counts() != before


def test_an_archived_persona_gets_no_new_proposals(world: World, tmp_path: Path) -> None:
    run(edits(tmp_path / "a.jsonl", {}))
    verbs.archive_persona(AgentPersona.objects.get(), actor=world.editor, reason="done")
    before = counts()
    out, said = run(edits(tmp_path / "a.jsonl", {}, {"proposed": "Other."}), status=1)
    assert counts() == before
    assert "“Desk” is archived; restore it to use it again." in out
    assert "a.jsonl:2: “Desk” is archived." in said
