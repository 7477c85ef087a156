"""Every way in, tried without the right: what runtimes are told stays, and nothing is written but the refusal."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.test import Client

from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.errors import Refused
from personas.domain.rights import Right, Role
from personas.models import AgentPersona, AuditEntry, User
from personas.resolve import resolve_for_tenant
from personas.services import accounts, agents, bindings, personas, tenants
from tests.api_client import Caller, token_for
from tests.factory import World, make_class, make_person, make_tenant, superuser
from tests.pages import client_of, form, url

# Written on the way in, whoever comes: sessions, what limits failures, and the admin's own list of visits.
BESIDE = {"sessions.session", "axes.accessattempt", "axes.accesslog", "axes.accessfailurelog", "admin.logentry"}
CONTEXTS = [("", ""), ("site", "42"), ("site", "7"), ("channel", "chat")]


class Scene:
    """A tenant under a parent and above a child, with what could be attacked."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.parent, self.child = make_tenant("holding"), make_tenant("acme-labs", parent=world.tenant)
        tenants.move_tenant(world.tenant, to=self.parent, actor=superuser())
        self.writer = make_class("Writer")
        self.live = world.persona("Live", "Live.\nText.")
        self.site = world.persona("Site", "Site.", context_type="site", context_id="42", allowed_tools=("kb.search",))
        personas.revise_persona(self.site, actor=world.reviewer, instructions="Site 2.")
        self.site = AgentPersona.objects.get(pk=self.site.pk)
        self.draft = world.persona("Draft", "Draft.", enable=False, context_type="site", context_id="7", priority=5)
        self.gone = world.persona("Gone", "Gone.")
        personas.archive_persona(self.gone, actor=world.reviewer)
        self.proposal = propose(self.live, actor=world.editor, instructions="Other.", rationale="x")
        bindings.enable_agent(self.parent, world.support, actor=superuser())
        bindings.set_agent_permissions(world.tenant, world.support, {"tool:ticket.comment": False}, actor=superuser())
        people = {name: world.cast[name] for name in ("viewer", "editor", "admin", "outsider")}
        people["above"] = make_person("above", tenant=self.parent, roles=tuple(Role))
        people["below"] = make_person("below", tenant=self.child, roles=tuple(Role))
        people["keeper"] = make_person("keeper")  # of one persona, not of the one that is attacked
        accounts.grant_persona_right(self.draft, people["keeper"].account, Right.ACTIVATE_DIRECTIVE, actor=superuser())
        people["staff"] = make_person("staff", tenant=world.tenant, roles=(Role.EDITOR, Role.ADMIN))
        User.objects.filter(username="staff").update(is_staff=True)
        people["inactive"] = make_person("inactive", tenant=world.tenant, roles=tuple(Role))
        User.objects.filter(username="inactive").update(is_active=False)
        accounts.grant_role(world.tenant, world.service, Role.EDITOR, actor=superuser())
        people["service"] = Actor(world.service)
        self.robot = accounts.create_service_account(world.tenant, "svc-robot", name="Robot", actor=superuser())
        shy, _ = token_for(world.reviewer, world.tenant, may_review=False)
        people["shy token"] = Actor(world.reviewer.account, token=shy)
        elsewhere, _ = token_for(world.outsider, world.other)
        people["token elsewhere"] = Actor(world.outsider.account, token=elsewhere)
        self.people = {name: self._fresh(actor) for name, actor in people.items()}

    @staticmethod
    def _fresh(actor: Actor) -> Actor:
        return Actor(User.objects.get(pk=actor.account.pk), token=actor.token)

    def answers(self) -> list[Any]:
        places = [self.world.tenant, self.parent, self.child, self.world.other]
        return [resolve_for_tenant(place, name, context) for place in places
                for name in ("Support", "Writer") for context in CONTEXTS]  # fmt: skip


def written() -> dict[str, int]:
    """How many rows each table has; of the audit, those that are no refusal."""
    counts = {model._meta.label_lower: model._default_manager.count() for model in apps.get_models()}
    for label in BESIDE:
        counts.pop(label, None)
    counts["personas.auditentry"] = AuditEntry.objects.exclude(verb="access.refused").count()
    return counts


@contextmanager
def nothing_changes(scene: Scene) -> Iterator[None]:
    answers, rows = scene.answers(), written()
    states = list(AgentPersona.objects.order_by("pk").values())
    yield
    assert scene.answers() == answers
    assert {label: count for label, count in written().items() if count != rows.get(label)} == {}
    assert list(AgentPersona.objects.order_by("pk").values()) == states


@pytest.fixture
def scene(world: World, tmp_path: Path) -> Scene:
    return Scene(world, tmp_path)


