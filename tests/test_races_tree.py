"""More at once, on PostgreSQL with real threads: trees that grow while they move, starts side by side, last admins."""

import pytest

from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.domain.errors import Conflict, Invalid
from personas.domain.rights import Role
from personas.models import AgentClass, AgentPersona, ManifestVersion, Tenant, TenantAncestor
from personas.resolve import resolve_for_tenant
from personas.services import accounts, agents, bindings, tenants
from tests.factory import World, make_person, make_tenant, superuser
from tests.test_races import approve, at_once, fresh

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
Action = DirectiveProposal.Action


@pytest.fixture
def scene(transactional_db: None) -> World:
    return World()


@pytest.mark.parametrize("turn", range(5))
def test_a_child_made_while_its_parent_moves(scene: World, turn: int) -> None:
    parent, root = make_tenant("parent"), superuser()
    results = at_once(
        lambda: tenants.move_tenant(parent, to=scene.tenant, actor=root),
        lambda: tenants.create_tenant("child", name="Child", parent=parent, actor=root),
    )
    assert all(isinstance(result, Tenant) for result in results), results
    rows = TenantAncestor.objects.filter(tenant__slug="child").order_by("distance")
    assert list(rows.values_list("ancestor__slug", flat=True)) == ["child", "parent", "acme"]


@pytest.mark.parametrize("turn", range(5))
def test_two_starts_approved_side_by_side(scene: World, turn: int) -> None:
    """Each writes rows that name the tenant and then takes its path: neither may wait for the other's rows."""
    proposals = [
        propose(scene.persona(name, f"{name}.", enable=False), actor=scene.editor, action=Action.ENABLE)
        for name in ("Ann", "Bob")
    ]
    results = at_once(approve(fresh(proposals[0]), scene.reviewer), approve(fresh(proposals[1]), scene.second))
    assert all(isinstance(result, review.Outcome) for result in results), results
    assert AgentPersona.objects.filter(enabled=True).count() == 2
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).instructions == "Ann."


def test_manifests_are_numbered_without_gaps(scene: World) -> None:
    root = superuser()
    stale = AgentClass.objects.select_related("manifest").get(pk=scene.support.pk)
    at = [{"instructions": f"{number}."} for number in range(4)]
    results = at_once(*[lambda m=manifest: agents.publish_manifest(stale, m, actor=root) for manifest in at])
    assert all(isinstance(result, ManifestVersion) for result in results), results
    numbers = ManifestVersion.objects.filter(agent_class=stale).order_by("number").values_list("number", flat=True)
    assert list(numbers) == [1, 2, 3, 4, 5]


def test_of_two_last_admins_one_stays(scene: World) -> None:
    other = make_person("admin2", tenant=scene.tenant, roles=(Role.ADMIN,))
    results = at_once(
        lambda: accounts.revoke_role(scene.tenant, scene.admin.account, Role.ADMIN, actor=scene.admin),
        lambda: accounts.revoke_role(scene.tenant, other.account, Role.ADMIN, actor=other),
    )
    assert sorted(isinstance(result, Conflict) for result in results) == [False, True], results


def test_a_user_name_and_a_slug_are_given_once(scene: World) -> None:
    root = superuser()
    for make in (
        lambda: tenants.create_tenant("twin", name="Twin", actor=root),
        lambda: accounts.create_service_account(scene.tenant, "svc-twin", name="", actor=scene.admin),
    ):
        results = at_once(*[make] * 4)
        refused = [result for result in results if isinstance(result, Exception)]
        assert len(refused) == 3 and all(isinstance(result, Invalid) for result in refused), results
        assert all("is taken" in result.message for result in refused if isinstance(result, Invalid))


def test_a_ceiling_is_widened_once_it_is_seen(scene: World) -> None:
    """Two changes of one binding wait for each other, and the second is judged by what the first left."""
    both = make_person("both", tenant=scene.tenant, roles=(Role.ADMIN, Role.REVIEWER))
    results = at_once(
        lambda: bindings.disable_agent(scene.tenant, scene.support, actor=scene.admin),
        lambda: bindings.set_agent_permissions(scene.tenant, scene.support, {"tool:kb.search": False}, actor=both),
    )
    assert results == [None, None]
    answer = resolve_for_tenant(scene.tenant, "Support", ("", ""))
    assert (answer.available, answer.allowed_tools) == (False, [])
    bindings.enable_agent(scene.tenant, scene.support, actor=both)
    assert resolve_for_tenant(scene.tenant, "Support", ("", "")).allowed_tools == ["ticket.comment"]
