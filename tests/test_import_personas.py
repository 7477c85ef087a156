"""Importing personas from real and from broken files."""

import io
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import models

from personas.domain.imports import read_csv, read_folder
from personas.domain.rights import Role
from personas.domain.text import MAX_INSTRUCTIONS
from personas.management.importing import label
from personas.models import Activation, AgentPersona, AuditEntry, PersonaRevision
from personas.resolve import resolve_for_tenant
from personas.services import accounts, tenants
from personas.services import personas as verbs
from tests.factory import World, make_class, make_person, superuser

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
TABLES: list[type[models.Model]] = [AgentPersona, PersonaRevision, Activation, AuditEntry]

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs the real files")


def run(path: Path, *options: str, status: int = 0, by: str = "reviewer", tenant: str = "acme") -> tuple[str, str]:
    """Import a file, check the exit status, and return what was printed on stdout and on stderr."""
    out, err = io.StringIO(), io.StringIO()
    arguments = [str(path), "--tenant", tenant, "--agent-class", "Support", "--run-as", "svc-acme", "--by", by]
    reached, message = 0, ""
    try:
        call_command("import_personas", *arguments, *options, stdout=out, stderr=err)
    except CommandError as error:
        reached, message = error.returncode, str(error)
    assert reached == status, (out.getvalue(), err.getvalue(), message)
    return out.getvalue(), err.getvalue() + message


def counts() -> list[int]:
    return [table._default_manager.count() for table in TABLES]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def csv_of(path: Path, *rows: tuple[str, str]) -> Path:
    return write(path, "act,prompt\n" + "".join(f'"{act}","{prompt}"\n' for act, prompt in rows))


# --- Real files


@needs_data
def test_each_real_persona_answers_for_its_context_with_exactly_its_text(world: World) -> None:
    records = read_csv((DATA / "prompts.csv").read_bytes(), "prompts.csv").records
    out, _ = run(DATA / "prompts.csv", "--enable", "--context-type", "act")
    assert "175 personas made, 175 of them enabled, 0 there already, 1 renamed." in out
    assert "Life Coach → Life Coach (2)" in out
    assert AgentPersona.objects.filter(enabled=True).count() == len(records) == 175
    served = []
    for persona in AgentPersona.objects.all():
        answer = resolve_for_tenant(world.tenant, "Support", ("act", persona.context_id))
        assert answer.persona_id == str(persona.pk)
        served.append(answer.instructions)
    assert sorted(served) == sorted(record.instructions for record in records)
    activations = Activation.objects.all()
    assert {(row.verb, row.actor_name) for row in activations} == {("import", "Reviewer")}


@needs_data
@pytest.mark.parametrize("source", ["prompts.csv", "subagents"])
def test_a_second_import_changes_nothing(world: World, source: str) -> None:
    run(DATA / source)
    before = counts()
    out, _ = run(DATA / source)
    assert counts() == before
    assert f"0 personas made, 0 of them enabled, {before[0]} there already, 0 renamed." in out


@needs_data
def test_a_folder_of_subagents_keeps_their_tools_and_models(world: World) -> None:
    out, _ = run(DATA / "subagents", "--context-type", "agent")
    assert "26 personas made" in out
    assert "Note: LICENSE: The file was not read" in out
    records = read_folder((path.name, path.read_bytes()) for path in sorted((DATA / "subagents").glob("*.md"))).records
    made = {persona.name: persona for persona in AgentPersona.objects.select_related("live_revision")}
    assert len(made) == len(records) == 26
    for record in records:
        persona = made[record.name]
        assert persona.hints == dict(record.hints)
        assert persona.description == record.description
        assert persona.settings.allowed_tools == record.tools
        assert persona.live_revision is not None
        assert persona.live_revision.instructions == record.instructions
        assert not persona.enabled
    assert any(persona.hints for persona in made.values())


@needs_data
def test_a_trial_reports_the_same_and_leaves_nothing(world: World) -> None:
    before = counts()
    trial, _ = run(DATA / "prompts.csv", "--enable", "--context-type", "act", "--dry-run")
    assert counts() == before
    real, _ = run(DATA / "prompts.csv", "--enable", "--context-type", "act")
    assert trial == real.replace("175 personas made", "Trial, nothing was kept: 175 personas made")


# --- Names, contexts, repeats