Door = Callable[[Scene, Actor], Any]
# Services, which every other door calls. Each with what it would change.
SERVICES: dict[str, Door] = {
    "approve": lambda s, a: review.approve(s.proposal, actor=a, expected_revision=s.live.live_revision),
    "approve with an edit": lambda s, a: review.approve(
        s.proposal, actor=a, expected_revision=s.live.live_revision, instructions="Mine."
    ),
    "reject": lambda s, a: review.reject(s.proposal, actor=a, note="No."),
    "edit": lambda s, a: personas.revise_persona(s.live, actor=a, instructions="Mine."),
    "rename": lambda s, a: personas.revise_persona(s.live, actor=a, settings=s.live.settings.change(name="Zz")),
    "priority": lambda s, a: personas.revise_persona(s.site, actor=a, settings=s.site.settings.change(priority=9)),
    "context": lambda s, a: personas.revise_persona(s.site, actor=a, settings=s.site.settings.change(context_id="7")),
    "tools": lambda s, a: personas.revise_persona(s.site, actor=a, settings=s.site.settings.change(allowed_tools=())),
    "principal": lambda s, a: personas.revise_persona(
        s.site, actor=a, settings=s.site.settings.change(run_as=str(s.robot.pk))
    ),
    "settings": lambda s, a: personas.revise_persona(s.site, actor=a, settings=s.site.settings.change(acts_as="Boss")),
    "enable": lambda s, a: personas.enable_persona(s.draft, actor=a),
    "disable": lambda s, a: personas.disable_persona(s.live, actor=a),
    "archive": lambda s, a: personas.archive_persona(s.live, actor=a),
    "rollback": lambda s, a: personas.roll_back(s.site, to=s.site.revisions.get(number=1), actor=a, reason="x"),
    "lock": lambda s, a: personas.set_locked(s.live, locked=True, actor=a),
    "create enabled": lambda s, a: personas.create_persona(
        s.world.tenant, s.world.support, instructions="New.", settings=s.world.settings("New", priority=99), actor=a,
        enable=True,
    ),
    "widen a ceiling": lambda s, a: bindings.set_agent_permissions(
        s.world.tenant, s.world.support, {"tool:ticket.close": True}, actor=a
    ),
    "enable an agent": lambda s, a: bindings.enable_agent(s.world.tenant, s.writer, actor=a),
    "clear an override": lambda s, a: bindings.clear_agent_override(s.world.tenant, s.world.support, actor=a),
    "manifest": lambda s, a: agents.publish_manifest(s.world.support, {"instructions": "Mine."}, actor=a),
    "define a class": lambda s, a: agents.define_agent_class(
        "@evil/agents:Evil", display_name="Evil", manifest={}, actor=a
    ),
    "move a tenant": lambda s, a: tenants.move_tenant(s.child, to=None, actor=a),
    "grant oneself": lambda s, a: accounts.grant_role(s.world.tenant, a.account, Role.REVIEWER, actor=a),
    "grant oneself one persona": lambda s, a: accounts.grant_persona_right(
        s.live, a.account, Right.ACTIVATE_DIRECTIVE, actor=a
    ),
    "lower the rules": lambda s, a: tenants.set_review_rules(
        make_strict(s), require_second_person=False, required_approvals=1, actor=a
    ),
}  # fmt: skip


def make_strict(scene: Scene) -> Any:
    return tenants.set_review_rules(scene.parent, require_second_person=True, required_approvals=2, actor=superuser())


def refused(door: Door, scene: Scene, actor: Actor) -> bool:
    try:
        door(scene, actor)
    except Refused:
        return True
    return False


@pytest.mark.parametrize("door", [name for name in SERVICES if name != "lower the rules"])
def test_services_are_shut(scene: Scene, door: str) -> None:
    for name, actor in scene.people.items():
        with nothing_changes(scene):
            assert refused(SERVICES[door], scene, actor), f"{door} was open for {name}"


def test_rules_are_not_lowered_alone(scene: Scene) -> None:
    make_strict(scene)
    for name in scene.people:
        if name == "staff":  # who may, as the second person
            continue
        with nothing_changes(scene), pytest.raises(Refused):
            tenants.set_review_rules(
                scene.parent, require_second_person=False, required_approvals=1, actor=scene.people[name]
            )


def test_restoring_brings_back_a_draft_alone(scene: Scene) -> None:
    """Whoever may write drafts may restore one; it answers nobody."""
    before = scene.answers()
    personas.restore_persona(scene.gone, actor=scene.people["editor"])
    assert scene.answers() == before


PAGES: dict[str, Callable[[Scene], tuple[str, dict[str, Any]]]] = {
    "approve": lambda s: (url(s.proposal, "approve"), form(s.proposal)),
    "approve with an edit": lambda s: (url(s.proposal, "approve"), form(s.proposal, instructions="Mine.")),
    "reject": lambda s: (url(s.proposal, "reject"), {"note": "No.", "seen_sha256": s.proposal.text_sha256}),
    "lock": lambda s: (f"/t/acme/personas/{s.live.pk}/state/lock/", {}),
}


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize("door", PAGES)
def test_pages_are_shut(scene: Scene, door: str, htmx: bool) -> None:
    address, data = PAGES[door](scene)
    headers = {"HX-Request": "true"} if htmx else {}
    for name in ("viewer", "editor", "admin", "outsider", "above", "below", "keeper", "staff", "inactive", "service"):
        with nothing_changes(scene):
            response = client_of(scene.people[name]).post(address, data, headers=headers)
        assert response.status_code in (401, 403, 404), (door, name, response.status_code)
    with nothing_changes(scene):
        assert Client().post(address, data, headers=headers).status_code == 401


