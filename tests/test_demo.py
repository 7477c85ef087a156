"""The demo: what it makes, that it can be repeated, and where it is refused."""

import io
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from learning.demo import cast
from learning.demo.seed import seed
from learning.domain.marks import count_new
from learning.models import Decision, DirectiveProposal
from learning.services import review
from personas.actors import Actor
from personas.domain.rights import Right
from personas.domain.text import digest
from personas.models import Activation, AgentPersona, Tenant, User
from personas.resolve import resolve_for_tenant
from tests.factory import World, make_person, make_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _debug(settings: Any) -> None:
    settings.DEBUG = True


def run(*options: str) -> str:
    out = io.StringIO()
    call_command("demo", *options, stdout=out)
    return out.getvalue()


def counts() -> dict[str, int]:
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def account(username: str) -> Actor:
    return Actor(User.objects.get(username=username))


def test_a_second_run_changes_nothing_and_prints_the_accounts_again() -> None:
    first = run()
    before = counts()
    second = run()
    assert counts() == before
    assert first.startswith("The demo is ready.")
    assert second.startswith("The demo is there already; nothing was changed.")
    assert first.partition("\n")[2] == second.partition("\n")[2]
    for username in ["staff", *(row[0] for row in cast.PEOPLE), *(row[0] for row in cast.SERVICES)]:
        assert username in second


def test_it_is_refused_outside_debug(settings: Any) -> None:
    settings.DEBUG = False
    before = counts()
    with pytest.raises(CommandError, match="only with DEBUG=1"):
        run()
    assert counts() == before


@pytest.mark.parametrize("slug", ["initech", "acme"])
def test_it_is_refused_where_other_tenants_live(slug: str) -> None:
    make_tenant(slug)
    before = counts()
    with pytest.raises(CommandError, match=f"holds other tenants \\({slug}\\): the demo needs an empty one"):
        run()
    assert run("--optional").startswith("No demo: The database holds other tenants")
    assert counts() == before


def test_it_is_refused_where_somebody_has_one_of_its_names() -> None:
    make_person("editor")
    before = counts()
    with pytest.raises(CommandError, match="There is an account “editor” already"):
        run()
    assert counts() == before


def test_tenants_of_ones_own_beside_the_demo_are_left_alone() -> None:
    seed()
    make_tenant("initech")
    assert "nothing was changed" in run()


def test_everybody_logs_in_with_the_one_password_and_may_what_the_table_says() -> None:
    seed()
    slugs = ["acme", "acme-support", "acme-sales", "globex"]
    may: dict[str, dict[Right, list[str]]] = {}
    for username, *_ in cast.PEOPLE:
        actor = account(username)
        assert actor.account.check_password(cast.PASSWORD)
        may[username] = {
            right: [slug for slug in slugs if Tenant.objects.permitted(actor, right).filter(slug=slug).exists()]
            for right in (Right.VIEW_TENANT, Right.MANAGE_PERSONAS, Right.ACTIVATE_DIRECTIVE, Right.MANAGE_MEMBERS)
        }
    acme, nothing = slugs[:3], list[str]()
    assert [list(rights.values()) for rights in may.values()] == [
        [acme, acme, nothing, acme],
        [acme, acme, acme, nothing],
        [acme, acme, nothing, nothing],
        [acme, nothing, nothing, nothing],
        [["globex"]] * 4,
    ]


def test_personas_answer_in_several_contexts_and_have_a_history() -> None:
    seed()
    enabled = AgentPersona.objects.filter(enabled=True)
    assert enabled.count() >= 12
    assert len({persona.context_type for persona in enabled} - {""}) >= 3
    assert [persona.name for persona in AgentPersona.objects.filter(enabled=False)] == ["Night shift"]
    assert [persona.name for persona in AgentPersona.objects.filter(locked=True)] == ["Harbour depot"]
    revisions = {persona.name: persona.revisions.count() for persona in AgentPersona.objects.all()}
    assert {name: count for name, count in revisions.items() if count > 1} == {
        "Front desk": 4,
        "Chat desk": 3,
        "Help desk": 2,
    }
    verbs = Activation.objects.filter(persona__name="Front desk").order_by("created_at").values_list("verb", flat=True)
    assert list(verbs) == ["enable", "approve", "edit", "rollback"]
    support, sales = (Tenant.objects.get(slug=slug) for slug in ("acme-support", "acme-sales"))
    assert resolve_for_tenant(support, "Support", ("site", "42")).name == "Riverside plant"
    assert resolve_for_tenant(sales, "Support", ("language", "zh")).name == "Before the sale"
    assert resolve_for_tenant(sales, "Writer", ("", "")).name == "Letters"
    # Enforced at the parent: publishing stays out of reach below.
    assert "document.publish" not in resolve_for_tenant(support, "Writer", ("", "")).allowed_tools


def test_eight_proposals_wait_and_three_are_decided() -> None:
    seed()
    pending = {row.persona.name: row for row in DirectiveProposal.objects.pending().select_related("base_revision")}
    places = [row.persona.tenant.slug for row in pending.values()]
    assert {slug: places.count(slug) for slug in places} == {"acme": 3, "acme-support": 3, "acme-sales": 2}
    assert [row.persona.name for row in DirectiveProposal.objects.stale()] == ["Help desk"]
    assert {row.origin for row in pending.values()} == {"person", "runtime"}
    assert 18_000 < len(pending["Fault codes"].instructions.encode()) < 22_000
    hidden = count_new(pending["Chat desk"].base_revision.instructions, pending["Chat desk"].instructions)
    assert sorted(mark.ghost.label for mark in hidden) == ["NBSP", "NBSP", "ZWSP"]
    assert pending["Riverside plant"].settings["priority"] == 10
    assert pending["Riverside plant"].instructions == pending["Riverside plant"].base_revision.instructions
    assert pending["Night shift"].action == "enable"
    decisions = Decision.objects.order_by("created_at").values_list(
        "verdict", "proposal__status", "edited_instructions"
    )
    assert [(verdict, status, bool(edit)) for verdict, status, edit in decisions] == [
        ("approve", "approved", False),
        ("approve", "approved", True),
        ("reject", "rejected", False),
    ]


def test_what_waits_can_be_approved_by_the_reviewer() -> None:
    seed()
    for proposal in DirectiveProposal.objects.pending().exclude(persona__name="Help desk"):
        live = proposal.persona.live_revision
        assert live is not None
        seen = digest(proposal.instructions)
        review.approve(proposal, actor=account("reviewer"), expected_revision=live, seen_sha256=seen)
    assert DirectiveProposal.objects.pending().count() == 1


def test_the_test_world_is_no_demo(world: World) -> None:
    with pytest.raises(CommandError, match="holds other tenants \\(acme, globex\\)"):
        run()
