"""The gate between a tenant and its parent: whose answer is lost has a say."""

from typing import Any

import pytest

from personas.domain.errors import NotPermitted
from personas.domain.rights import Role
from personas.domain.settings import PersonaSettings
from personas.models import AgentPersona
from personas.resolve import resolve_for_tenant
from personas.services import accounts, personas
from tests.factory import World, make_person, make_tenant, superuser


def fresh(persona: AgentPersona) -> AgentPersona:
    return AgentPersona.objects.select_related("live_revision").get(pk=persona.pk)


class Family:
    """A parent and a child tenant: a reviewer of each alone, and one of both."""

    def __init__(self, world: World) -> None:
        self.world, self.child = world, make_tenant("acme-support", parent=world.tenant)
        self.service = accounts.create_service_account(self.child, "svc-child", name="", actor=superuser())
        self.below = make_person("below", tenant=self.child, roles=(Role.REVIEWER,))
        self.both = make_person("both", tenant=self.child, roles=(Role.REVIEWER,))
        accounts.grant_role(world.tenant, self.both.account, Role.REVIEWER, actor=superuser())

    def draft(self, **changes: Any) -> AgentPersona:
        settings = PersonaSettings(name="Branch", run_as=str(self.service.pk), **changes)
        return personas.create_persona(
            self.child, self.world.support, instructions="Child.", settings=settings, actor=self.below
        )

    def told(self, context: tuple[str, str] = ("", "")) -> str:
        return resolve_for_tenant(self.child, "Support", context).instructions


def test_displacing_the_parents_persona_needs_the_right_there_too(world: World) -> None:
    world.persona(text="Parent.")
    family = Family(world)
    branch = family.draft()
    for lacking in (family.below, world.reviewer):
        with pytest.raises(NotPermitted):
            personas.enable_persona(branch, actor=lacking)
    assert family.told() == "Parent."
    personas.enable_persona(branch, actor=family.both)
    assert family.told() == "Child."
    with pytest.raises(NotPermitted, match="“Desk” of Acme"):  # for then it takes its place
        personas.disable_persona(branch, actor=family.below)
    personas.revise_persona(branch, actor=family.below, instructions="Child again.")
    assert family.told() == "Child again."


def test_where_nobody_is_displaced_the_own_right_is_enough(world: World) -> None:
    world.persona(text="Parent.", context_type="site", context_id="1")
    family = Family(world)
    branch = family.draft(context_type="site", context_id="2")
    personas.enable_persona(branch, actor=family.below)
    assert family.told(("site", "2")) == "Child."
    with pytest.raises(NotPermitted):
        personas.revise_persona(branch, actor=family.below, settings=fresh(branch).settings.change(context_id="1"))
    assert family.told(("site", "1")) == "Parent."
