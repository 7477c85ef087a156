"""Bindings and manifests: stops are free, what widens is not, and every manifest stays."""

import pytest

from personas.domain.errors import Invalid, NotPermitted, UnknownAgentClass
from personas.domain.rights import Role
from personas.models import AgentClass, AuditEntry, ManifestVersion, Tenant, TenantAgent
from personas.resolve import Resolved, resolve_for_tenant
from personas.services import agents, bindings
from tests.factory import MANIFEST, World, make_class, make_person, make_tenant, superuser

SEARCH_OFF = {"tool:kb.search": False}


@pytest.fixture
def child(world: World) -> Tenant:
    return make_tenant("child", parent=world.tenant)


def told(tenant: Tenant) -> Resolved:
    return resolve_for_tenant(tenant, "Support", ("", ""))


def test_absent_means_look_at_the_parent(world: World, child: Tenant) -> None:
    assert told(child).available and told(child).allowed_tools == ["kb.search", "ticket.comment"]
    bindings.set_agent_permissions(world.tenant, world.support, SEARCH_OFF, actor=world.admin)
    assert told(child).allowed_tools == ["ticket.comment"]
    bindings.disable_agent(world.tenant, world.support, actor=world.admin)
    assert (told(child).available, told(child).allowed_tools) == (False, [])
    alone = make_tenant("alone")
    assert (told(alone).available, told(alone).allowed_tools) == (False, [])


def test_the_nearest_wins_unless_an_ancestor_enforces(world: World, child: Tenant) -> None:
    bindings.disable_agent(world.tenant, world.support, actor=world.admin)
    bindings.enable_agent(child, world.support, actor=superuser())
    assert told(child).available
    bindings.set_agent_enforced(world.tenant, world.support, enforced=True, actor=world.admin)
    assert not told(child).available
    below = make_person("below", tenant=child, roles=(Role.ADMIN, Role.REVIEWER))
    bindings.enable_agent(child, world.support, actor=below)
    assert not told(child).available


@pytest.mark.parametrize("verb", ["enable", "clear", "unenforce", "permissions"])
def test_what_widens_somewhere_needs_the_right(world: World, child: Tenant, verb: str) -> None:
    both = make_person("both", tenant=world.tenant, roles=(Role.ADMIN, Role.REVIEWER))
    admin = world.admin
    if verb == "clear":
        tenant = child
        admin = make_person("below", tenant=child, roles=(Role.ADMIN,))
        both = make_person("both-below", tenant=child, roles=(Role.ADMIN, Role.REVIEWER))
        bindings.disable_agent(child, world.support, actor=admin)
    else:
        tenant = world.tenant
        bindings.set_agent_permissions(tenant, world.support, SEARCH_OFF, actor=admin)
        bindings.enable_agent(child, world.support, actor=superuser())
        bindings.set_agent_enforced(tenant, world.support, enforced=True, actor=admin)
        if verb == "enable":
            bindings.disable_agent(tenant, world.support, actor=admin)
    attempt = {
        "enable": lambda actor: bindings.enable_agent(tenant, world.support, actor=actor),
        "clear": lambda actor: bindings.clear_agent_override(tenant, world.support, actor=actor),
        "unenforce": lambda actor: bindings.set_agent_enforced(tenant, world.support, enforced=False, actor=actor),
        "permissions": lambda actor: bindings.set_agent_permissions(tenant, world.support, {}, actor=actor),
    }[verb]
    before = told(child)
    with pytest.raises(NotPermitted, match="activate directives"):
        attempt(admin)
    assert told(child) == before
    attempt(both)
    assert set(told(child).allowed_tools) > set(before.allowed_tools)


def test_only_who_manages_bindings(world: World) -> None:
    for actor in (world.reviewer, world.editor, world.outsider):
        with pytest.raises(NotPermitted):
            bindings.disable_agent(world.tenant, world.support, actor=actor)


def test_the_map_is_replaced_whole(world: World) -> None:
    for permissions in ({"a": False}, {"b": False}):
        bindings.set_agent_permissions(world.tenant, world.support, permissions, actor=world.admin)
    assert TenantAgent.objects.get(tenant=world.tenant).permissions == {"b": False}
    with pytest.raises(Invalid, match="“a” is granted"):
        bindings.set_agent_permissions(world.tenant, world.support, {"a": None}, actor=world.admin)  # type: ignore[dict-item]
    entry = AuditEntry.objects.filter(verb="agent.permissions_set").latest("created_at")
    assert entry.before["binding"]["permissions"] == {"a": False}
    assert entry.after["binding"]["permissions"] == {"b": False}


def test_clearing_what_is_not_there_does_nothing(world: World, child: Tenant) -> None:
    bindings.clear_agent_override(child, world.support, actor=superuser())
    assert not AuditEntry.objects.filter(verb="agent.override_cleared").exists()


def test_a_stale_class_does_not_hide_what_widens(world: World) -> None:
    """The defaults are read under the lock, not taken from what the caller holds."""
    stale = AgentClass.objects.select_related("manifest").get(pk=world.support.pk)
    wider = {**MANIFEST, "tools": [], "permissions": {"tool:a": True, "tool:b": False}}
    bindings.set_agent_permissions(world.tenant, stale, {"tool:a": False}, actor=world.admin)
    agents.publish_manifest(world.support, wider, actor=superuser())
    with pytest.raises(NotPermitted):
        bindings.set_agent_permissions(world.tenant, stale, {}, actor=world.admin)


def test_manifests_are_numbered_and_stay(world: World) -> None:
    with pytest.raises(NotPermitted):
        agents.publish_manifest(world.support, {}, actor=world.admin)
    same = agents.publish_manifest(world.support, MANIFEST, actor=superuser())
    assert same.number == 1 and told(world.tenant).manifest_version == 1
    second = agents.publish_manifest(world.support, {"instructions": "Other."}, actor=superuser())
    assert second.number == 2 and told(world.tenant).instructions == "Other."
    assert told(world.tenant).manifest_version == 2
    assert ManifestVersion.objects.filter(agent_class=world.support).count() == 2
    back = agents.publish_manifest(world.support, MANIFEST, actor=superuser())
    assert back.number == 3 and back.sha256 == same.sha256


def test_defining_and_finding_a_class(world: World) -> None:
    with pytest.raises(NotPermitted):
        agents.define_agent_class("@acme/agents:X", display_name="X", manifest={}, actor=world.admin)
    for name, message in (
        ("@acme/agents:Support", "exists already"),
        ("@other/agents:Support", "has this short name"),
        ("Support", "has the form"),
    ):
        with pytest.raises(Invalid, match=message):
            agents.define_agent_class(name, display_name="X", manifest={}, actor=superuser())
    writer = make_class("Writer")
    assert writer.manifest is not None
    assert agents.find_agent_class("Writer") == agents.find_agent_class("@acme/agents:Writer") == writer
    with pytest.raises(UnknownAgentClass, match=r"Did you mean @acme/agents:Writer\?") as refusal:
        agents.find_agent_class("writer")
    assert refusal.value.suggestions == ["@acme/agents:Writer"]
    with pytest.raises(UnknownAgentClass) as refusal:
        agents.find_agent_class("zzzzzz")
    assert refusal.value.suggestions == []