@pytest.mark.parametrize("change", ["state/disable/", "state/archive/", "instructions/1/roll-back/"])
def test_pages_that_turn_into_proposals_change_nothing_served(scene: Scene, change: str) -> None:
    data = {"note": "Please.", "expected_revision": 2, "base_revision": 2, "instructions": "Mine."}
    for name in ("editor", "admin"):
        before = scene.answers()
        response = client_of(scene.people[name]).post(f"/t/acme/personas/{scene.site.pk}/{change}", data)
        assert response.status_code in (302, 409), (name, response.content[:500])
        assert scene.answers() == before
    assert DirectiveProposal.objects.filter(persona=scene.site, status="pending").exists()


def test_the_api_is_shut(scene: Scene) -> None:
    world = scene.world
    callers = {
        "viewer": Caller.of(world.viewer, world.tenant),
        "editor": Caller.of(world.editor, world.tenant),
        "admin": Caller.of(world.admin, world.tenant),
        "service": Caller.of(Actor(world.service), world.tenant),
        "reviewer without may review": Caller.of(world.reviewer, world.tenant, may_review=False),
        "another tenant": Caller.of(world.outsider, world.other),
        "the parent": Caller.of(scene.people["above"], scene.parent),
        "the child": Caller.of(scene.people["below"], scene.child),
        "nobody": Caller("per_nothing"),
    }
    for name, caller in callers.items():
        for verb, body in (
            ("approve", {"expected_revision": 1}),
            ("approve", {"expected_revision": 1, "instructions": "Mine."}),
            ("reject", {"note": "No."}),
        ):
            with nothing_changes(scene):
                answer = caller.post(f"/proposals/{scene.proposal.pk}/{verb}", body)
            assert answer.status_code in (401, 403, 404), (name, verb, answer.content)


def test_the_admin_is_shut(scene: Scene) -> None:
    """Forged forms and actions on every model that decides what is served. The admin's own tests try every model."""
    models = ("agentpersona", "personarevision", "activation", "tenantagent", "agentclass", "manifestversion",
              "tenantgroupobjectpermission", "tenantuserobjectpermission", "tenantrole", "apitoken")  # fmt: skip
    staff, root = client_of(scene.people["staff"]), client_of(superuser())
    rows = {name: apps.get_model("personas", name)._default_manager.first() for name in models}
    forged = {"name": "Mine", "enabled": "on", "instructions": "Mine.", "status": "active", "priority": "99"}
    for client in (staff, root):
        for name, row in rows.items():
            for path in ("add/", *([f"{row.pk}/change/", f"{row.pk}/delete/"] if row else [])):
                with nothing_changes(scene):
                    client.post(f"/admin/personas/{name}/{path}", {**forged, "post": "yes"})
            action = {"action": "delete_selected", "_selected_action": [str(row.pk)] if row else [], "post": "yes"}
            with nothing_changes(scene):
                client.post(f"/admin/personas/{name}/", action)


@pytest.mark.parametrize("name", ["viewer", "editor", "admin", "outsider", "keeper", "service"])
def test_imports_are_shut(scene: Scene, name: str) -> None:
    prompts, edits = scene.folder / "prompts.csv", scene.folder / "edits.jsonl"
    prompts.write_text('act,prompt\n"Evil","Mine."\n', encoding="utf-8")
    line = {
        "id": "1",
        "persona": "Evil",
        "date": "2024-01-01T00:00:00Z",
        "note": "n",
        "current": "Mine.",
        "proposed": "M.",
    }
    edits.write_text(json.dumps(line) + "\n", encoding="utf-8")
    actor = scene.people[name]
    run_as = scene.world.service.username
    for command, path in (("import_personas", prompts), ("import_proposals", edits)):
        with nothing_changes(scene), pytest.raises((CommandError, SystemExit)):
            call_command(
                command, str(path), tenant="acme", agent_class="Support", run_as=run_as, by=actor.account.username,
                enable=True, stdout=io.StringIO(), stderr=io.StringIO(),
            )  # fmt: skip


def test_rows_are_not_written_past_the_services(scene: Scene) -> None:
    """A right that somebody wrote into a table means nothing for whom it may not mean anything."""
    from personas.permissions import give

    for user in (scene.world.service, scene.people["inactive"].account):
        give(Right.ACTIVATE_DIRECTIVE, user, scene.world.tenant)
        give(Right.ACTIVATE_DIRECTIVE, user, scene.live)
        with nothing_changes(scene), pytest.raises(Refused):
            SERVICES["approve"](scene, Actor(user))
