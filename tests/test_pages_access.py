"""Who may open which page, and do what there: every route, method and kind of person."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from learning.models import DirectiveProposal
from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.rights import Right, Role
from personas.models import AgentPersona, AuditEntry, RuleChangeRequest, User
from personas.services import accounts, personas, tenants
from personas.services.invitations import invite_member
from personas.services.tokens import create_token
from tests.factory import World, make_person, make_tenant, superuser

PEOPLE = (
    "anonymous", "inactive", "service", "staff", "outsider", "above", "below", "watcher", "keeper", "viewer", "editor",
    "admin", "reviewer", "root",
)  # fmt: skip
# What they are answered, in the order of PEOPLE. A dash stands for the log-in: a redirect to it, or 401 for a form.
#             anon inac serv staf outs abov belo watc keep view edit admi revi root
SEES_PERSONA = ["-", "-", "-", "404", "404", "404", "404", "200", "200", "200", "200", "200", "200", "200"]
SEES_TENANT = ["-", "-", "-", "404", "404", "404", "404", "404", "404", "200", "200", "200", "200", "200"]
SEES_NAME = ["-", "-", "-", "404", "404", "404", "404", "200", "200", "200", "200", "200", "200", "200"]
ANYONE = ["-", "-", "-", "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "200"]
WRITES = ["-", "-", "-", "404", "404", "404", "404", "403", "403", "403", "200", "200", "200", "200"]
SENDS = ["-", "-", "-", "404", "404", "404", "404", "403", "403", "403", "302", "302", "302", "302"]
DECIDES = ["-", "-", "-", "404", "404", "404", "404", "403", "302", "403", "403", "403", "302", "302"]
PREVIEWS = ["-", "-", "-", "404", "404", "404", "404", "200", "200", "200", "200", "200", "200", "200"]
# What only an admin of the tenant does.
ADMINS = ["-", "-", "-", "404", "404", "404", "404", "404", "404", "403", "403", "200", "403", "200"]
ADMINS_SEND = [each.replace("200", "302") for each in ADMINS]
# The audit of every tenant, and the lasting address of an entry, which leads to its tenant.
SUPERUSERS = ["-", "-", "-", *["403"] * 10, "200"]
READERS = ["-", "-", "-", *["404"] * 8, "302", "404", "302"]
# One's own account: a form without what it asks for, and pages that lead to the set-up of the second factor.
OWN_WRONG = [each.replace("200", "422") for each in ANYONE]
OWN_MOVES = [each.replace("200", "302") for each in ANYONE]

ROUTES: dict[tuple[str, str], list[str]] = {
    ("home", "get"): ANYONE,
    ("tenant", "get"): SEES_TENANT,
    ("queue", "get"): SEES_NAME,
    ("proposal", "get"): SEES_PERSONA,
    ("approve", "post"): DECIDES,
    ("reject", "post"): DECIDES,
    ("comment", "post"): SENDS,
    ("merge", "post"): SENDS,
    ("preview", "post"): PREVIEWS,
    ("personas", "get"): SEES_NAME,
    ("persona", "get"): SEES_PERSONA,
    ("history", "get"): SEES_PERSONA,
    ("revision", "get"): SEES_PERSONA,
    ("propose", "get"): WRITES,
    ("propose", "post"): SENDS,
    ("propose_preview", "post"): PREVIEWS,
    ("roll_back", "get"): WRITES,
    ("roll_back", "post"): SENDS,
    ("persona_state", "get"): WRITES,
    ("persona_state", "post"): SENDS,
    ("tokens", "get"): ADMINS,
    ("token_create", "get"): ADMINS,
    ("token_create", "post"): ADMINS,
    ("token_revoke", "get"): ADMINS,
    ("token_revoke", "post"): ADMINS_SEND,
    ("audit", "get"): ADMINS,
    ("audit_entry", "get"): ADMINS,
    ("audit_export", "get"): ADMINS,
    ("every_audit", "get"): SUPERUSERS,
    ("every_audit_export", "get"): SUPERUSERS,
    ("any_audit_entry", "get"): READERS,
    ("members", "get"): SEES_TENANT,
    ("member", "get"): SEES_TENANT,
    ("member_role", "get"): ADMINS,
    ("member_role", "post"): ADMINS_SEND,
    ("member_persona", "post"): ADMINS_SEND,
    ("member_remove", "get"): ADMINS,
    ("member_remove", "post"): ADMINS_SEND,
    ("invite", "get"): ADMINS,
    ("invite", "post"): ADMINS_SEND,
    ("invitation_revoke", "post"): ADMINS_SEND,
    ("service_account_add", "get"): ADMINS,
    ("service_account_add", "post"): ADMINS_SEND,
    ("service_account_state", "get"): ADMINS,
    ("service_account_state", "post"): ADMINS_SEND,
    ("tenant_settings", "get"): ADMINS,
    ("tenant_name", "post"): ADMINS_SEND,
    ("review_rules", "get"): ADMINS,
    ("review_rules", "post"): ADMINS_SEND,
    ("rule_request", "post"): ADMINS_SEND,
    ("account", "get"): ANYONE,
    ("password_change", "get"): ANYONE,
    ("password_change", "post"): OWN_WRONG,
    ("two_factor", "get"): ANYONE,
    ("two_factor", "post"): OWN_WRONG,
    ("two_factor_move", "get"): OWN_MOVES,
    ("two_factor_move", "post"): OWN_MOVES,
    ("two_factor_codes", "post"): OWN_MOVES,
    ("two_factor_off", "post"): OWN_MOVES,
    ("two_factor_file", "post"): ANYONE,
}
OF_TENANT = (
    *("tenant", "queue", "personas", "tokens", "token_create", "members", "invite", "service_account_add"),
    *("tenant_settings", "tenant_name", "review_rules", "audit", "audit_export"),
)
# Open to everybody, each with a test of its own.
PUBLIC = {"login", "login_code", "logout", "password_reset", "password_reset_done", "password_reset_confirm"}
PUBLIC |= {"healthz", "readyz", "invitation", "invitation_link"}


def routes(resolver: URLResolver | None = None, prefix: str = "") -> set[str]:
    """The names of all routes that are pages."""
    found: set[str] = set()
    for pattern in (resolver or get_resolver()).url_patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            found.add(pattern.name or path)
        elif not path.startswith(("api/", "admin/")):  # each has tests of its own
            found |= routes(pattern, path)
    return found


class Scene:
    """The world with a proposal, and people of every kind around its tenant."""

    def __init__(self, world: World) -> None:
        self.world = world
        above = make_tenant("holding")
        tenants.move_tenant(world.tenant, to=above, actor=superuser())
        below = make_tenant("acme-labs", parent=world.tenant)
        people: dict[str, Actor] = dict(world.cast)
        people["above"] = make_person("above", tenant=above, roles=tuple(Role))
        people["below"] = make_person("below", tenant=below, roles=tuple(Role))
        people["staff"] = make_person("staff")
        User.objects.filter(username="staff").update(is_staff=True)
        people["inactive"] = make_person("inactive", tenant=world.tenant, roles=tuple(Role))
        User.objects.filter(username="inactive").update(is_active=False)
        people["service"] = Actor(world.service)
        people["watcher"], people["keeper"] = make_person("watcher"), make_person("keeper")
        self.persona = world.persona(text="One.\nTwo.")
        personas.revise_persona(self.persona, actor=world.reviewer, instructions="One.\nTwo.\nThree.")
        self.hidden = world.persona("Hidden", enable=False)
        for name, right in (("watcher", Right.VIEW_PERSONA), ("keeper", Right.ACTIVATE_DIRECTIVE)):
            accounts.grant_persona_right(self.persona, people[name].account, right, actor=superuser())
        self.persona = AgentPersona.objects.get(pk=self.persona.pk)
        self.proposal = propose(self.persona, actor=world.editor, instructions="One.\nTwo.\nFour.", rationale="Better.")
        self.token, _ = create_token(world.tenant, world.service, name="runtime", may_review=False, actor=None)
        first = self.persona.revisions.get(number=1)
        self.stale = propose(self.persona, actor=world.editor, instructions="One!\nTwo.", rationale="", base=first)
        self.invitation, _ = invite_member(
            world.tenant, "somebody@example.test", roles=[Role.VIEWER], actor=world.admin
        )
        self.entry = AuditEntry.objects.filter(tenant=world.tenant).first()
        self.rules = RuleChangeRequest.objects.create(
            tenant=world.tenant, require_second_person=False, required_approvals=1, asked_by=world.admin.account
        )
        self.people = people

    def client(self, name: str) -> Client:
        client = Client()
        if name != "anonymous":
            client.force_login(self.people[name].account, backend="personas.permissions.PersonBackend")
        return client

    def ask(self, client: Client, route: str, method: str) -> Any:
        slug, number = self.world.tenant.slug, 1
        args: dict[str, list[Any]] = {
            "home": [],
            "revision": [slug, self.persona.pk, number],
            "roll_back": [slug, self.persona.pk, number],
            "persona_state": [slug, self.persona.pk, "disable"],
            "token_revoke": [slug, self.token.pk],
            "audit_entry": [slug, self.entry.pk],
            "any_audit_entry": [self.entry.pk],
            **{name: [] for name in ("every_audit", "every_audit_export")},
            "invitation_revoke": [slug, self.invitation.pk],
            "service_account_state": [slug, self.world.service.pk, "deactivate"],
            "rule_request": [slug, self.rules.pk],
            **{name: [slug] for name in OF_TENANT},
            **{name: [slug, self.world.second.account.pk] for name in ("member", "member_persona", "member_remove")},
            "member_role": [slug, self.world.second.account.pk, "viewer"],
        }
        proposals = ("proposal", "approve", "reject", "comment", "merge", "preview")
        if route == "account" or route.startswith(("password_", "two_factor")):
            args[route] = []
        about = self.stale if route == "merge" else self.proposal
        url = reverse(route, args=args.get(route, [slug, (about if route in proposals else self.persona).pk]))
        data = {
            "expected_revision": 2,
            "base_revision": 2,
            "seen_sha256": self.proposal.text_sha256,
            "note": "Because of that.",
            "name": "script",
            "user": self.world.service.pk,
            "email": "new@example.test",
            "roles": ["viewer"],
            "suffix": "site",
            "role": "viewer",
            "do": "give",
            "persona": self.persona.pk,
            "right": "view_persona",
            "persona_right": "view_persona",
            "required_approvals": 2,
            "instructions": {"merge": "One.\nTwo.\nFive."}.get(route, "One.\nTwo.\nSix."),
        }
        if route == "approve":
            data.pop("instructions")
        return getattr(client, method)(url, data if method == "post" or route == "review_rules" else {})


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)


def test_every_route_is_in_the_table() -> None:
    assert {name for name, _ in ROUTES} | PUBLIC == routes()


def answer(scene: Scene, route: str, method: str, name: str) -> str:
    """What somebody is answered, in the words of the table. What it changed is taken back."""
    with transaction.atomic():
        response = scene.ask(scene.client(name), route, method)
        transaction.set_rollback(True)
    to_login = response.status_code == 302 and response["Location"].startswith("/accounts/login/")
    return "-" if to_login or response.status_code == 401 else str(response.status_code)


@pytest.mark.parametrize(("route", "method"), ROUTES)
def test_access(scene: Scene, route: str, method: str) -> None:
    found = {name: answer(scene, route, method, name) for name in PEOPLE}
    assert found == dict(zip(PEOPLE, ROUTES[route, method], strict=True))


def test_a_service_account_cannot_log_in(scene: Scene) -> None:
    scene.world.service.set_password("known")
    scene.world.service.save()
    client = Client()
    client.post("/accounts/login/", {"username": scene.world.service.username, "password": "known"})
    assert client.get("/").status_code == 302


@pytest.mark.parametrize(("route", "method"), ROUTES)
def test_another_method_is_refused(scene: Scene, route: str, method: str) -> None:
    allowed = {known for name, known in ROUTES if name == route}
    client = scene.client("reviewer")
    for other in {"get", "post", "put", "delete", "patch"} - allowed:
        assert scene.ask(client, route, other).status_code == 405, (route, other)


def test_what_is_hidden_looks_like_what_does_not_exist(scene: Scene) -> None:
    client = scene.client("outsider")
    hidden = scene.ask(client, "proposal", "get")
    absent = client.get(f"/t/acme/review/{scene.persona.pk}/")
    elsewhere = client.get(f"/t/nowhere/review/{scene.proposal.pk}/")
    assert hidden.status_code == absent.status_code == elsewhere.status_code == 404
    assert hidden.content == absent.content == elsewhere.content


def test_a_thing_is_not_found_under_another_tenant(scene: Scene) -> None:
    client = scene.client("root")
    for kind, pk in (("review", scene.proposal.pk), ("personas", scene.persona.pk)):
        assert client.get(f"/t/acme/{kind}/{pk}/").status_code == 200
        assert client.get(f"/t/globex/{kind}/{pk}/").status_code == 404


def test_who_holds_one_persona_sees_nothing_else(scene: Scene) -> None:
    propose(scene.hidden, actor=scene.world.editor, instructions="Secret.", rationale="Quiet.")
    for name in ("watcher", "keeper"):
        client = scene.client(name)
        for url in ("/", "/t/acme/review/?show=all", "/t/acme/personas/"):
            page = client.get(url).content.decode()
            assert "Hidden" not in page
            assert "Desk" in page or url == "/"
        assert client.get(f"/t/acme/personas/{scene.hidden.pk}/").status_code == 404


@pytest.mark.parametrize("change", [
    lambda scene: accounts.revoke_role(scene.world.tenant, scene.world.editor.account, Role.EDITOR, actor=superuser()),
    lambda scene: User.objects.filter(username="editor").update(is_active=False),
])  # fmt: skip
def test_a_right_that_is_taken_ends_at_once_in_an_open_session(scene: Scene, change: Callable[[Scene], None]) -> None:
    client = scene.client("editor")
    assert scene.ask(client, "propose", "get").status_code == 200
    change(scene)
    assert scene.ask(client, "propose", "get").status_code in (302, 404)
    assert scene.ask(client, "propose", "post").status_code in (401, 404)
    assert DirectiveProposal.objects.count() == 2


def test_refusals_write_nothing(scene: Scene) -> None:
    before = (DirectiveProposal.objects.count(), scene.proposal.decisions.count(), scene.persona.revisions.count())
    for name in ("anonymous", "inactive", "outsider", "above", "below", "watcher", "viewer", "staff"):
        for route, method in ROUTES:
            if method == "post":
                scene.ask(scene.client(name), route, method)
    scene.proposal.refresh_from_db()
    after = (DirectiveProposal.objects.count(), scene.proposal.decisions.count(), scene.persona.revisions.count())
    assert (before, scene.proposal.status) == (after, "pending")
