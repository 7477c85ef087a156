"""The gate: nothing goes live without a permitted person who saw what is live."""

from typing import Any

import pytest

from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import change_back, change_persona, change_state, propose
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, Locked, NotPermitted, SecondPersonRequired, Stale
from personas.domain.rights import Right, Role
from personas.domain.text import digest
from personas.models import Activation, AgentPersona, AuditEntry, PersonaRevision, Tenant, User
from personas.resolve import resolve_for_tenant
from personas.services import accounts, bindings, personas, tenants
from tests.factory import World, make_class, make_person, superuser

Action = DirectiveProposal.Action


def served(world: World, context: tuple[str, str] = ("", "")) -> str:
    return resolve_for_tenant(world.tenant, "Support", context).instructions


def fresh(persona: AgentPersona) -> AgentPersona:
    return AgentPersona.objects.select_related("tenant", "live_revision", "agent_class").get(pk=persona.pk)


def test_approving_serves_exactly_what_was_proposed(world: World) -> None:
    persona = world.persona(text="Old.")
    proposal = propose(persona, actor=world.editor, instructions="New.", rationale="because")
    assert served(world) == "Old."
    outcome = review.approve(
        proposal, actor=world.reviewer, expected_revision=persona.live_revision, seen_sha256=digest("New.")
    )
    assert served(world) == "New."
    assert outcome.revision is not None and outcome.revision.number == 2
    activation = Activation.objects.get(revision=outcome.revision)
    assert (activation.verb, activation.source) == ("approve", f"proposal:{proposal.pk}")
    assert [person["name"] for person in activation.approvers] == ["Reviewer"]
    verbs = set(AuditEntry.objects.filter(actor=world.reviewer.user).values_list("verb", flat=True))
    assert {"proposal.approved", "directive.approve"} <= verbs


VERBS: dict[str, Any] = {
    "text": lambda w, p, a: personas.revise_persona(p, actor=a, instructions="Other."),
    "priority": lambda w, p, a: personas.revise_persona(p, actor=a, settings=p.settings.change(priority=9)),
    "context": lambda w, p, a: personas.revise_persona(p, actor=a, settings=p.settings.change(context_type="site")),
    "name": lambda w, p, a: personas.revise_persona(p, actor=a, settings=p.settings.change(name="Other")),
    "tools": lambda w, p, a: personas.revise_persona(p, actor=a, settings=p.settings.change(allowed_tools=())),
    "acts_as": lambda w, p, a: personas.revise_persona(p, actor=a, settings=p.settings.change(acts_as="Robbie")),
    "memory": lambda w, p, a: personas.revise_persona(p, actor=a, settings=p.settings.change(memory_scope="x")),
    "disable": lambda w, p, a: personas.disable_persona(p, actor=a),
    "archive": lambda w, p, a: personas.archive_persona(p, actor=a),
    "roll back": lambda w, p, a: personas.roll_back(p, to=p.revisions.get(number=1), actor=a, reason="x"),
    "lock": lambda w, p, a: personas.set_locked(p, locked=True, actor=a),
    "new and live": lambda w, p, a: personas.create_persona(
        w.tenant, w.support, instructions="x", settings=w.settings("New"), actor=a, enable=True
    ),
}


@pytest.mark.parametrize("who", ["viewer", "editor", "admin", "outsider"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_gated_verb_needs_the_right(world: World, verb: str, who: str) -> None:
    persona = world.persona(text="One.")
    personas.revise_persona(persona, actor=world.reviewer, instructions="Two.")
    before = resolve_for_tenant(world.tenant, "Support", ("", ""))
    with pytest.raises(NotPermitted):
        VERBS[verb](world, fresh(persona), world.cast[who])
    assert resolve_for_tenant(world.tenant, "Support", ("", "")) == before
    assert persona.revisions.count() == 2
    VERBS[verb](world, fresh(persona), world.reviewer)


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"lock"}))
@pytest.mark.parametrize("rules", [{"require_second_person": True}, {"required_approvals": 2}])
def test_where_one_is_not_enough_every_gated_verb_is_refused(world: World, verb: str, rules: dict[str, Any]) -> None:
    persona = world.persona(text="One.")
    personas.revise_persona(persona, actor=world.reviewer, instructions="Two.")
    Tenant.objects.filter(pk=world.tenant.pk).update(**rules)
    before = resolve_for_tenant(world.tenant, "Support", ("", ""))
    with pytest.raises(SecondPersonRequired):
        VERBS[verb](world, fresh(persona), world.reviewer)
    assert resolve_for_tenant(world.tenant, "Support", ("", "")) == before


