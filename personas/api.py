"""The API about agents and personas: what runtimes ask, and what can be looked up."""

import hashlib
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.http import parse_etags
from ninja import Router
from pydantic_core import to_json

from personas.actors import Actor
from personas.api_support.bearer import TokenRequest, digest_of, failure, note_use
from personas.api_support.described import READ, described
from personas.api_support.pages import ListQuestion, cut_page, read_question
from personas.api_support.problems import not_found
from personas.availability import agents_on_path, bound_agents
from personas.models import AgentPersona, Tenant
from personas.resolve import resolve_for_token
from personas.schemas import (
    AgentOut,
    AgentPage,
    PersonaOut,
    PersonaPage,
    PersonasQuestion,
    ResolvedOut,
    ResolveQuestion,
    RevisionOut,
    RevisionPage,
)
from personas.services.agents import find_agent_class

router = Router(tags=["Personas"])

AGENTS_ORDER = ("canonical",)
PERSONAS_ORDER = ("name_key", "pk")
REVISIONS_ORDER = ("-number", "-pk")

RESOLVE = described(READ, ResolveQuestion, on_404="`not_found`, or `unknown_agent_class` with `suggestions`.")
RESOLVE["openapi_extra"]["security"] = [{"BearerToken": []}]
RESOLVE["openapi_extra"]["responses"][304] = {"description": "The answer still has the ETag of If-None-Match."}


@router.get("/resolve", auth=None, response=ResolvedOut, summary="What an agent is told", **RESOLVE)
def resolve(request: HttpRequest) -> HttpResponse:
    """Which persona answers in a context, with its text, tools and principal."""
    # The hot path: one statement checks the token too, and the answer is no model that would be validated again.
    digest = digest_of(request)
    question = read_question(ResolveQuestion, request)
    use = resolve_for_token(digest, question.agent_class, question.context)
    if use is None:
        raise failure(request, digest)
    note_use(use.token_id, use.last_used_at, timezone.now())
    if use.answer is None or question.tenant not in (None, use.answer.tenant):
        raise not_found()
    body = to_json(use.answer)
    etag = f'"{hashlib.sha256(body).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": "private"}
    if _knows(request.headers.get("If-None-Match", ""), etag):
        return HttpResponse(status=304, headers=headers)
    return HttpResponse(body, content_type="application/json", headers=headers)


def _knows(if_none_match: str, etag: str) -> bool:
    known = parse_etags(if_none_match)
    return known == ["*"] or etag in (tag.removeprefix("W/") for tag in known)


@router.get("/agents", response=AgentPage, summary="The tenant's agents", **described(READ, ListQuestion))
def list_agents(request: TokenRequest) -> AgentPage:
    """Every agent class that the tenant or one of its ancestors has decided about, by canonical name."""
    question = read_question(ListQuestion, request)
    tenant = _tenant(request.auth)
    classes, following = cut_page(agents_on_path(tenant), AGENTS_ORDER, question)
    return AgentPage(items=[AgentOut.of(agent) for agent in bound_agents(tenant, classes)], next=following)


@router.get("/personas", response=PersonaPage, summary="The tenant's personas", **described(READ, PersonasQuestion))
def list_personas(request: TokenRequest) -> PersonaPage:
    """The personas of the token's tenant, by name. None of an ancestor, though some of those may answer here."""
    question = read_question(PersonasQuestion, request)
    rows = AgentPersona.objects.permitted(request.auth)
    rows = rows.exclude(archived_at=None) if question.archived else rows.current()
    if question.enabled is not None:
        rows = rows.filter(enabled=question.enabled)
    if question.agent_class is not None:
        rows = rows.filter(agent_class=find_agent_class(question.agent_class))
    rows = rows.select_related("agent_class", "live_revision", "run_as")
    found, following = cut_page(rows, PERSONAS_ORDER, question)
    return PersonaPage(items=[PersonaOut.of(persona) for persona in found], next=following)


@router.get("/personas/{uuid:persona_id}", response=PersonaOut, summary="One persona", **described(READ))
def get_persona(request: TokenRequest, persona_id: UUID) -> PersonaOut:
    return PersonaOut.of(find_persona(request.auth, persona_id))


@router.get(
    "/personas/{uuid:persona_id}/revisions",
    response=RevisionPage,
    summary="The revisions of a persona",
    **described(READ, ListQuestion),
)
def list_revisions(request: TokenRequest, persona_id: UUID) -> RevisionPage:
    """Every numbered state of a persona, newest first; one of them is live."""
    question = read_question(ListQuestion, request)
    persona = find_persona(request.auth, persona_id)
    found, following = cut_page(persona.revisions.all(), REVISIONS_ORDER, question)
    return RevisionPage(items=[RevisionOut.of(revision, persona) for revision in found], next=following)


def find_persona(actor: Actor, persona_id: UUID) -> AgentPersona:
    """A persona that the actor may see. Raises a 404 `Problem`."""
    rows = AgentPersona.objects.permitted(actor).select_related("agent_class", "live_revision", "run_as")
    persona: AgentPersona | None = rows.filter(pk=persona_id).first()
    if persona is None:
        raise not_found()
    return persona


def _tenant(actor: Actor) -> Tenant:
    tenant: Tenant | None = Tenant.objects.permitted(actor).first()  # of a token, one at most
    if tenant is None:
        raise not_found()
    return tenant
