"""What is written when a persona is made and changed, and the one way in which rows are checked and saved."""

from typing import Any

import pytest
from django.db import IntegrityError

from personas import hooks
from personas.actors import Actor
from personas.domain.errors import Invalid, NotPermitted
from personas.domain.settings import revision_digest
from personas.domain.text import digest
from personas.models import Activation, AgentPersona, AuditEntry, PersonaRevision, Tenant
from personas.services import activation, checks, personas
from tests.factory import World


def test_a_new_persona_and_what_is_kept_of_it(world: World) -> None:
    settings = world.settings("Straße", priority=3, context_type="site", context_id="1", acts_as="Robbie")
    persona = personas.create_persona(
        world.tenant,
        world.support,
        instructions="One.\r\nTwo.",
        settings=settings,
        actor=world.reviewer,
        description="For the site.",
        hints={"model": "small"},
        enable=True,
        note="First.",
    )
    assert (persona.name, persona.name_key, persona.priority) == ("Straße", "strasse", 3)
    assert (persona.context_type, persona.context_id, persona.run_as) == ("site", "1", world.service)
    assert persona.hints == {"model": "small"} and persona.settings == settings
    revision = persona.live_revision
    assert (revision.number, revision.instructions, revision.origin) == (1, "One.\nTwo.", "created")
    assert revision.sha256 == revision_digest("One.\nTwo.", settings.dump())
    assert revision.text_sha256 == digest("One.\nTwo.")
    assert (revision.author, revision.author_name, revision.note) == (world.reviewer.user, "Reviewer", "First.")
    record = Activation.objects.get()
    assert (record.verb, record.live, record.previous, record.reason) == ("enable", True, None, "First.")
    entry = AuditEntry.objects.get(verb="directive.enable")
    assert entry.before == {"enabled": False, "archived": False, "revision": None, "sha256": None}
    assert entry.after == {"enabled": True, "archived": False, "revision": 1, "sha256": revision.sha256}
    assert "1" in str(revision) and str(record) == "Straße enable"


def test_a_change_of_settings_has_its_own_verb(world: World) -> None:
    persona = world.persona()
    personas.revise_persona(persona, actor=world.reviewer, settings=persona.settings.change(priority=1))
    personas.revise_persona(persona, actor=world.reviewer, instructions="New.")
    assert list(Activation.objects.order_by("created_at").values_list("verb", flat=True)) == [
        "enable",
        "settings",
        "edit",
    ]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"instructions": "a\0"}, "instructions"),
        ({"instructions": ""}, "instructions"),
        ({"instructions": "x" * 100_001}, "instructions"),
        ({"description": "x" * 2001}, "description"),
        ({"description": "a\0"}, "description"),
        ({"note": "a\0"}, "note"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_field(world: World, values: dict[str, Any], field: str) -> None:
    given = {"instructions": "x", "settings": world.settings(), "actor": world.reviewer, "enable": True, **values}
    with pytest.raises(Invalid) as refusal:
        personas.create_persona(world.tenant, world.support, **given)
    assert refusal.value.field == field and not AgentPersona.objects.exists()


def test_a_reason_is_cut_and_cannot_break_a_row(world: World) -> None:
    persona = world.persona()
    with pytest.raises(Invalid) as refusal:
        personas.disable_persona(persona, actor=world.reviewer, reason="a\0")
    assert refusal.value.field == "reason"
    record = personas.disable_persona(persona, actor=world.reviewer, reason="x" * 3000)
    assert record is not None and len(record.reason) == 2000
    assert personas.disable_persona(persona, actor=world.reviewer) is None


def test_the_description_serves_nobody(world: World) -> None:
    persona = world.persona()
    with pytest.raises(NotPermitted):
        personas.describe_persona(persona, description="x", actor=world.viewer)
    assert personas.describe_persona(persona, description="New.", actor=world.editor).description == "New."
    assert Activation.objects.filter(persona=persona).count() == 1
    assert AuditEntry.objects.get(verb="persona.described").before == {"description": ""}


def test_locking_twice_is_locking_once(world: World) -> None:
    persona = world.persona()
    for locked in (True, True, False, False):
        assert personas.set_locked(persona, locked=locked, actor=world.reviewer).locked is locked
    verbs = AuditEntry.objects.filter(object_id=str(persona.pk), verb__contains="locked").values_list("verb", flat=True)
    assert sorted(verbs) == ["persona.locked", "persona.unlocked"]


def test_higher_apps_hear_of_it_in_the_same_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, Actor]] = []

    def fail(persona: AgentPersona, actor: Actor) -> None:
        heard.append((persona.name, actor))
        raise Invalid("No.")

    persona = world.persona()
    monkeypatch.setattr(hooks, "persona_archived", [fail])
    with pytest.raises(Invalid):
        personas.archive_persona(persona, actor=world.reviewer)
    assert heard == [("Desk", world.reviewer)]
    persona.refresh_from_db()
    assert persona.archived_at is None and persona.enabled


def test_settings_in_another_form_are_never_live(world: World) -> None:
    persona = world.persona()
    messy = world.settings(" Desk ")
    revision = personas.write_revision(
        persona, instructions="x", settings=messy, actor=world.reviewer, origin=PersonaRevision.Origin.EDIT
    )
    with pytest.raises(Invalid, match="normal form"):
        activation.activate_revision(persona, revision, actor=world.reviewer, verb=Activation.Verb.EDIT)
    other = world.persona("Other")
    with pytest.raises(Invalid, match="belongs to another persona"):
        activation.activate_revision(other, revision, actor=world.reviewer, verb=Activation.Verb.EDIT)


def test_who_comes_second_is_told_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when both had found the name free: the first check passes, the database refuses, the second check says why."""
    passed: list[bool] = []
    check = checks.checked

    def late(row: Any, **more: Any) -> Any:
        if passed:
            return check(row, **more)
        passed.append(True)
        return row

    monkeypatch.setattr(checks, "checked", late)
    with pytest.raises(Invalid, match="This slug is taken"):
        checks.saved(Tenant(slug="acme", name="X"))
    passed.clear()
    monkeypatch.setattr(checks, "checked", lambda row, **more: row)
    with pytest.raises(IntegrityError):
        checks.saved(Tenant(slug="acme", name="X"))
    assert Tenant.objects.filter(slug="acme").count() == 1
