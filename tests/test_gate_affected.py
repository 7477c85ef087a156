"""Who loses or takes an answer: the gate's shortcuts leave nobody out."""

from random import Random
from typing import Any

import pytest

from personas.domain.resolution import Candidate, displaced
from personas.domain.rights import Role
from personas.models import AgentPersona, TenantAncestor
from personas.services import accounts, personas
from personas.services.activation import _others_affected
from tests.factory import World, make_tenant, superuser

CONTEXTS = [("", ""), ("site", ""), ("site", "42"), ("site", "57"), ("channel", ""), ("channel", "42")]


def brute_force(persona: AgentPersona, settings: Any, enabled: bool) -> set[Any]:
    """The same answer from all personas at once."""
    paths: dict[Any, list[Any]] = {}
    for row in TenantAncestor.objects.order_by("tenant", "distance"):
        paths.setdefault(row.tenant_id, []).append(row.ancestor_id)
    below = [path for path in paths.values() if persona.tenant_id in path]
    rest = [
        Candidate(p.pk, p.tenant_id, p.name, (p.context_type, p.context_id), p.priority, p.enabled)
        for p in AgentPersona.objects.exclude(pk=persona.pk)
    ]
    own = persona.pk, persona.tenant_id
    old = Candidate(*own, persona.name, (persona.context_type, persona.context_id), persona.priority, persona.enabled)
    new = Candidate(*own, settings.name, (settings.context_type, settings.context_id), settings.priority, enabled)
    pairs = displaced([*rest, old], [*rest, new], below)
    return {pk for pair in pairs for pk in pair} - {None, persona.pk}


@pytest.mark.parametrize("seed", range(4))
def test_the_shortcuts_find_everyone_that_a_full_search_finds(world: World, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - no secret
    child = make_tenant("acme-child", parent=world.tenant)
    grandchild = make_tenant("acme-grandchild", parent=child)
    tenants = [world.tenant, child, grandchild]
    services = [world.service]
    for tenant in tenants[1:]:
        services.append(accounts.create_service_account(tenant, f"svc-{tenant.slug}", name="", actor=superuser()))
        accounts.grant_role(tenant, world.reviewer.account, Role.REVIEWER, actor=superuser())
    rows = []
    for number in range(14):
        index = random.randrange(3)
        kind, ident = random.choice(CONTEXTS)
        settings = world.settings(
            random.choice("abAB") + str(number), context_type=kind, context_id=ident, priority=random.randrange(2)
        ).change(run_as=str(services[index].pk))
        rows.append(
            personas.create_persona(
                tenants[index],
                world.support,
                instructions="Text.",
                settings=settings,
                actor=world.reviewer,
                enable=random.random() < 0.7,
            )
        )
    found = 0
    for persona in rows:
        for kind, ident in CONTEXTS:
            wanted = persona.settings.change(
                context_type=kind, context_id=ident, priority=random.randrange(3), name=random.choice("cC") + "x"
            )
            for enabled in (True, False):
                if not (enabled or persona.enabled):
                    continue
                answer = _others_affected(persona, wanted, enabled)
                assert answer == brute_force(persona, wanted, enabled)
                found += len(answer)
    assert found > 20
