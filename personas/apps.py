"""Who is an agent: tenants, rights, personas, resolution."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


def _make_triggers(using: str, **_: Any) -> None:
    from personas.triggers import create_triggers

    create_triggers(using)


class PersonasConfig(AppConfig):
    name = "personas"

    def ready(self) -> None:
        # Fires once an app, so tables of higher apps get theirs as well.
        post_migrate.connect(_make_triggers, dispatch_uid="personas.triggers")
