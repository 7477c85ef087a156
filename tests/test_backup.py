"""A backup, restored elsewhere, answers what was answered, and guards its rows."""

import os
import sqlite3
import subprocess
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from personas.models import Activation, AuditEntry, ManifestVersion, PersonaRevision
from tests.factory import World

pytestmark = pytest.mark.django_db(transaction=True)
GUARDED = (PersonaRevision, Activation, AuditEntry, ManifestVersion)
QUESTION = """SELECT p.name, r.instructions FROM personas_agentpersona p
JOIN personas_personarevision r ON r.id = p.live_revision_id WHERE p.enabled"""


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the embedded database")
def test_a_copy_of_the_embedded_database(tmp_path: Path) -> None:
    World().persona("Desk", "Answer.")
    copy = sqlite3.connect(tmp_path / "copy.sqlite3")
    connection.connection.backup(copy)
    assert copy.execute(QUESTION).fetchall() == [("Desk", "Answer.")]
    for model in GUARDED:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            copy.execute(f'UPDATE "{model._meta.db_table}" SET id = id')  # noqa: S608
    copy.close()


@pytest.mark.postgres
def test_a_dump_of_postgresql(tmp_path: Path) -> None:
    World().persona("Desk", "Answer.")
    settings = connection.settings_dict
    place = {"PGHOST": settings["HOST"], "PGPORT": str(settings["PORT"]), "PGUSER": settings["USER"]}
    environment = {**os.environ, **place, "PGPASSWORD": settings["PASSWORD"]}
    dump, name = tmp_path / "dump", f"restored_{os.getpid()}"
    run = {"env": environment, "check": True, "capture_output": True}
    subprocess.run(["pg_dump", "--format=custom", f"--file={dump}", settings["NAME"]], **run)
    subprocess.run(["createdb", name], **run)
    try:
        subprocess.run(["pg_restore", f"--dbname={name}", "--exit-on-error", str(dump)], **run)
        with psycopg.connect(
            host=settings["HOST"],
            port=settings["PORT"],
            user=settings["USER"],
            password=settings["PASSWORD"],
            dbname=name,
        ) as restored:
            assert restored.execute(QUESTION).fetchall() == [("Desk", "Answer.")]
            for model in GUARDED:
                with pytest.raises(psycopg.Error, match="append-only"), restored.transaction():
                    restored.execute(f'UPDATE "{model._meta.db_table}" SET id = id')  # noqa: S608
    finally:
        subprocess.run(["dropdb", "--force", name], **run)
