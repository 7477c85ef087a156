"""Lists: ``{items, next}``, totally ordered, one page at a time by an opaque cursor."""

from collections.abc import Sequence
from typing import Annotated, Any

from django.core.signing import BadSignature, Signer
from django.db.models import Field as Column
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic import ValidationError as InputError

from personas.api_support.problems import invalid, invalid_input

NO_NUL = r"^[^\x00]*$"
Line = Annotated[str, StringConstraints(max_length=200, pattern=NO_NUL)]


class Question(BaseModel):
    """The parameters of a GET. One that is unknown is refused, lest it be thought to count."""

    model_config = ConfigDict(extra="forbid")

    tenant: Line | None = Field(None, description="The token's tenant, by its slug; any other is not found.")


class ListQuestion(Question):
    cursor: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        None, description="The `next` of the page before."
    )
    limit: int = Field(50, ge=1, le=200, description="Items on a page.")


def read_question[Q: BaseModel](model: type[Q], request: HttpRequest) -> Q:
    """The query string as a checked model. Raises a 422 `Problem` naming each fault."""
    try:
        return model.model_validate(request.GET.dict())
    except InputError as error:
        raise invalid_input(error.errors(include_url=False)) from error


def cut_page(rows: QuerySet[Any, Any], order: Sequence[str], question: ListQuestion) -> tuple[list[Any], str | None]:
    """One page of rows and the cursor of the next, None on the last.

    Parameters: ``order`` of not null columns that is total and goes one way, all with ``-`` or none.
    Raises a 422 `Problem` for a cursor that this list did not give.
    """
    rows = rows.order_by(*order)
    signer = Signer(salt=f"cursor of {rows.model._meta.label} by {' '.join(order)}")
    if question.cursor is not None:
        rows = rows.filter(_after(rows.model, order, _read(signer, question.cursor)))
    found = list(rows[: question.limit + 1])
    if len(found) <= question.limit:
        return found, None
    last = found[question.limit - 1]
    values = [_column(rows.model, name).value_to_string(last) for name in order]
    return found[: question.limit], signer.sign_object(values)


def _read(signer: Signer, cursor: str) -> list[str]:
    try:
        values: list[str] = signer.unsign_object(cursor)
    except BadSignature as error:
        raise invalid("cursor", "This is no cursor of this list: start without one.") from error
    return values


def _column(model: type[Model], name: str) -> "Column[Any, Any]":
    name = name.removeprefix("-")
    return model._meta.pk if name == "pk" else model._meta.get_field(name)  # type: ignore[return-value]


def _after(model: type[Model], order: Sequence[str], values: Sequence[str]) -> Q:
    """Rows behind the given one. The first column is bounded by itself too, so that an index can be entered there."""
    name, beyond = order[0].removeprefix("-"), "lt" if order[0].startswith("-") else "gt"
    value = _column(model, name).to_python(values[0])
    behind = Q(**{f"{name}__{beyond}": value})
    if len(order) == 1:
        return behind
    return Q(**{f"{name}__{beyond}e": value}) & (behind | _after(model, order[1:], values[1:]))
