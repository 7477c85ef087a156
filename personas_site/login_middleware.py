"""Keeps who has a second factor, or must have one, from everything else until a code was given."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from personas.services.second_factor import has_second_factor
from personas_site import errors
from personas_site.htmx import wants_part
from personas_site.login_limits import person_of
from personas_site.login_proof import owes_second_factor

Handler = Callable[[HttpRequest], HttpResponse]


class SecondFactorMiddleware:
    """Leads who owes a second factor to the page that asks for it or sets it up.

    Pages that need no log-in are closed too: a session without a code is worth less than none.

    The API knows tokens alone and is left out.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        is_open = getattr(view, "open_without_second_factor", False)
        if is_open or request.path_info.startswith("/api/") or not request.user.is_authenticated:
            return None
        if not owes_second_factor(request):
            return None
        page = reverse("login_code" if has_second_factor(person_of(request)) else "two_factor")
        if request.method == "POST":
            what = f"This session gave no code yet, so this was not done. Go to {page} first, then send it again."
            return errors.page(request, 403, "A code is needed first", what)
        if wants_part(request):
            response = HttpResponse(status=403)
            response["HX-Redirect"] = page
            return response
        return redirect(f"{page}?{urlencode({'next': request.get_full_path()})}")