def test_a_draft_is_free_until_it_answers(world: World) -> None:
    persona = world.persona("Draft", "", enable=False)
    personas.revise_persona(persona, actor=world.editor, instructions="Written.")
    assert not Activation.objects.filter(persona=persona).exists()
    with pytest.raises(NotPermitted):
        personas.enable_persona(persona, actor=world.editor)
    assert personas.enable_persona(persona, actor=world.reviewer) is not None
    assert personas.enable_persona(persona, actor=world.reviewer) is None
    assert served(world) == "Written."
    with pytest.raises(Invalid, match="must not be empty"):
        personas.revise_persona(persona, actor=world.reviewer, instructions=" \n")


def test_an_empty_text_is_never_served(world: World) -> None:
    persona = world.persona("Draft", "", enable=False)
    empty = persona.live_revision
    with pytest.raises(Invalid, match="empty"):
        personas.enable_persona(persona, actor=world.reviewer)
    with pytest.raises(Invalid, match="empty"):
        propose(persona, actor=world.editor, action=Action.ENABLE)
    personas.revise_persona(persona, actor=world.editor, instructions="Written.")
    personas.enable_persona(persona, actor=world.reviewer)
    with pytest.raises(Invalid, match="empty"):
        personas.roll_back(persona, to=empty, actor=world.reviewer, reason="x")


def test_the_same_again_is_no_revision(world: World) -> None:
    persona = world.persona(text="One.")
    revision = personas.revise_persona(persona, actor=world.reviewer, instructions="One.\n".rstrip("\n"))
    assert revision == persona.live_revision and persona.revisions.count() == 1


def test_who_looked_at_an_older_revision_is_told(world: World) -> None:
    persona = world.persona(text="One.")
    seen = persona.live_revision
    personas.revise_persona(persona, actor=world.second, instructions="Two.")
    for verb in (personas.revise_persona, personas.disable_persona, personas.archive_persona):
        with pytest.raises(Stale, match="Revision 2 by Second"):
            verb(persona, actor=world.reviewer, expected_revision=seen)
    assert served(world) == "Two."


def test_rolling_back_makes_a_new_revision(world: World) -> None:
    persona = world.persona(text="One.", priority=3)
    first = persona.live_revision
    settings = persona.settings.change(priority=7, acts_as="Robbie")
    second = personas.revise_persona(persona, actor=world.reviewer, instructions="Two.", settings=settings)
    third = personas.roll_back(persona, to=first, actor=world.reviewer, reason="It was better.")
    assert (third.number, third.instructions, third.settings) == (3, "One.", first.settings)
    assert third.sha256 == first.sha256 and third.origin == "rollback"
    assert resolve_for_tenant(world.tenant, "Support", ("", "")).priority == 3
    with pytest.raises(Invalid, match="is the live one"):
        personas.roll_back(persona, to=third, actor=world.reviewer, reason="x")
    with pytest.raises(Invalid, match="another persona"):
        personas.roll_back(world.persona("Other"), to=second, actor=world.reviewer, reason="x")


def test_a_locked_persona_takes_no_directive_but_can_be_stopped(world: World) -> None:
    persona = world.persona(text="One.")
    proposal = propose(persona, actor=world.editor, instructions="Two.")
    personas.set_locked(persona, locked=True, actor=world.reviewer)
    with pytest.raises(Locked):
        personas.revise_persona(persona, actor=world.reviewer, instructions="Two.")
    with pytest.raises(Locked):
        review.approve(proposal, actor=world.reviewer, expected_revision=persona.live_revision)
    proposal.refresh_from_db()
    assert proposal.is_pending and not proposal.decisions.exists()
    personas.disable_persona(persona, actor=world.reviewer)
    with pytest.raises(Locked):
        personas.enable_persona(persona, actor=world.reviewer)
    personas.set_locked(persona, locked=False, actor=world.reviewer)
    assert personas.enable_persona(persona, actor=world.reviewer) is not None


def test_what_one_may_not_do_becomes_a_proposal(world: World) -> None:
    persona = world.persona(text="One.")
    first = persona.live_revision
    made = change_persona(persona, actor=world.editor, instructions="Two.", note="Better.", base=first)
    assert isinstance(made, DirectiveProposal) and (made.base_revision, made.rationale) == (first, "Better.")
    done = change_persona(persona, actor=world.reviewer, instructions="Three.", note="", base=first)
    assert isinstance(done, PersonaRevision) and served(world) == "Three."
    back = change_back(persona, to=first, actor=world.editor, reason="Older.")
    assert isinstance(back, DirectiveProposal) and (back.action, back.instructions) == ("rollback", "One.")
    assert served(world) == "Three."
    assert isinstance(change_back(persona, to=first, actor=world.reviewer, reason="Older."), PersonaRevision)
    for action in (Action.DISABLE, Action.ARCHIVE):
        waiting = change_state(persona, action, actor=world.editor, reason="Stop it.")
        assert waiting is not None and waiting.action == action
    assert change_state(persona, Action.DISABLE, actor=world.reviewer, reason="Stop it.") is None
    assert not fresh(persona).enabled
    enabling = change_state(persona, Action.ENABLE, actor=world.editor, reason="Start it.")
    assert enabling is not None
    with pytest.raises(NotPermitted):
        change_persona(persona, actor=world.viewer, instructions="Four.", note="")


