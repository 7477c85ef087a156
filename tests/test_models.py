"""What must always hold is kept by the database, whoever writes."""

import uuid
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, models, transaction

from learning.models import Decision, DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.models import (
    Activation,
    AgentClass,
    AgentPersona,
    APIToken,
    AuditEntry,
    ManifestVersion,
    PersonaRevision,
    Tenant,
    TenantAgent,
    TenantAncestor,
    User,
)
from personas.models.base import AppendOnlyRow, WrittenOnce
from personas.triggers import append_only_models, trigger_names
from tests.factory import World


@pytest.fixture
def rows(world: World) -> dict[type[models.Model], Any]:
    """One row of every append-only model."""
    persona = world.persona(text="One.")
    proposal = propose(persona, actor=world.editor, instructions="Two.", rationale="")
    review.approve(proposal, actor=world.reviewer, expected_revision=persona.live_revision)
    return {model: model._default_manager.first() for model in append_only_models()}


def test_these_are_append_only() -> None:
    expected = {PersonaRevision, Activation, Decision, AuditEntry, ManifestVersion}
    assert expected <= set(append_only_models())
    assert all(issubclass(model, AppendOnlyRow) for model in append_only_models())


def installed_triggers() -> set[str]:
    sql = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O'",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return {name for (name,) in cursor.fetchall()}


def names_here(model: type[models.Model]) -> set[str]:
    """PostgreSQL knows no INSERT OR REPLACE, so it needs no trigger against it."""
    names = trigger_names(model._meta.db_table)
    return set(names if connection.vendor == "sqlite" else names[:2])


def test_every_append_only_table_has_its_triggers(db: None) -> None:
    expected = {name for model in append_only_models() for name in names_here(model)}
    assert expected <= installed_triggers()


def test_append_only_rows_are_refused_by_the_orm(rows: dict[type[models.Model], Any]) -> None:
    for model, row in rows.items():
        assert row is not None, model
        manager = model._default_manager
        for attempt in (
            row.save, row.delete, manager.all().delete, lambda m=manager: m.update(id=None),
            lambda m=manager, r=row: m.bulk_update([r], ["id"]),
        ):  # fmt: skip
            with pytest.raises(WrittenOnce):
                attempt()


def test_append_only_rows_are_refused_by_the_database(rows: dict[type[models.Model], Any]) -> None:
    for model, row in rows.items():
        table = model._meta.db_table
        statements = [f'UPDATE "{table}" SET id = id', f'DELETE FROM "{table}"']  # noqa: S608
        for statement in statements:
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            models.QuerySet(model).filter(pk=row.pk)._raw_delete("default")  # type: ignore[attr-defined]
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            models.QuerySet(model).filter(pk=row.pk).update(id=row.pk)
        assert models.QuerySet(model).filter(pk=row.pk).exists()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite alone knows INSERT OR REPLACE")
