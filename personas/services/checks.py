"""Django's own validation, said in our words."""

from collections.abc import Iterable

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models

from personas.domain.errors import Invalid


def checked[M: models.Model](row: M, *, exclude: Iterable[str] = ()) -> M:
    """The row, if its fields and constraints hold. Raises `Invalid` with the first fault, naming its field."""
    try:
        row.full_clean(exclude=set(exclude))
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Invalid(messages[0], field=None if field == NON_FIELD_ERRORS else field) from error
    return row