def test_an_archived_persona_is_gone_until_it_is_restored(world: World) -> None:
    persona = world.persona(text="One.")
    waiting = propose(persona, actor=world.editor, instructions="Two.")
    personas.archive_persona(persona, actor=world.reviewer, reason="Over.")
    waiting.refresh_from_db()
    assert waiting.status == "superseded" and waiting.decided_at is not None
    assert resolve_for_tenant(world.tenant, "Support", ("", "")).source == "default"
    for attempt in (
        lambda: personas.revise_persona(persona, actor=world.reviewer, instructions="x"),
        lambda: propose(persona, actor=world.reviewer, instructions="x"),
        lambda: personas.archive_persona(persona, actor=world.reviewer),
    ):
        with pytest.raises(Conflict, match="is archived"):
            attempt()
    with pytest.raises(NotPermitted):
        personas.restore_persona(persona, actor=world.viewer)
    other = world.persona(text="Same name.", enable=False)
    with pytest.raises(Invalid, match="has this name"):
        personas.restore_persona(persona, actor=world.editor)
    personas.archive_persona(other, actor=world.editor)
    restored = personas.restore_persona(persona, actor=world.editor)
    assert not restored.enabled and restored.archived_at is None
    assert personas.restore_persona(restored, actor=world.editor) == restored


def test_names(world: World) -> None:
    desk, other = world.persona("Desk"), world.persona("Other")
    with pytest.raises(Invalid, match="has this name") as refusal:
        personas.revise_persona(other, actor=world.reviewer, settings=other.settings.change(name="Desk"))
    assert refusal.value.field is None
    with pytest.raises(Invalid, match="has this name"):
        world.persona("Desk", enable=False)
    default = world.persona("default")
    for persona, name in ((default, "Named"), (desk, "default")):
        with pytest.raises(Invalid, match="to or from") as refusal:
            personas.revise_persona(persona, actor=world.reviewer, settings=persona.settings.change(name=name))
        assert refusal.value.field == "name"
        with pytest.raises(Invalid, match="to or from"):
            propose(persona, actor=world.editor, settings=persona.settings.change(name=name))
    assert fresh(desk).name == "Desk"


def test_a_class_of_one_has_only_the_default(world: World) -> None:
    single = make_class("Single")
    type(single).objects.filter(pk=single.pk).update(multi_instance=False)
    single.refresh_from_db()
    arguments = {"instructions": "x", "actor": world.reviewer}
    with pytest.raises(Invalid, match="only the persona"):
        personas.create_persona(world.tenant, single, settings=world.settings("Desk"), **arguments)
    assert personas.create_persona(world.tenant, single, settings=world.settings("default"), **arguments).pk


def runner(world: World, kind: str) -> User:
    """An account of the kind that a persona is to run as."""
    elsewhere = accounts.create_service_account(world.other, "svc-globex", name="", actor=superuser())
    stopped = accounts.create_service_account(world.tenant, "svc-stopped", name="", actor=superuser())
    accounts.deactivate_service_account(stopped, actor=superuser())
    return {
        "of another tenant": elsewhere,
        "stopped": stopped,
        "somebody else": world.viewer.account,
        "who sees nothing here": world.outsider.account,
        "superuser": world.root.account,
        "oneself": world.reviewer.account,
    }[kind]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("of another tenant", "cannot see"),
        ("stopped", "active account"),
        ("somebody else", "or yourself"),
        ("who sees nothing here", "cannot see"),
        ("superuser", "no superuser"),
    ],
)
def test_whom_a_persona_cannot_run_as(world: World, kind: str, message: str) -> None:
    persona = world.persona()
    settings = persona.settings.change(run_as=str(runner(world, kind).pk))
    for attempt in (
        lambda: personas.revise_persona(persona, actor=world.reviewer, settings=settings),
        lambda: propose(persona, actor=world.editor, settings=settings),
        lambda: personas.create_persona(
            world.tenant, world.support, instructions="x", settings=settings.change(name="N"), actor=world.editor
        ),
    ):
        with pytest.raises(Invalid, match=message) as refusal:
            attempt()
        assert refusal.value.field == "run_as"