def test_a_row_cannot_be_replaced(rows: dict[type[models.Model], Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA recursive_triggers=OFF")  # as a connection that is not ours
    for model in rows:
        table = model._meta.db_table
        columns = [f'"{field.column}"' for field in model._meta.concrete_fields]
        other = [f"'{uuid.uuid4().hex}'" if name == '"id"' else name for name in columns]
        replace = f'INSERT OR REPLACE INTO "{table}" ({",".join(columns)}) SELECT %s FROM "{table}"'  # noqa: S608
        same_row, same_key = replace % ",".join(columns), replace % ",".join(other)
        keyed = any(isinstance(rule, models.UniqueConstraint) for rule in model._meta.constraints)
        for statement in [same_row, same_key] if keyed else [same_row]:
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_triggers_survive_a_rebuilt_table() -> None:
    table, names = Decision._meta.db_table, names_here(Decision)
    with connection.cursor() as cursor:
        for name in names:
            on = f' ON "{table}"' if connection.vendor == "postgresql" else ""
            cursor.execute(f'DROP TRIGGER "{name}"{on}')
    assert not names & installed_triggers()
    call_command("migrate", verbosity=0)
    assert names <= installed_triggers()


BROKEN: list[tuple[type[models.Model], dict[str, Any], str]] = [
    (AgentPersona, {"context_id": "7"}, "A context id needs a context type."),
    (AgentPersona, {"name": "Desk", "name_key": "desk"}, "Another persona of this agent class has this name."),
    (AgentPersona, {"enabled": True}, "A persona without a revision cannot be enabled."),
    (Tenant, {"slug": "x", "name": "X", "required_approvals": 6}, "Ensure this value is less than or equal to 5."),
    (Tenant, {"slug": "x", "name": "X", "required_approvals": 0}, "Ensure this value is greater than or equal to 1."),
    (Tenant, {"slug": "acme", "name": "X"}, "This slug is taken."),
    (User, {"username": "x", "kind": "service"}, "A service account belongs to one tenant, a person to none."),
    (User, {"username": "EDITOR"}, "This user name is taken."),
    (User, {"username": "x", "email": "Editor@Example.Test"}, "This e-mail address belongs to another account."),
    (AgentClass, {"canonical": "Plain", "short": "Plain"}, "The canonical name has the form @scope/package:Name."),
    (
        AgentClass,
        {"canonical": "@other/agents:Support", "short": "Support"},
        "Another agent class has this short name.",
    ),
    (TenantAgent, {}, "The tenant has a binding for this agent class already."),
    (DirectiveProposal, {"confidence": "1.5"}, "The confidence lies between 0 and 1."),
]


@pytest.mark.parametrize(("model", "values", "message"), BROKEN)
def test_invariants_are_constraints_with_messages(
    world: World, model: type[models.Model], values: dict[str, Any], message: str
) -> None:
    persona = world.persona(enable=False)
    revision = persona.live_revision
    given: dict[type[models.Model], dict[str, Any]] = {
        AgentPersona: {"tenant": world.tenant, "agent_class": world.support, "run_as": world.service, "name": "Other",
                       "name_key": "other"},
        AgentClass: {"display_name": "X"},
        TenantAgent: {"tenant": world.tenant, "agent_class": world.support},
        DirectiveProposal: {"tenant": world.tenant, "persona": persona, "base_revision": revision, "proposed_by":
                            world.editor.account, "instructions": "x", "text_fingerprint": "x", "text_sha256": "x",
                            "change_fingerprint": "x", "proposed_by_name": "x"},
    }  # fmt: skip
    row = model(**{**given.get(model, {}), **values})
    if isinstance(row, User):
        row.set_unusable_password()
    with pytest.raises(ValidationError) as caught:
        row.full_clean()
    assert message in [text for texts in caught.value.message_dict.values() for text in texts]
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_an_archived_persona_is_never_enabled(world: World) -> None:
    persona = world.persona()
    with pytest.raises(IntegrityError), transaction.atomic():
        AgentPersona.objects.filter(pk=persona.pk).update(archived_at=persona.created_at)


def test_an_archived_name_is_free_again(world: World) -> None:
    from personas.services import personas

    personas.archive_persona(world.persona(), actor=world.reviewer)
    assert world.persona().name == "Desk"


def test_the_closure_is_what_the_parents_say(world: World) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        TenantAncestor.objects.create(tenant=world.tenant, ancestor=world.other, distance=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        TenantAncestor.objects.create(tenant=world.tenant, ancestor=world.other, distance=10)


def test_keys_are_uuids_made_in_python() -> None:
    for model in (Tenant, User, AgentClass, AgentPersona, PersonaRevision, DirectiveProposal, APIToken, AuditEntry):
        assert model().pk.version == 4


def test_people_and_what_they_did_cannot_be_deleted(rows: dict[type[models.Model], Any], world: World) -> None:
    for row in (world.editor.account, world.reviewer.account, world.tenant, world.support, AgentPersona.objects.get()):
        with pytest.raises(models.ProtectedError), transaction.atomic():
            row.delete()
