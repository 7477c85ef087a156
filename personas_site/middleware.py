"""What every request passes through: an id, the log-in, and answers htmx understands."""

import re
import uuid
from collections.abc import Callable
from typing import Any

from django.contrib.auth import middleware as auth
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.utils.http import urlencode

from personas_site.logs import current_id

Handler = Callable[[HttpRequest], HttpResponse]

ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIdMiddleware:
    """Takes the caller's ``X-Request-ID`` if it is a plain word, else makes one, and echoes it."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        ident = given if ACCEPTABLE_ID.fullmatch(given) else uuid.uuid4().hex
        request.request_id = ident  # type: ignore[attr-defined]
        token = current_id.set(ident)
        try:
            response = self.get_response(request)
        finally:
            current_id.reset(token)
        response["X-Request-ID"] = ident
        return response


class LoginRequiredMiddleware(auth.LoginRequiredMiddleware):
    """Pages need a log-in unless they say otherwise; the API asks for a token instead."""

    def process_view(self, request: HttpRequest, view_func: Any, view_args: Any, view_kwargs: Any) -> Any:
        if request.path_info.startswith("/api/"):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)


class HtmxLoginMiddleware:
    """Sends the whole page to the log-in when a session ended, instead of a log-in form inside a part of it."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        htmx = getattr(request, "htmx", None)
        login = resolve_url("login")
        if htmx and response.status_code == 302 and response["Location"].startswith(login):
            page = htmx.current_url_abs_path or "/"
            response = HttpResponse(status=401)
            response["HX-Redirect"] = f"{login}?{urlencode({'next': page})}"
        return response
