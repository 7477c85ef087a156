"""What every request passes through: an id, the log-in, and answers htmx understands."""

import re
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import middleware as auth
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.template.response import TemplateResponse
from django.utils.http import urlencode

from personas.domain.errors import Conflict, NotPermitted, Refused
from personas.http import actor_of
from personas.refusals import record_refusal
from personas_site import errors
from personas_site.logs import current_id

Handler = Callable[[HttpRequest], HttpResponse]

ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class PermissionsPolicyMiddleware:
    """No page here needs a camera, a place or a payment, so none may ask, whatever got into it."""

    NOTHING = "accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()"

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response["Permissions-Policy"] = self.NOTHING
        return response


class RequestIdMiddleware:
    """Takes the caller's ``X-Request-ID`` if it is a plain word, else makes one, and echoes it."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        ident = given if ACCEPTABLE_ID.fullmatch(given) else uuid.uuid4().hex
        request.request_id = ident  # type: ignore[attr-defined]
        current_id.set(ident)  # not taken back: Django logs the answer after the last middleware, in this context
        response = self.get_response(request)
        response["X-Request-ID"] = ident
        return response


class BodyLimitMiddleware:
    """Refuses a body that says it is too long, before anything reads it. The API says so in its own words."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        too_long = not length.isdecimal() or int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if too_long and not request.path_info.startswith("/api/"):
            return errors.bad_request(request, RequestDataTooBig())
        return self.get_response(request)


class LoginRequiredMiddleware(auth.LoginRequiredMiddleware):
    """Pages need a log-in unless they say otherwise; the API asks for a token instead."""

    def process_view(self, request: HttpRequest, view_func: Any, view_args: Any, view_kwargs: Any) -> Any:
        if request.path_info.startswith("/api/"):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> Any:
        """A form that arrives after the session ended is shown back; htmx keeps its page, or leaves it whole."""
        if request.method == "POST":
            return errors.page(
                request,
                401,
                "You are logged out",
                "The session ended before this was sent. Copy what you wrote, log in and send it again.",
            )
        htmx = getattr(request, "htmx", None)
        if htmx and not htmx.boosted:
            response = HttpResponse(status=401)
            page = urlencode({"next": htmx.current_url_abs_path or "/"})
            response["HX-Redirect"] = f"{resolve_url('login')}?{page}"
            return response
        return super().handle_no_permission(request, view_func)


class RefusalMiddleware:
    """A rule that refuses outside a form answers with a page: 403, 409 or 422. What was not permitted is audited."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "%00" in request.META.get("QUERY_STRING", "") and not request.path_info.startswith("/api/"):
            return errors.page(request, 400, "Not an address", "The address holds a character that no text can have.")
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, NotPermitted):
            _keep(request, exception)
            return errors.page(request, 403, "Not permitted", exception.message)
        if isinstance(exception, Conflict):
            return errors.page(request, 409, "Not now", exception.message)
        if isinstance(exception, Refused):
            return errors.page(request, 422, "That does not work", exception.message)
        return None

    def process_template_response(self, request: HttpRequest, response: TemplateResponse) -> TemplateResponse:
        """A view that shows a refusal beside its form has it in the context as ``fault``."""
        fault = (response.context_data or {}).get("fault")
        if response.status_code == 403 and isinstance(fault, NotPermitted):
            _keep(request, fault)
        return response


def _keep(request: HttpRequest, refused: NotPermitted) -> None:
    if request.user.is_authenticated:
        record_refusal(request, refused, actor=actor_of(request))
