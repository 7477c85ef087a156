"""One function decides between a page and a part of it."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.cache import patch_vary_headers


def wants_part(request: HttpRequest) -> bool:
    """Whether htmx asks for a part: not for a boosted link, and not when it restores its history."""
    htmx = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, partial: str, status: int = 200
) -> HttpResponse:
    """The named part of the template for htmx, the whole page otherwise."""
    if wants_part(request):
        template += f"#{partial}"
    response = TemplateResponse(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def see_other(request: HttpRequest, url: str) -> HttpResponse:
    """After something was done: a redirect, which htmx follows with the whole page."""
    if wants_part(request):
        response = HttpResponse(status=204)
        response["HX-Redirect"] = url
        return response
    return HttpResponseRedirect(url)
