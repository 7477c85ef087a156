"""The API about agents, personas and revisions."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from personas.api import AGENTS_ORDER, PERSONAS_ORDER, REVISIONS_ORDER
from personas.domain.rights import Right, Role
from personas.models import AgentClass, AgentPersona, PersonaRevision
from personas.services import accounts, bindings, personas
from tests.api_client import Caller, code_of
from tests.factory import World, make_class, make_tenant, superuser


@pytest.fixture
def viewer(world: World) -> Caller:
    return Caller.of(world.viewer, world.tenant)


def every_page(caller: Caller, path: str, **query: Any) -> list[dict[str, Any]]:
    """All items of a list, page after page, checking that each page but the last is full."""
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = caller.get(path, **query, **cursor).json()
        assert list(page) == ["items", "next"]
        items += page["items"]
        if page["next"] is None:
            return items
        assert len(page["items"]) == query["limit"]
        cursor = {"cursor": page["next"]}


def test_a_persona_has_the_fields_of_the_reference(world: World, viewer: Caller) -> None:
    persona = world.persona("Desk", "Be kind.", context_type="site", priority=2, allowed_tools=("kb.search",))
    response = viewer.get(f"/personas/{persona.pk}")
    assert response.status_code == 200
    assert list(response.json().items()) == [
        ("id", str(persona.pk)),
        ("name", "Desk"),
        ("description", ""),
        ("agent_class", "@acme/agents:Support"),
        ("context_type", "site"),
        ("context_id", None),
        ("priority", 2),
        ("enabled", True),
        ("archived", False),
        ("instructions", "Be kind."),
        ("revision", 1),
        ("allowed_tools", ["kb.search"]),
        ("run_as", "svc-acme"),
        ("instance_key", str(persona.pk)),
        ("dispatch_subscriber", f"@acme/agents:Support#{persona.pk}"),
    ]


def test_the_default_persona_has_no_key(world: World, viewer: Caller) -> None:
    answer = viewer.get(f"/personas/{world.persona('default').pk}").json()
    assert (answer["instance_key"], answer["dispatch_subscriber"]) == (None, "@acme/agents:Support")
    assert answer["allowed_tools"] is None


def test_personas_are_listed_by_name_and_filtered(world: World, viewer: Caller) -> None:
    writer = make_class("Writer")
    for name in ("beta", "Alpha", "gamma"):
        world.persona(name)
    draft = world.persona("draft", enable=False)
    other = personas.create_persona(
        world.tenant, writer, instructions="Write.", settings=world.settings("Writer"), actor=world.reviewer
    )
    gone = world.persona("gone")
    personas.archive_persona(gone, actor=world.reviewer)

    def names(**query: Any) -> list[str]:
        return [item["name"] for item in viewer.get("/personas", **query).json()["items"]]

    assert names() == ["Alpha", "beta", draft.name, "gamma", other.name]
    assert names(enabled="true") == ["Alpha", "beta", "gamma"]
    assert names(enabled="false") == ["draft", "Writer"]
    assert names(agent_class="Writer") == names(agent_class="@acme/agents:Writer") == ["Writer"]
    assert names(archived="true") == ["gone"]
    assert names(tenant="acme", agent_class="Support", enabled="false") == ["draft"]
    unknown = viewer.get("/personas", agent_class="Wirter")
    assert (unknown.status_code, code_of(unknown)) == (404, "unknown_agent_class")
    assert viewer.get(f"/personas/{gone.pk}").json()["archived"] is True


def test_only_personas_of_the_tokens_own_tenant_are_listed(world: World) -> None:
    child = make_tenant("acme-child", parent=world.tenant)
    accounts.grant_role(child, world.viewer.account, Role.VIEWER, actor=superuser())
    above = world.persona()
    caller = Caller.of(world.viewer, child)
    assert caller.get("/personas").json() == {"items": [], "next": None}
    assert caller.get(f"/personas/{above.pk}").status_code == 404
    assert caller.get("/resolve", agent_class="Support").json()["persona_id"] == str(above.pk)


def test_what_is_foreign_is_answered_as_what_is_absent(world: World) -> None:
    persona = world.persona()
    outsider = Caller.of(world.outsider, world.other)
    for path in ("/personas/{}", "/personas/{}/revisions"):
        foreign, absent = outsider.get(path.format(persona.pk)), outsider.get(path.format(uuid4()))
        assert (foreign.status_code, code_of(foreign)) == (404, "not_found")
        assert (absent.status_code, absent.content) == (404, foreign.content)
        malformed = outsider.get(path.format("nonsense"))
        assert (malformed.status_code, malformed.content) == (404, foreign.content)
    for path in ("/personas", "/agents", "/proposals"):
        assert code_of(outsider.get(path, tenant="acme")) == "not_found"


def test_a_right_on_one_persona_shows_that_one_alone(world: World) -> None:
    mine, other = world.persona("Mine"), world.persona("Other")
    caller = Caller.of(world.viewer, world.tenant)
    accounts.revoke_role(world.tenant, world.viewer.account, Role.VIEWER, actor=superuser())
    accounts.grant_persona_right(mine, world.viewer.account, Right.VIEW_PERSONA, actor=superuser())
    assert [item["id"] for item in caller.get("/personas").json()["items"]] == [str(mine.pk)]
    assert caller.get(f"/personas/{other.pk}").status_code == 404
    assert caller.get("/agents").status_code == 404


def test_revisions_come_newest_first(world: World, viewer: Caller) -> None:
    persona = world.persona(text="One.")
    personas.revise_persona(persona, actor=world.reviewer, instructions="Two.", note="clearer")
    items = viewer.get(f"/personas/{persona.pk}/revisions").json()["items"]
    assert [(item["number"], item["instructions"], item["live"]) for item in items] == [
        (2, "Two.", True),
        (1, "One.", False),
    ]
    newest = items[0]
    assert (newest["author"], newest["origin"], newest["note"]) == ("Reviewer", "edit", "clearer")
    assert newest["settings"]["name"] == "Desk" and len(newest["sha256"]) == 64
    assert newest["created_at"].endswith("Z")


def test_agents_show_the_folded_bindings_of_the_path(world: World) -> None:
    child = make_tenant("acme-child", parent=world.tenant)
    writer, reader = make_class("Writer"), make_class("Reader", permissions={})
    make_class("Unbound")
    bindings.enable_agent(world.tenant, writer, actor=superuser())
    bindings.set_agent_permissions(world.tenant, writer, {"tool:kb.search": False}, actor=superuser())
    bindings.set_agent_enforced(world.tenant, writer, enforced=True, actor=superuser())
    bindings.enable_agent(child, writer, actor=superuser())
    bindings.disable_agent(child, reader, actor=superuser())
    accounts.grant_role(child, world.viewer.account, Role.VIEWER, actor=superuser())
    items = Caller.of(world.viewer, child).get("/agents").json()["items"]
    assert [list(item) for item in items] == [
        [
            "canonical", "short", "display_name", "status", "source", "source_tenant", "permissions", "tool_ceiling",
            "available",
        ]
    ] * 3  # fmt: skip
    by_name = {item["short"]: item for item in items}
    assert list(by_name) == ["Reader", "Support", "Writer"]
    assert by_name["Reader"]["status"] == "disabled" and by_name["Reader"]["available"] is False
    assert by_name["Reader"]["tool_ceiling"] is None
    support = by_name["Support"]
    assert (support["canonical"], support["display_name"]) == ("@acme/agents:Support", "Support")
    assert (support["source"], support["source_tenant"]) == ("inherited", "acme")
    assert support["permissions"] == {"tool:kb.search": True, "tool:ticket.comment": True, "tool:ticket.close": False}
    assert support["tool_ceiling"] == ["kb.search", "ticket.comment"]
    assert (by_name["Writer"]["source"], by_name["Writer"]["source_tenant"]) == ("explicit", "acme-child")
    assert by_name["Writer"]["tool_ceiling"] == ["ticket.comment"]


def test_agents_agree_with_what_is_resolved(world: World, viewer: Caller) -> None:
    bindings.set_agent_permissions(world.tenant, world.support, {"tool:kb.search": False}, actor=superuser())
    agent = viewer.get("/agents").json()["items"][0]
    resolved = viewer.get("/resolve", agent_class=agent["canonical"]).json()
    assert (resolved["available"], resolved["allowed_tools"]) == (agent["available"], agent["tool_ceiling"])


def test_pages_follow_each_other_without_gap_or_repeat(world: World, viewer: Caller) -> None:
    for name in ("a", "A", "b", "B", "c"):
        world.persona(name)
    for name in ("One", "Two", "Three"):
        bindings.enable_agent(world.tenant, make_class(name), actor=superuser())
    persona = world.persona("d")
    for text in ("2", "3", "4"):
        personas.revise_persona(persona, actor=world.reviewer, instructions=text)
    for path, expected in (("/personas", 6), ("/agents", 4), (f"/personas/{persona.pk}/revisions", 4)):
        whole = viewer.get(path).json()
        assert whole["next"] is None and len(whole["items"]) == expected
        for limit in (1, 2, 3, expected):
            assert every_page(viewer, path, limit=limit) == whole["items"]


def test_lists_are_totally_ordered() -> None:
    for model, order in (
        (AgentClass, AGENTS_ORDER),
        (AgentPersona, PERSONAS_ORDER),
        (PersonaRevision, REVISIONS_ORDER),
    ):
        assert model.objects.order_by(*order).totally_ordered


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 201},
        {"limit": "many"},
        {"cursor": "nonsense"},
        {"cursor": ""},
        {"cursor": "WyIxIl0:é\0"},
        {"cursor": "x" * 3000},
        {"enabled": "perhaps"},
        {"page": 2},
    ],
)
def test_wrong_parameters_of_a_list_are_422_and_named(world: World, viewer: Caller, query: dict[str, Any]) -> None:
    response = viewer.get("/personas", **query)
    assert (response.status_code, code_of(response)) == (422, "invalid")
    assert [error["field"] for error in response.json()["errors"]] == list(query)


def test_the_cursor_of_another_list_is_refused(world: World, viewer: Caller) -> None:
    world.persona("a"), world.persona("b")
    cursor = viewer.get("/personas", limit=1).json()["next"]
    assert viewer.get("/personas", limit=1, cursor=cursor).status_code == 200
    assert viewer.get("/agents", cursor=cursor).status_code == 422


def test_longer_lists_take_no_more_statements(world: World, viewer: Caller) -> None:
    persona = world.persona()
    paths = ("/personas", "/agents", f"/personas/{persona.pk}/revisions")

    def statements() -> list[int]:
        counts = []
        for path in paths:
            with CaptureQueriesContext(connection) as captured:
                assert viewer.get(path).status_code == 200
            counts.append(len(captured))
        return counts

    statements()
    few = statements()
    for number in range(4):
        world.persona(f"More {number}")
        personas.revise_persona(persona, actor=world.reviewer, instructions=f"Text {number}")
        bindings.enable_agent(world.tenant, make_class(f"More{number}"), actor=superuser())
    assert statements() == few
    assert few == [2, 5, 3]
