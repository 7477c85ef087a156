"""Django's own validation, said in our words, and the one way in which checked rows are written."""

from collections.abc import Iterable

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, models, transaction

from personas.domain.errors import Invalid
from personas.domain.text import TextFault, clean_text


def checked[M: models.Model](row: M, *, exclude: Iterable[str] = ()) -> M:
    """The row, if its fields and constraints hold. Raises `Invalid` with the first fault, naming its field.

    ``exclude`` spares fields that the caller has checked itself. Constraints over them are looked at all the same;
    `full_clean` would pass them over.
    """
    try:
        _refuse_unstorable(row)
        row.clean_fields(exclude=set(exclude))
        row.validate_unique()
        row.validate_constraints()
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Invalid(messages[0], field=None if field == NON_FIELD_ERRORS else field) from error
    return row


def saved[M: models.Model](row: M, *, exclude: Iterable[str] = (), fields: Iterable[str] | None = None) -> M:
    """Check a row and write it: all of a new one, or the named fields of one that exists. Raises as `checked`.

    Two transactions can both find the same name free: who comes second is told the same as if it had come later.
    """
    checked(row, exclude=exclude)
    try:
        with transaction.atomic():
            if fields is None:
                row.save(force_insert=True)
            else:
                row.save(update_fields=fields)
    except IntegrityError:
        checked(row, exclude=exclude)  # the row that was in the way can be seen by now
        raise
    return row


def clean_note(text: str, *, field: str = "reason", limit: int = 2000) -> str:
    """A reason or note cut to what its column holds. Raises `Invalid` for characters that no database can hold."""
    try:
        return clean_text(text, what=field, allow_empty=True)[:limit]
    except TextFault as fault:
        raise Invalid(str(fault), field=field) from fault


def _refuse_unstorable(row: models.Model) -> None:
    for column in row._meta.concrete_fields:
        value = getattr(row, column.attname)
        if isinstance(value, str):
            clean_note(value, field=column.name)
