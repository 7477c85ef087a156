"""A small world to test in: a superuser, tenants, people with roles, an agent class, personas."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from personas.actors import Actor
from personas.domain.rights import Role
from personas.domain.settings import PersonaSettings
from personas.models import AgentClass, AgentPersona, Tenant, User
from personas.services import accounts, agents, bindings, personas, tenants

number = count(1)
PASSWORD = "correct horse battery staple"
MANIFEST: dict[str, Any] = {
    "instructions": "Answer briefly.",
    "tools": ["kb.search", "ticket.comment"],
    "catalogue": [{"id": "kb.search", "title": "Search", "description": "Search the knowledge base"}],
    "permissions": {"tool:kb.search": True, "tool:ticket.comment": True, "tool:ticket.close": False},
}


def superuser() -> Actor:
    """The one superuser of a test."""
    user = User.objects.filter(username="root").first()
    return Actor(user or User.objects.create_superuser("root", PASSWORD, email="", name="Root"))


def make_tenant(slug: str = "", *, parent: Tenant | None = None, **rules: Any) -> Tenant:
    slug = slug or f"tenant-{next(number)}"
    return tenants.create_tenant(slug, name=slug.title(), parent=parent, actor=superuser(), **rules)


def make_person(username: str, *, tenant: Tenant | None = None, roles: tuple[Role, ...] = ()) -> Actor:
    user = accounts.create_person(
        username, name=username.title(), email=f"{username}@example.test", password=PASSWORD, actor=superuser()
    )
    for role in roles:
        assert tenant is not None
        accounts.grant_role(tenant, user, role, actor=superuser())
    return Actor(user)


def make_class(name: str = "Support", **manifest: Any) -> AgentClass:
    return agents.define_agent_class(
        f"@acme/agents:{name}", display_name=name, manifest={**MANIFEST, **manifest}, actor=superuser()
    )


@dataclass
class World:
    """One tenant with the cast of the access tests, and an outsider with every role in another tenant."""

    tenant: Tenant = field(init=False)
    other: Tenant = field(init=False)
    support: AgentClass = field(init=False)
    service: User = field(init=False)
    cast: dict[str, Actor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tenant, self.other = make_tenant("acme"), make_tenant("globex")
        self.support = make_class()
        for tenant in (self.tenant, self.other):
            bindings.enable_agent(tenant, self.support, actor=superuser())
        self.service = accounts.create_service_account(self.tenant, "svc-acme", name="Acme runtime", actor=superuser())
        for role in Role:
            self.cast[role.value] = make_person(role.value, tenant=self.tenant, roles=(role,))
        self.cast["second"] = make_person("second", tenant=self.tenant, roles=(Role.REVIEWER,))
        self.cast["outsider"] = make_person("outsider", tenant=self.other, roles=tuple(Role))
        self.cast["root"] = superuser()

    def __getattr__(self, name: str) -> Actor:
        try:
            return self.__dict__["cast"][name]
        except KeyError:
            raise AttributeError(name) from None

    def settings(self, name: str = "Desk", **changes: Any) -> PersonaSettings:
        return PersonaSettings(name=name, run_as=str(self.service.pk), **changes)

    def persona(
        self,
        name: str = "Desk",
        text: str = "You help people.\nBe kind.",
        *,
        enable: bool = True,
        **changes: Any,
    ) -> AgentPersona:
        return personas.create_persona(
            self.tenant,
            self.support,
            instructions=text,
            settings=self.settings(name, **changes),
            actor=self.cast["reviewer"],
            enable=enable,
        )
