"""Rows with a UUID key, and rows that are written once."""

import uuid
from typing import Any, ClassVar, NoReturn

from django.db import models


class Row(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)

    class Meta:
        abstract = True


class WrittenOnce(Exception):
    """An append-only row was to be changed or deleted."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    def update(self, **kwargs: Any) -> NoReturn:
        raise WrittenOnce(f"{self.model.__name__} rows are never changed.")

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenOnce(f"{self.model.__name__} rows are never changed.")

    def delete(self) -> NoReturn:
        raise WrittenOnce(f"{self.model.__name__} rows are never deleted.")


class AppendOnlyRow(Row):
    """A row that is inserted and then never changed or deleted.

    The ORM refuses here; triggers in the database refuse everyone else (see ``personas/triggers.py``).
    """

    objects: ClassVar[Any] = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True
        base_manager_name = "objects"

    def save(self, **kwargs: Any) -> None:
        if not self._state.adding:
            raise WrittenOnce(f"{type(self).__name__} rows are never changed.")
        super().save(**{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenOnce(f"{type(self).__name__} rows are never deleted.")


class BytewiseCharField(models.CharField):
    """A text that both databases compare and sort byte by byte, whatever the server's collation."""

    def db_parameters(self, connection: Any) -> dict[str, Any]:
        parameters = super().db_parameters(connection)
        parameters["collation"] = "C" if connection.vendor == "postgresql" else "BINARY"
        return parameters