def test_one_name_with_two_texts_becomes_two_personas(world: World, tmp_path: Path) -> None:
    file = csv_of(tmp_path / "a.csv", ("Guide", "One."), ("Guide", "Two."), ("Guide", "One."))
    out, _ = run(file, "--context-type", "act", "--enable")
    assert "Guide → Guide (2)" in out
    assert "Note: a.csv:4: “Guide” with this text came before: made once." in out
    found = AgentPersona.objects.order_by("name").values_list("name", "context_id")
    assert list(found) == [("Guide", "guide"), ("Guide (2)", "guide-2")]


def test_two_names_with_one_slug_get_two_contexts(world: World, tmp_path: Path) -> None:
    world.persona("Here before", context_type="act", context_id="c")
    out, _ = run(csv_of(tmp_path / "a.csv", ("C++", "One."), ("C#", "Two.")), "--context-type", "act", "--enable")
    assert "The context (act, c) belongs to another persona: “C++” gets c-2." in out
    answers = [resolve_for_tenant(world.tenant, "Support", ("act", ident)).name for ident in ("c", "c-2", "c-3")]
    assert answers == ["Here before", "C++", "C#"]


def test_what_was_renamed_or_archived_is_not_made_again(world: World, tmp_path: Path) -> None:
    file = csv_of(tmp_path / "a.csv", ("Moved", "One."), ("Gone", "Two."))
    run(file)
    moved, gone = (AgentPersona.objects.get(name=name) for name in ("Moved", "Gone"))
    verbs.revise_persona(moved, actor=world.editor, settings=moved.settings.change(name="Elsewhere"), note="name")
    verbs.archive_persona(gone, actor=world.editor, reason="not needed")
    before = counts()
    out, _ = run(file)
    assert counts() == before
    assert "“Gone” is archived" in out
    assert "Elsewhere" in out


def test_an_existing_draft_is_left_and_named(world: World, tmp_path: Path) -> None:
    run(csv_of(tmp_path / "a.csv", ("Desk", "One.")))
    out, _ = run(csv_of(tmp_path / "a.csv", ("Desk", "One.")), "--enable", "--context-type", "act")
    assert "“Desk” was there as a draft and is one still" in out
    assert "“Desk” is there with another context, which it keeps." in out
    assert not AgentPersona.objects.get().enabled


def test_other_tools_of_an_existing_persona_are_left_and_named(world: World, tmp_path: Path) -> None:
    run(write(tmp_path / "a.md", "---\nname: desk\ntools: kb.search\n---\nHelp.\n"))
    out, _ = run(write(tmp_path / "a.md", "---\nname: desk\ntools: kb.search, ticket.comment\n---\nHelp.\n"))
    assert "“desk” is there with other tools, which it keeps." in out
    assert AgentPersona.objects.get().settings.allowed_tools == ("kb.search",)


def test_many_personas_for_the_whole_tenant_are_pointed_out(world: World, tmp_path: Path) -> None:
    out, _ = run(csv_of(tmp_path / "a.csv", ("A", "One."), ("B", "Two.")), "--enable")
    assert "only the first of them by priority and name answers. --context-type gives each" in out
    assert resolve_for_tenant(world.tenant, "Support", ("", "")).instructions == "One."


def test_a_class_that_is_not_enabled_is_pointed_out(world: World, tmp_path: Path) -> None:
    make_class("Writer")
    out, _ = run(csv_of(tmp_path / "a.csv", ("A", "One.")), "--enable", "--agent-class", "Writer")
    assert "@acme/agents:Writer is not enabled for Acme" in out


# --- Rights


def test_who_may_import_what(world: World, tmp_path: Path) -> None:
    file = csv_of(tmp_path / "a.csv", ("Desk", "Text."))
    before = counts()
    for by, options in [("viewer", []), ("outsider", []), ("editor", ["--enable"]), ("admin", ["--enable"])]:
        _, said = run(file, *options, by=by, status=2)
        assert said.startswith(f"{by} may not do this.")
        assert ("activate-directive" in said) == (options == ["--enable"])
        assert ("without --enable" in said) == (options == ["--enable"])
    assert counts() == before
    run(file, by="editor")
    assert not AgentPersona.objects.get().enabled


