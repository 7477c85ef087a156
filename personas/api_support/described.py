"""How operations describe themselves in the OpenAPI document."""

from typing import Any

from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.renderers import BaseRenderer
from pydantic import BaseModel
from pydantic_core import to_json

from personas.api_support.pages import Question
from personas.api_support.problems import CONTENT_TYPE

REFUSALS = {
    400: "The body is not JSON, or the request cannot be read: `malformed_json`, `bad_request`.",
    401: "No valid token: `unauthenticated`.",
    403: "The token may see this, but not do it: `not_permitted`.",
    404: "Nothing that this token may see: `not_found`.",
    405: "The path does not know this method; `Allow` names those it knows: `method_not_allowed`.",
    409: "The state of things does not allow it now.",
    413: "The body is too large: `too_large`.",
    422: "The input is wrong; `errors` names each fault: `invalid`.",
    429: "Too many calls from this address with a token that is not valid; `Retry-After`: `too_many_failures`.",
    500: "The server failed: `internal_error`, with the `request_id` that its log has.",
}
READ = (400, 401, 404, 405, 422, 429, 500)
WRITE = (400, 401, 403, 404, 405, 409, 413, 422, 429, 500)


class Fault(BaseModel):
    field: str
    message: str


class ProblemDocument(BaseModel):
    """RFC 9457. Programs go by `code`, people by `detail`."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    errors: list[Fault] | None = None
    suggestions: list[str] | None = None
    request_id: str | None = None


class Renderer(BaseRenderer):
    """JSON as pydantic writes it, so that stored and fresh answers look alike."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return to_json(data)


def described(
    refusals: tuple[int, ...], question: type[BaseModel] = Question, *, keyed: bool = False, **codes: str
) -> dict[str, Any]:
    """Keyword ``openapi_extra`` of an operation.

    Parameters: ``refusals`` statuses; ``question`` the model of its query string; ``keyed`` if it takes an
    Idempotency-Key; ``codes`` sentences for single statuses, as ``on_409="..."``.
    """
    parameters = _parameters(question)
    if keyed:
        schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[\\x21-\\x7e]+$"}
        about = "Repeating the call with the same key and body within 24 hours gives the first answer again."
        parameters.append(
            {"in": "header", "name": "Idempotency-Key", "required": False, "schema": schema, "description": about}
        )
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    answers = {
        status: {"description": codes.get(f"on_{status}", REFUSALS[status]), "content": content} for status in refusals
    }
    return {"openapi_extra": {"parameters": parameters, "responses": answers}}


def _parameters(question: type[BaseModel]) -> list[dict[str, Any]]:
    schema = question.model_json_schema()
    required = schema.get("required", [])
    return [
        {
            "in": "query",
            "name": name,
            "required": name in required,
            "schema": {key: value for key, value in details.items() if key not in ("title", "description")},
            "description": details.get("description", ""),
        }
        for name, details in schema["properties"].items()
    ]


def openapi_document(api: NinjaAPI) -> dict[str, Any]:
    """The whole description, with the problem document that all refusals share."""
    document = dict(api.get_openapi_schema())
    models: tuple[type[BaseModel], ...] = (ProblemDocument, Fault)
    document["components"]["schemas"] |= {
        model.__name__: model.model_json_schema(ref_template="#/components/schemas/{model}") for model in models
    }
    document["components"]["schemas"]["ProblemDocument"].pop("$defs", None)
    return document
