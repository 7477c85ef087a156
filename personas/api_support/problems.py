"""Refusals as problem documents (RFC 9457), each with a stable ``code``."""

import functools
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.cache import patch_vary_headers
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from personas.actors import Actor
from personas.domain.errors import NotPermitted, Refused, UnknownAgentClass
from personas.http import status_of
from personas.refusals import record_refusal

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
View = Callable[..., HttpResponse]


class Problem(Exception):
    """An answer that refuses.

    Parameters: ``status`` of HTTP; ``code`` for programs; ``detail`` for people; ``errors`` as ``(field, message)``;
    ``headers`` of the answer; ``more`` members of the document.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(code)
        self.status = status
        self.headers = headers
        self.document = {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "code": code,
            "detail": detail,
            **more,
        }
        faults = [{"field": field, "message": message} for field, message in errors]
        if faults:
            self.document["errors"] = faults

    def response(self) -> HttpResponse:
        """The answer itself."""
        return HttpResponse(
            json.dumps(self.document), status=self.status, content_type=CONTENT_TYPE, headers=self.headers
        )


def unauthenticated() -> Problem:
    """Without a token, and with one that is unknown, revoked, expired, or of an account that is not active."""
    return Problem(
        401,
        "unauthenticated",
        "Send a valid API token: Authorization: Bearer <token>.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def too_many_failures(seconds: int) -> Problem:
    """Too many tokens that are not valid came from one address within a minute. ``seconds`` until it may try anew."""
    return Problem(
        429,
        "too_many_failures",
        "Too many calls from this address came with a token that is not valid. A valid one is still answered.",
        headers={"Retry-After": str(seconds)},
    )


def not_found() -> Problem:
    """The same for what does not exist and for what the caller may not know to exist."""
    return Problem(404, "not_found", "There is nothing here that this token may see.")


def invalid(field: str, message: str) -> Problem:
    """One input is wrong."""
    return Problem(422, "invalid", message, errors=[(field, message)])


def invalid_input(faults: Iterable[Mapping[str, Any]], *, skip: int = 0) -> Problem:
    """What pydantic found. ``skip`` leading parts of each place are not the caller's names."""
    errors = [(".".join(map(str, fault["loc"][skip:])) or "body", fault["msg"]) for fault in faults]
    return Problem(422, "invalid", "; ".join(f"{field}: {message}" for field, message in errors), errors=errors)


def refusal(refused: Refused) -> Problem:
    """A refusal of the rules, said over HTTP."""
    status = status_of(refused)
    errors = [(refused.field, refused.message)] if refused.field and status == 422 else []
    more: dict[str, Any] = {"suggestions": refused.suggestions} if isinstance(refused, UnknownAgentClass) else {}
    return Problem(status, refused.code, refused.message, errors=errors, **more)


def too_large() -> Problem:
    """More than ``DATA_UPLOAD_MAX_MEMORY_SIZE`` bytes."""
    return Problem(413, "too_large", "The body is larger than this server reads.")


def bad_request() -> Problem:
    """What Django itself refuses to read."""
    return Problem(400, "bad_request", "This is not a request the server can read.")


def unexpected(request: HttpRequest, error: Exception) -> Problem:
    """A fault of ours: the log has the traceback, the caller the id to ask with."""
    ident = getattr(request, "request_id", "")
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    return Problem(500, "internal_error", "The server failed. Tell its operator the request id.", request_id=ident)


def problem_of(request: HttpRequest, error: Exception) -> Problem:
    """The problem that an exception stands for. What a token was not permitted to do is audited."""
    match error:
        case Problem():
            return error
        case NotPermitted():
            if isinstance(actor := getattr(request, "auth", None), Actor):
                record_refusal(request, error, actor=actor)
            return refusal(error)
        case Refused():
            return refusal(error)
        case ValidationError():  # ("body", name of the argument, field...)
            return invalid_input(error.errors, skip=2)
        case RequestDataTooBig():
            return too_large()
        case HttpError(status_code=400):
            return Problem(400, "malformed_json", "The body is not JSON in UTF-8.")
        case SuspiciousOperation() | BadRequest():
            return bad_request()
        case Http404():
            return not_found()
        case _:
            return unexpected(request, error)


def answer_with_problems(api: NinjaAPI) -> None:
    """Let an API answer every exception with a problem."""

    def answer(request: HttpRequest, error: Any) -> HttpResponse:
        return problem_of(request, error).response()

    for kind in (Exception, Http404, HttpError, ValidationError):
        api.add_exception_handler(kind, answer)


def api_view(view: View) -> View:
    """A view whose refusals are problems too where no operation runs, that answers HEAD, and that nobody caches."""

    @functools.wraps(view)
    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        method = request.method
        if method == "HEAD":
            request.method = "GET"  # the server drops the body
        try:
            response = view(request, *args, **kwargs)
        except Exception as error:
            response = problem_of(request, error).response()
        request.method = method
        if isinstance(response, HttpResponseNotAllowed):
            allowed = response["Allow"].replace("GET", "GET, HEAD")
            detail = f"Use {allowed} here."
            response = Problem(405, "method_not_allowed", detail, headers={"Allow": allowed}).response()
        response.headers.setdefault("Cache-Control", "no-store")
        patch_vary_headers(response, ["Authorization"])
        return response

    return run


def unknown_path(request: HttpRequest, **_: Any) -> HttpResponse:
    """Everything under ``/api/`` that no route answers."""
    return not_found().response()


unknown_path.csrf_exempt = True  # type: ignore[attr-defined]