def test_a_second_person_cannot_be_imported_around(world: World, tmp_path: Path) -> None:
    file = csv_of(tmp_path / "a.csv", ("Desk", "Text."))
    tenants.set_review_rules(world.tenant, require_second_person=True, required_approvals=1, actor=world.admin)
    before = counts()
    _, said = run(file, "--enable", status=2)
    assert "Acme asks for the approval of more than one person. Nothing was written." in said
    assert counts() == before
    run(file)
    assert AgentPersona.objects.count() == 1


def test_taking_an_answer_where_the_right_ends_stops_the_file(world: World, tmp_path: Path) -> None:
    child = tenants.create_tenant("acme-child", name="Child", parent=world.tenant, actor=superuser())
    accounts.create_service_account(child, "svc-child", name="", actor=superuser())
    make_person("local", tenant=child, roles=(Role.REVIEWER,))
    world.persona("Inherited", context_type="act", context_id="two")
    file = csv_of(tmp_path / "a.csv", ("One", "Text."), ("Two", "Text."))
    before = counts()
    options = ["--run-as", "svc-child", "--enable", "--context-type", "act"]
    _, said = run(file, *options, tenant="acme-child", by="local", status=2)
    assert "This changes who answers where “Inherited” of Acme does" in said
    assert counts() == before
    run(file, *options[:2], *options[3:], tenant="acme-child", by="local")
    assert AgentPersona.objects.filter(tenant=child, enabled=False).count() == 2


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--tenant", "nowhere", "There is no tenant “nowhere”."),
        ("--agent-class", "Suport", "There is no agent class “Suport”. Did you mean @acme/agents:Support?"),
        ("--run-as", "nobody", "There is no account “nobody”."),
        ("--run-as", "editor", "Choose a service account of this tenant, or yourself"),
        ("--run-as", "root", "no superuser"),
        ("--by", "nobody", "There is no account “nobody”."),
        ("--context-type", " site", "Context type has spaces around it"),
    ],
)
def test_a_wrong_option_stops_everything(world: World, tmp_path: Path, option: str, value: str, said: str) -> None:
    before = counts()
    assert said in run(csv_of(tmp_path / "a.csv", ("Desk", "Text.")), option, value, status=2)[1]
    assert counts() == before


def test_a_person_may_let_personas_run_as_themselves(world: World, tmp_path: Path) -> None:
    run(csv_of(tmp_path / "a.csv", ("Desk", "Text.")), "--run-as", "editor", by="editor")
    assert AgentPersona.objects.get().run_as == world.editor.account


# --- Broken input


def test_bad_rows_are_named_and_the_good_ones_kept(world: World, tmp_path: Path) -> None:
    rows = f'act,prompt\nGood,Text.\nNul,"a\0b"\nLong,{"x" * (MAX_INSTRUCTIONS + 1)}\nEmpty,\nShort\nLast,Text.\n'
    out, said = run(write(tmp_path / "a.csv", rows), status=1)
    assert sorted(AgentPersona.objects.values_list("name", flat=True)) == ["Good", "Last"]
    assert "2 personas made" in out
    reasons = {3: "NUL", 4: "Shorten the instructions", 5: "must not be empty", 6: "1 fields, the header 2"}
    for line, reason in reasons.items():
        found = [text for text in said.splitlines() if text.startswith(f"a.csv:{line}: ")]
        assert len(found) == 1
        assert reason in found[0]
    assert "Not imported: 4 faults" in said


