"""Triggers that refuse UPDATE and DELETE on append-only tables, on SQLite and PostgreSQL.

They are (re)made after every ``migrate``: SQLite rebuilds a table when a column changes and forgets its triggers.
PostgreSQL's TRUNCATE fires no row trigger: take that privilege from the application's role (docs/operations.md).
"""

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper

from personas.models.base import AppendOnlyRow

FUNCTION = """
CREATE OR REPLACE FUNCTION personas_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'append-only: rows of % are never changed or deleted', TG_TABLE_NAME
  USING ERRCODE = 'restrict_violation'; END $$
"""


def append_only_models() -> list[type[models.Model]]:
    """Every model whose rows are written once."""
    return [model for model in apps.get_models() if issubclass(model, AppendOnlyRow)]


def trigger_names(table: str) -> tuple[str, str, str]:
    return f"{table}_no_update", f"{table}_no_delete", f"{table}_no_replace"


def create_triggers(using: str = "default", only: Iterable[type[models.Model]] | None = None, **_: Any) -> None:
    """Make the triggers of all append-only tables that exist (safe to repeat)."""
    connection = connections[using]
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        if connection.vendor == "postgresql":
            cursor.execute(FUNCTION)
        for model in only or append_only_models():
            if model._meta.db_table in tables and router.allow_migrate_model(using, model):
                for statement in _statements(connection, model):
                    cursor.execute(statement)


def _statements(connection: BaseDatabaseWrapper, model: type[models.Model]) -> list[str]:
    table = model._meta.db_table
    update, delete, replace = trigger_names(table)
    if connection.vendor == "postgresql":
        return [
            f'CREATE OR REPLACE TRIGGER "{name}" BEFORE {event} ON "{table}" '
            "FOR EACH ROW EXECUTE FUNCTION personas_append_only()"
            for name, event in ((update, "UPDATE"), (delete, "DELETE"))
        ]
    refuse = f"BEGIN SELECT RAISE(ABORT, 'append-only: rows of {table} are never changed or deleted'); END"
    # INSERT OR REPLACE deletes the row in the way without a DELETE trigger, unless the connection asks for one.
    taken = " OR ".join(
        f'EXISTS (SELECT 1 FROM "{table}" WHERE {" AND ".join(f"{column} = NEW.{column}" for column in key)})'
        for key in _unique_keys(model)
    )
    return [
        f'CREATE TRIGGER IF NOT EXISTS "{update}" BEFORE UPDATE ON "{table}" {refuse}',
        f'CREATE TRIGGER IF NOT EXISTS "{delete}" BEFORE DELETE ON "{table}" {refuse}',
        f'CREATE TRIGGER IF NOT EXISTS "{replace}" BEFORE INSERT ON "{table}" WHEN {taken} {refuse}',
    ]


def _unique_keys(model: type[models.Model]) -> list[list[str]]:
    """The columns of every key by which a row could be replaced."""
    columns = {field.name: f'"{field.column}"' for field in model._meta.concrete_fields}
    keys = [[f'"{field.column}"'] for field in model._meta.concrete_fields if field.unique]
    unique = (rule for rule in model._meta.constraints if isinstance(rule, models.UniqueConstraint))
    return keys + [[columns[name] for name in rule.fields] for rule in unique if rule.fields]
