"""What the API takes and gives about personas."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from django.db.models import TextChoices
from pydantic import BaseModel, Field, StringConstraints

from personas.api_support.pages import NO_NUL, Line, ListQuestion, Question
from personas.availability import BoundAgent
from personas.domain.errors import Invalid
from personas.domain.resolution import Context, subscriber
from personas.models import AgentPersona, PersonaRevision, TenantAgent


def values_of(choices: type[TextChoices]) -> Any:
    """For the description of a member that has one of these values."""
    return Field(json_schema_extra={"enum": list(choices.values)})


AgentClassName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_NUL)]


class ResolveQuestion(Question):
    agent_class: AgentClassName = Field(description="The canonical or the short name.")
    context_type: Line = Field("", description="The kind of place the agent works in, as `site`.")
    context_id: Line = Field("", description="Which one of that kind; needs a type.")

    @property
    def context(self) -> Context:
        """Type and id. Raises `Invalid` for an id without a type."""
        if self.context_id and not self.context_type:
            raise Invalid("A context id needs a context type.", field="context_type")
        return self.context_type, self.context_id


class ResolvedOut(BaseModel):
    """What an agent is told and may use, for a tenant and a context."""

    tenant: str
    agent_class: str
    manifest_version: int | None
    persona_id: UUID | None = Field(description="Null for the manifest's default.")
    name: str
    instructions: str
    revision: int | None
    allowed_tools: list[str]
    run_as: str | None
    acts_as: str | None
    memory_scope: str
    priority: int
    context_type: str | None
    context_id: str | None
    source: Literal["persona", "default"]
    persona_source: Literal["explicit", "inherited"] | None
    source_tenant: str | None
    available: bool
    instance_key: UUID | None
    dispatch_subscriber: str
    profile_sha256: str | None


class AgentOut(BaseModel):
    canonical: str
    short: str
    display_name: str
    status: Annotated[str, values_of(TenantAgent.Status)]
    source: Literal["explicit", "inherited"]
    source_tenant: str = Field(description="Whose binding decides: the nearest one on the tenant's path.")
    permissions: dict[str, bool]
    tool_ceiling: list[str] | None = Field(description="The tools it may use at most; null leaves them open.")
    available: bool

    @classmethod
    def of(cls, agent: BoundAgent) -> Self:
        ceiling = agent.availability.ceiling
        return cls(
            canonical=agent.agent_class.canonical,
            short=agent.agent_class.short,
            display_name=agent.agent_class.display_name,
            status=agent.binding.status,
            source="inherited" if agent.inherited else "explicit",
            source_tenant=agent.binding.tenant.slug,
            permissions=dict(agent.availability.permissions),
            tool_ceiling=None if ceiling is None else sorted(ceiling),
            available=agent.availability.available,
        )


class AgentPage(BaseModel):
    items: list[AgentOut]
    next: str | None


class PersonasQuestion(ListQuestion):
    agent_class: AgentClassName | None = Field(None, description="The canonical or the short name.")
    enabled: bool | None = None
    archived: bool = Field(False, description="Archived personas instead of the current ones.")


class PersonaOut(BaseModel):
    id: UUID
    name: str
    description: str
    agent_class: str
    context_type: str | None
    context_id: str | None
    priority: int
    enabled: bool
    archived: bool
    instructions: str
    revision: int | None
    allowed_tools: list[str] | None = Field(description="Null means those of the manifest.")
    run_as: str
    instance_key: UUID | None
    dispatch_subscriber: str

    @classmethod
    def of(cls, persona: AgentPersona) -> Self:
        live = persona.live_revision
        key, address = subscriber(persona.agent_class.canonical, str(persona.pk), persona.name)
        return cls(
            id=persona.pk,
            name=persona.name,
            description=persona.description,
            agent_class=persona.agent_class.canonical,
            context_type=persona.context_type or None,
            context_id=persona.context_id or None,
            priority=persona.priority,
            enabled=persona.enabled,
            archived=persona.archived_at is not None,
            instructions=live.instructions if live else "",
            revision=live.number if live else None,
            allowed_tools=live.settings.get("allowed_tools") if live else None,
            run_as=persona.run_as.username,
            instance_key=UUID(key) if key else None,
            dispatch_subscriber=address,
        )


class PersonaPage(BaseModel):
    items: list[PersonaOut]
    next: str | None


class RevisionOut(BaseModel):
    number: int
    instructions: str
    settings: dict[str, Any]
    sha256: str = Field(description="Over the instructions and the settings.")
    text_sha256: str = Field(description="Over the instructions alone.")
    author: str
    origin: Annotated[str, values_of(PersonaRevision.Origin)]
    note: str
    created_at: datetime
    live: bool

    @classmethod
    def of(cls, revision: PersonaRevision, persona: AgentPersona) -> Self:
        return cls(
            number=revision.number,
            instructions=revision.instructions,
            settings=revision.settings,
            sha256=revision.sha256,
            text_sha256=revision.text_sha256,
            author=revision.author_name,
            origin=revision.origin,
            note=revision.note,
            created_at=revision.created_at,
            live=revision.pk == persona.live_revision_id,
        )


class RevisionPage(BaseModel):
    items: list[RevisionOut]
    next: str | None
