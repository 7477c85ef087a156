"""A caller of the HTTP API, for the tests."""

from typing import Any

from django.http import HttpResponse
from django.test import Client

from personas.actors import Actor
from personas.models import APIToken, Tenant
from personas.services.tokens import create_token

ROOT = "/api/v1"


def token_for(actor: Actor, tenant: Tenant, *, may_review: bool = True) -> tuple[APIToken, str]:
    """A token as the operator makes it, and its secret."""
    return create_token(tenant, actor.account, name="test", may_review=may_review, actor=None)


class Caller:
    """Sends requests with a bearer secret, or with none."""

    def __init__(self, secret: str | None = None) -> None:
        self.headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        self.client = Client(raise_request_exception=False)

    @classmethod
    def of(cls, actor: Actor, tenant: Tenant, *, may_review: bool = True) -> "Caller":
        return cls(token_for(actor, tenant, may_review=may_review)[1])

    def get(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> HttpResponse:
        return self.client.get(ROOT + path, query, headers={**self.headers, **(headers or {})})

    def post(self, path: str, body: Any = None, headers: dict[str, str] | None = None) -> HttpResponse:
        return self.client.post(
            ROOT + path, body or {}, content_type="application/json", headers={**self.headers, **(headers or {})}
        )

    def request(self, method: str, path: str) -> HttpResponse:
        return self.client.generic(method, ROOT + path, headers=self.headers)


def code_of(response: Any) -> str:
    """The code of a problem; fails when the answer is none."""
    assert response["Content-Type"] == "application/problem+json", response.content
    document = response.json()
    assert document["type"] == "about:blank" and document["status"] == response.status_code
    assert document["title"] and document["detail"]
    return str(document["code"])