def test_a_persona_runs_as_who_sets_it(world: World) -> None:
    persona = world.persona()
    settings = persona.settings.change(run_as=str(world.reviewer.account.pk))
    personas.revise_persona(persona, actor=world.reviewer, settings=settings)
    assert resolve_for_tenant(world.tenant, "Support", ("", "")).run_as == "reviewer"
    proposal = propose(persona, actor=world.editor, settings=settings.change(run_as=str(world.editor.account.pk)))
    review.approve(proposal, actor=world.reviewer, expected_revision=proposal.base_revision)
    assert resolve_for_tenant(world.tenant, "Support", ("", "")).run_as == "editor"


def test_an_account_that_has_gone_keeps_a_persona_from_starting(world: World) -> None:
    persona = world.persona(enable=False)
    accounts.deactivate_service_account(world.service, actor=world.admin)
    with pytest.raises(Invalid, match="active account"):
        personas.enable_persona(persona, actor=world.reviewer)


def test_a_context_id_needs_a_type(world: World) -> None:
    with pytest.raises(Invalid, match="needs a context type"):
        world.persona(context_id="42")


def test_a_right_on_one_persona_does_not_reach_the_next(world: World) -> None:
    first, second = world.persona("First", "1."), world.persona("Second", "2.", priority=-1)
    keeper = make_person("keeper")
    for right in (Right.CHANGE_PERSONA, Right.ACTIVATE_DIRECTIVE):
        accounts.grant_persona_right(second, keeper.account, right, actor=world.admin)
    personas.revise_persona(second, actor=keeper, instructions="2!")
    with pytest.raises(NotPermitted, match="“First”"):
        personas.revise_persona(second, actor=keeper, settings=fresh(second).settings.change(priority=5))
    with pytest.raises(NotPermitted):
        personas.revise_persona(first, actor=keeper, instructions="x")
    assert served(world) == "1."


def test_stopping_an_agent_is_no_directive_but_starting_it_is(world: World) -> None:
    bindings.disable_agent(world.tenant, world.support, actor=world.admin)
    assert not resolve_for_tenant(world.tenant, "Support", ("", "")).available
    with pytest.raises(NotPermitted):
        bindings.enable_agent(world.tenant, world.support, actor=world.admin)
    both = make_person("both", tenant=world.tenant, roles=(Role.ADMIN, Role.REVIEWER))
    bindings.enable_agent(world.tenant, world.support, actor=both)
    bindings.set_agent_permissions(world.tenant, world.support, {"tool:kb.search": False}, actor=world.admin)
    for wider in ({}, {"tool:ticket.close": True}):
        with pytest.raises(NotPermitted):
            bindings.set_agent_permissions(world.tenant, world.support, wider, actor=world.admin)
    assert resolve_for_tenant(world.tenant, "Support", ("", "")).allowed_tools == ["ticket.comment"]


def test_a_token_without_review_holds_no_gate_open(world: World) -> None:
    from personas.services import tokens

    persona = world.persona(text="One.")
    proposal = propose(persona, actor=world.editor, instructions="Two.")
    outcomes = {}
    for may_review in (False, True):
        token, _ = tokens.create_token(
            world.tenant, world.reviewer.account, name="t", may_review=may_review, actor=None
        )
        actor = Actor(world.reviewer.user, token=token)
        try:
            outcome = review.approve(proposal, actor=actor, expected_revision=persona.live_revision)
            outcomes[may_review] = outcome.revision is not None
        except NotPermitted:
            outcomes[may_review] = False
    assert outcomes == {False: False, True: True}


def test_lowering_the_rules_takes_somebody_from_outside(world: World) -> None:
    rules = {"require_second_person": True, "required_approvals": 2}
    tenants.set_review_rules(world.tenant, **rules, actor=world.admin)
    with pytest.raises(NotPermitted, match="second person"):
        tenants.set_review_rules(world.tenant, **{**rules, "required_approvals": 1}, actor=world.admin)
    with pytest.raises(NotPermitted):
        tenants.set_review_rules(world.tenant, **rules, actor=world.reviewer)
    with pytest.raises(Invalid):
        tenants.set_review_rules(world.tenant, **{**rules, "required_approvals": 6}, actor=world.admin)
    tenants.set_review_rules(world.tenant, require_second_person=False, required_approvals=1, actor=world.root)
    world.tenant.refresh_from_db()
    assert (world.tenant.require_second_person, world.tenant.required_approvals) == (False, 1)
