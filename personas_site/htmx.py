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
    part = wants_part(request)
    name = f"{template}#{partial}" if part else template
    response = TemplateResponse(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    if part:  # else the browser's back button may find the part under the address of the page
        response["Cache-Control"] = "no-store"
    return response


def see_other(request: HttpRequest, url: str) -> HttpResponse:
    """After something was done: a redirect, which htmx follows with the whole page."""
    if wants_part(request):
        response = HttpResponse(status=204)
        response["HX-Redirect"] = url
        return response
    return HttpResponseRedirect(url)


def render_part(request: HttpRequest, template: str, context: dict[str, Any], *, partial: str) -> HttpResponse:
    """The named part alone, for addresses that only ever answer with a part."""
    return TemplateResponse(request, f"{template}#{partial}", context)
