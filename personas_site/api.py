"""The HTTP API: everything under ``/api/``."""

from functools import cache
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, URLResolver, path, re_path
from ninja import NinjaAPI

from learning.api import router as proposals
from personas.api import router as personas
from personas.api_support.bearer import BearerToken
from personas.api_support.described import Renderer, openapi_document
from personas.api_support.problems import answer_with_problems, api_view, unknown_path

api = NinjaAPI(
    title="Personas",
    version="1.0.0",
    description="What agents are told, and who may change it.",
    auth=BearerToken(),
    renderer=Renderer(),
    docs_url=None,  # that page would load scripts from another host
    openapi_url=None,  # our own route below adds the problem document
    urls_namespace="api",
)
answer_with_problems(api)
api.add_router("", personas)
api.add_router("", proposals)


@cache
def _document() -> dict[str, Any]:
    return openapi_document(api)


@api.get("/openapi.json", auth=None, include_in_schema=False)
def openapi(request: HttpRequest) -> JsonResponse:
    """This description; it is public."""
    return JsonResponse(_document())


def _wrapped(pattern: URLPattern | URLResolver) -> URLPattern:
    assert isinstance(pattern, URLPattern)
    pattern.callback = api_view(pattern.callback)
    return pattern


_routes, _app, _namespace = api.urls
unknown = api_view(unknown_path)
urlpatterns = [
    path("v1/", unknown),  # ninja's own root is kept for its name, but answers with a page
    path("v1/", ([_wrapped(route) for route in _routes], _app, _namespace)),
    re_path("", unknown),
]