def test_what_a_rule_refuses_is_a_fault_of_its_row(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    write(folder / "a.md", f"---\nname: wordy\ndescription: {'x' * 2001}\n---\nHelp.\n")
    write(folder / "b.md", "---\nname: brief\n---\nHelp.\n")
    write(folder / "c.md", f"---\nname: wordy\ndescription: {'x' * 2001}\n---\nHelp.\n")
    _, said = run(folder, status=1)
    assert "a.md:1: " in said
    assert "c.md:1: The same as a.md:1, which was refused." in said
    assert [persona.name for persona in AgentPersona.objects.all()] == ["brief"]
    assert PersonaRevision.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "name,text\nDesk,Help.\n", "the columns “act” and “prompt” are needed"),
        ("a.csv", "act;prompt\nDesk;Help.\n", "separated by ';'"),
        ("a.csv", "", "The file is empty."),
        ("a.csv", "act,prompt\nDesk,".encode("utf-16"), "The file is in UTF-16"),
        ("a.csv", b"act,prompt\nDesk,caf\xe9\n", "The byte 0xE9 is not UTF-8"),
        ("a.csv", 'act,prompt\nDesk,"never closed\n', "quotes of the row that starts here do not match"),
        ("a.csv", "act,prompt\nDesk," + "x" * 10_000_000, "10,000,000 characters, at most 100,000"),
        ("a.csv", "act,prompt\nDesk,a\0b\n", "Remove the NUL character"),
        ("a.md", "Help.\n", "There is no front matter"),
        ("a.md", "---\nname: desk\nHelp.\n", "The front matter is never closed"),
        ("a.md", "---\nname: [desk\n---\nHelp.\n", "cannot be read as YAML"),
        ("a.md", "---\ndescription: x\n---\nHelp.\n", "The front matter has no name"),
        ("a.md", "---\nname: a\nname: b\n---\nHelp.\n", "stands twice"),
        ("a.md", "---\nname: desk\ntools: rm -rf\n---\nHelp.\n", "Write the tool id"),
        ("a.md", "---\nname: desk\n---\n" + "x" * 10_000_000, "10,000,000 characters, at most 100,000"),
    ],
)
def test_broken_files_are_refused_whole(
    world: World, tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    before = counts()
    out, err = run(write(tmp_path / name, content), status=2)
    assert said in err
    assert "Nothing was imported" in err
    assert "made" not in out
    assert counts() == before


def test_files_from_windows_read_like_any_other(world: World, tmp_path: Path) -> None:
    run(write(tmp_path / "a.csv", b'\xef\xbb\xbfact,prompt\r\nDesk,"One.\r\nTwo."\r\n'))
    assert PersonaRevision.objects.get().instructions == "One.\nTwo."
    before = counts()
    run(write(tmp_path / "b.csv", 'act,prompt\nDesk,"One.\nTwo."\n'))
    assert counts() == before
    run(write(tmp_path / "a.md", b"\xef\xbb\xbf---\r\nname: other\r\n---\r\nHelp.\r\n"))
    assert AgentPersona.objects.get(name="other").settings.allowed_tools is None


def test_a_key_that_no_persona_has_is_reported(world: World, tmp_path: Path) -> None:
    out, _ = run(write(tmp_path / "a.md", "---\nname: desk\ncolor: red\nmodel: small\n---\nHelp.\n"))
    assert "Note: a.md:3: The key 'color' was not read; its value is 'red'." in out
    assert AgentPersona.objects.get().hints == {"model": "small"}


def test_what_is_no_file_is_refused(world: World, tmp_path: Path) -> None:
    assert "gone.csv cannot be read: No such file" in run(tmp_path / "gone.csv", status=2)[1]
    assert f"There is no .md file in {tmp_path.name}." in run(tmp_path, status=2)[1]
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe.csv cannot be read: it is no ordinary file." in run(tmp_path / "pipe.csv", status=2)[1]
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    assert "at most 67,108,864 are read" in run(tmp_path / "huge.csv", status=2)[1]


def test_folders_and_broken_links_inside_a_folder_are_reported(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    (folder / "more.md").mkdir(parents=True)
    (folder / "gone.md").symlink_to(tmp_path / "nowhere.md")
    write(folder / "good.md", "---\nname: good\n---\nHelp.\n")
    out, said = run(folder, status=1)
    assert "Note: more.md: The folder was not read." in out
    assert "gone.md: The file cannot be read: No such file or directory." in said
    assert AgentPersona.objects.get().name == "good"


def test_file_names_cannot_command_a_terminal() -> None:
    assert label("/somewhere/a\x1b[2J\udcff.csv") == "a�[2J�.csv"


def test_long_lists_are_cut_unless_asked_for(world: World, tmp_path: Path) -> None:
    rows: list[Any] = [(f"Persona {number}", "Text.") for number in range(25)]
    file = csv_of(tmp_path / "a.csv", *rows)
    assert "… and 5 more (-v 2 lists all)" in run(file, "--dry-run")[0]
    assert "Persona 24" in run(file, "--dry-run", "-v", "2")[0]
    assert run(file, "-v", "0")[0] == "25 personas made, 0 of them enabled, 0 there already, 0 renamed.\n"
