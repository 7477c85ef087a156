"""What the suite shares: the world, databases that can be flushed, and skips that may not happen."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db.backends.sqlite3.base import DatabaseOperations  # its own module cannot be imported first

from tests.factory import World


@pytest.fixture(scope="session", autouse=True)
def flush_without_triggers() -> Iterator[None]:
    """SQLite flushes with DELETE, which the append-only triggers refuse: take them off for the flush alone.

    On the class, since a browser test may meet another connection object than the one the session began with.
    """
    plain = DatabaseOperations.sql_flush

    def sql_flush(self: DatabaseOperations, *args: Any, **kwargs: Any) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = cursor.fetchall()
        drops = [f'DROP TRIGGER "{name}"' for name, _ in triggers]
        return [*drops, *plain(self, *args, **kwargs), *(text for _, text in triggers)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        yield


@pytest.fixture(autouse=True)
def forget_failures() -> None:
    """No test suffers for the wrong passwords and tokens of another."""
    cache.clear()


@pytest.fixture
def world(db: None) -> World:
    return World()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="needs PostgreSQL: make test-pg")
    for item in items:
        if "postgres" in item.keywords and "postgres" not in os.environ.get("DATABASE_URL", ""):
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Where CI promises a browser or PostgreSQL, a test that skips for want of it has failed."""
    report = yield
    on_postgres = "postgres" in os.environ.get("DATABASE_URL", "")
    for marker, here in (("browser", True), ("postgres", on_postgres)):
        variable = f"REQUIRE_{marker.upper()}"
        if report.skipped and here and marker in item.keywords and os.environ.get(variable) == "1":
            report.outcome = "failed"
            report.longrepr = f"{marker} tests may not be skipped where {variable}=1"
    return report
