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


def trigger_names(table: str) -> tuple[str, str]:
    return f"{table}_no_update", f"{table}_no_delete"


def create_triggers(using: str = "default", only: Iterable[type[models.Model]] | None = None, **_: Any) -> None:
    """Make the triggers of all append-only tables that exist (safe to repeat)."""
    connection = connections[using]
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        if connection.vendor == "postgresql":
            cursor.execute(FUNCTION)
        for model in only or append_only_models():
            if model._meta.db_table in tables and router.allow_migrate_model(using, model):
                for statement in _statements(connection, model._meta.db_table):
                    cursor.execute(statement)


def _statements(connection: BaseDatabaseWrapper, table: str) -> list[str]:
    statements = []
    for name, event in zip(trigger_names(table), ("UPDATE", "DELETE"), strict=True):
        if connection.vendor == "postgresql":
            statements.append(
                f'CREATE OR REPLACE TRIGGER "{name}" BEFORE {event} ON "{table}" '
                "FOR EACH ROW EXECUTE FUNCTION personas_append_only()"
            )
        else:
            statements.append(
                f'CREATE TRIGGER IF NOT EXISTS "{name}" BEFORE {event} ON "{table}" '
                f"BEGIN SELECT RAISE(ABORT, 'append-only: rows of {table} are never changed or deleted'); END"
            )
    return statements
