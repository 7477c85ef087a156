"""The gate by its effect: whoever calls whatever service, no answer of `resolve` changes without the right.

Two machines drive every public service. In the first are people who lack the right somewhere, or everywhere; in the
second one reviewer who holds it, in tenants where one person is not enough.
"""

from dataclasses import asdict
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from learning.models import DirectiveProposal
from learning.services.proposals import propose
from personas import permissions
from personas.actors import Actor
from personas.domain.errors import Refused
from personas.domain.rights import Right, Role
from personas.domain.settings import PersonaSettings
from personas.models import AgentClass, AgentPersona, APIToken, Tenant, User
from personas.resolve import Resolved, resolve_for_tenant
from personas.services import accounts, bindings, personas, tokens
from tests.factory import make_class, make_person, make_tenant, superuser
from tests.gate_drives import CONTEXTS, DRIVES, STOPS, Hand
from tests.gate_exempt import EXEMPT, public_services

TENANTS = ("holding", "child", "leaf", "other")
EVERYTHING = (Role.REVIEWER, Role.ADMIN)
Action = DirectiveProposal.Action
Grid = dict[tuple[str, str, tuple[str, str]], Resolved]


# What a review is made of.
REVIEW = {
    "personas.revise_persona",
    "proposals.change_back",
    "proposals.change_persona",
    "proposals.change_state",
    "proposals.propose",
    "review.approve",
    "merging.merge_onto_live",
}
# Verbs that change what is served, when the right person calls them.
EFFECTS = STOPS | {
    "activation.activate_revision",
    "personas.archive_persona",
    "personas.create_persona",
    "personas.disable_persona",
    "personas.enable_persona",
    "personas.revise_persona",
    "personas.roll_back",
    "proposals.propose",
    "review.approve",
}


def verbs(often: set[str], times: int) -> st.SearchStrategy[str]:
    """Every verb, and some more often than others."""
    return st.sampled_from([verb for verb in sorted(DRIVES) for _ in range(times if verb in often else 1)])


def grid() -> Grid:
    """What every tenant is told of every class in every context."""
    return {
        (tenant.slug, agent_class.short, context): resolve_for_tenant(tenant, agent_class.short, context)
        for tenant in Tenant.objects.all()
        for agent_class in AgentClass.objects.all()
        for context in CONTEXTS
    }


def is_stop(before: Resolved, after: Resolved) -> bool:
    """The same answer, with less allowed."""
    limits = {"available": True, "allowed_tools": []}
    same = {**asdict(before), **limits} == {**asdict(after), **limits}
    return same and after.available <= before.available and set(after.allowed_tools) <= set(before.allowed_tools)


def make_personas(actor: Actor, agent_classes: dict[str, AgentClass]) -> None:
    """A dense little world of two agent classes: personas that shadow each other, drafts, and pending proposals."""
    for slug, name, kind, context, enable in (
        ("holding", "Desk", "Support", ("", ""), True),
        ("holding", "Site", "Support", ("site", ""), True),
        ("holding", "desk", "Writer", ("", ""), True),
        ("child", "Desk", "Support", ("site", "1"), True),
        ("child", "Night", "Support", ("site", "1"), False),
        ("leaf", "default", "Support", ("", ""), False),
        ("other", "Desk", "Support", ("", ""), True),
    ):
        tenant = Tenant.objects.get(slug=slug)
        data = PersonaSettings(
            name=name,
            run_as=str(User.objects.get(username=f"svc-{slug}").pk),
            context_type=context[0],
            context_id=context[1],
        )
        persona = personas.create_persona(
            tenant, agent_classes[kind], instructions=f"{slug}.", settings=data, actor=actor, enable=enable
        )
        propose(persona, actor=actor, instructions=f"{slug} proposed.")
        propose(persona, actor=actor, action=Action.DISABLE if enable else Action.ENABLE)


def make_world() -> dict[str, Actor]:
    """The tenants and the cast. Of `chief` everything is expected, of each other one only what their rights allow."""
    root = superuser()
    classes = {"Support": make_class(), "Writer": make_class("Writer", permissions={})}
    parents: dict[str, Tenant | None] = {"holding": None, "other": None}
    for slug, above in (("holding", None), ("child", "holding"), ("leaf", "child"), ("other", None)):
        parents[slug] = make_tenant(slug, parent=parents[above] if above else None)
        accounts.create_service_account(parents[slug], f"svc-{slug}", name=slug, actor=root)
    for slug in ("holding", "other"):
        for agent_class in classes.values():
            bindings.enable_agent(parents[slug], agent_class, actor=root)
    bindings.disable_agent(parents["child"], classes["Writer"], actor=root)
    bindings.set_agent_permissions(parents["leaf"], classes["Support"], {"tool:kb.search": False}, actor=root)
    make_personas(root, classes)
    cast = {"root": root}
    for name, roles, slugs in (
        ("chief", EVERYTHING, TENANTS),
        ("viewer", (Role.VIEWER,), TENANTS),
        ("editor", (Role.EDITOR,), TENANTS),
        ("admin", (Role.ADMIN,), TENANTS),
        ("foreign", tuple(Role), ("other",)),
        ("above", EVERYTHING, ("holding",)),
        ("below", EVERYTHING, ("child",)),
        ("single", (), ()),
        ("gone", EVERYTHING, TENANTS),
        ("bearer", EVERYTHING, TENANTS),
    ):
        cast[name] = make_person(name)
        for slug in slugs:
            for role in roles:
                accounts.grant_role(parents[slug], cast[name].account, role, actor=root)
    site = AgentPersona.objects.get(name="Site")
    for right in (Right.CHANGE_PERSONA, Right.ACTIVATE_DIRECTIVE):
        accounts.grant_persona_right(site, cast["single"].account, right, actor=root)
    User.objects.filter(pk=cast["gone"].account.pk).update(is_active=False)
    service = User.objects.get(username="svc-holding")
    accounts.grant_role(parents["holding"], service, Role.EDITOR, actor=root)
    permissions.give(Right.ACTIVATE_DIRECTIVE, service, parents["holding"])  # a row that no service would write
    cast |= {"gone": Actor(User.objects.get(username="gone")), "service": Actor(service)}
    bearer = cast["bearer"].account
    for name, slug, may_review in (("plain token", "holding", False), ("other token", "other", True)):
        token, _ = tokens.create_token(parents[slug], bearer, name=name, may_review=may_review, actor=None)
        cast[name] = Actor(bearer, token=APIToken.objects.get(pk=token.pk))
    return cast


class Machine(RuleBasedStateMachine):
    """Each example starts from the same world and is taken back at its end."""

    cast: dict[str, Actor]
    actors: tuple[str, ...]
    places = TENANTS
    examples: int

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.before = grid()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    def drive(self, verb: str, name: str, data: Any) -> None:
        user = self.cast[name].account
        actor = Actor(User.objects.get(pk=user.pk), token=self.cast[name].token)  # nothing cached
        try:
            with transaction.atomic():
                DRIVES[verb](Hand(data, name, actor, self.places))
        except Refused:
            return  # and what it had written is rolled back
        after = grid()
        for key in self.before.keys() & after.keys():
            if self.before[key] != after[key]:
                self.judge(f"{name} by {verb}", verb, actor, self.before[key], after[key])
        self.before = after

    def judge(self, where: str, verb: str, actor: Actor, before: Resolved, after: Resolved) -> None:
        """Fail unless this actor may have changed the answer ``before`` to ``after`` by this verb."""
        raise NotImplementedError


def reviews(actor: Actor) -> tuple[set[str], set[str]]:
    """Ids of the personas and slugs of the tenants on which the actor holds the right."""
    right = Right.ACTIVATE_DIRECTIVE
    held = {str(pk) for pk in AgentPersona.objects.permitted(actor, right).values_list("pk", flat=True)}
    return held, set(Tenant.objects.permitted(actor, right).values_list("slug", flat=True))


class WithoutTheRight(Machine):
    examples = 100
    actors = (
        *("editor", "editor", "admin", "admin", "plain token", "plain token", "above", "below"),
        *("viewer", "foreign", "single", "gone", "service", "other token", "chief", "root"),
    )
    # Nobody gets these the right on anything outside `other`, whatever is granted meanwhile.
    never = ("gone", "service", "plain token", "other token")

    @rule(verb=verbs(EFFECTS, 5), name=st.sampled_from(actors), data=st.data())
    def step(self, verb: str, name: str, data: Any) -> None:
        granting = verb.startswith("accounts.") and name != "root"
        held, tenants = reviews(self.cast[name]) if granting else (set(), set())
        self.drive(verb, name, data)
        if granting:
            now_held, now_tenants = reviews(self.cast[name])
            assert now_held <= held and now_tenants <= tenants, f"{name} widened their own rights by {verb}"

    def judge(self, where: str, verb: str, actor: Actor, before: Resolved, after: Resolved) -> None:
        if actor.account.is_superuser or (verb in STOPS and is_stop(before, after)):
            return
        # Rights as they are after the step: no step gives any to the one who takes it.
        held, tenants = reviews(actor)
        changed = f"{where} changed {before} to {after}"
        assert self.never_outside(actor, tenants), changed
        if verb in STOPS:  # widened: whoever decides that holds the right in a tenant of the path
            assert tenants, changed
            return
        people = {before.persona_id, after.persona_id} - {None}
        assert people and people <= held, changed

    def never_outside(self, actor: Actor, tenants: set[str]) -> bool:
        return all(self.cast[name] != actor or tenants <= {"other"} for name in self.never)


class OneIsNotEnough(Machine):
    """`solo` holds the right everywhere and `helper` does not. What anybody writes bears their name."""

    examples = 80
    places = ("child",)  # few things, so that long stories are told about them
    actors = ("solo", "solo", "helper")

    @initialize(people=st.booleans())
    def rules(self, people: bool) -> None:
        self.people = people
        Tenant.objects.update(require_second_person=people, required_approvals=1 if people else 2)
        DirectiveProposal.objects.update(require_second_person=people, required_approvals=1 if people else 2)

    @rule(verb=verbs(REVIEW, 30), name=st.sampled_from(actors), data=st.data())
    def step(self, verb: str, name: str, data: Any) -> None:
        self.open = dict(DirectiveProposal.objects.pending().values_list("pk", "proposed_by__username"))
        self.drive(verb, name, data)

    def judge(self, where: str, verb: str, actor: Actor, before: Resolved, after: Resolved) -> None:
        assert self.people, f"{where} changed {before} to {after} where two approvals are required"
        assert verb == "review.approve", f"{where} changed {before} to {after} directly"
        decided = DirectiveProposal.objects.filter(pk__in=self.open).exclude(status="pending")
        approved = [self.open[row.pk] for row in decided if row.status == "approved"]
        assert approved and "solo" not in approved, f"solo approved a proposal of their own: {before} to {after}"
        theirs = [value for value in (after.instructions, after.acts_as) if value and value.startswith("solo")]
        assert not theirs, f"solo alone made {theirs} live"


@pytest.fixture
def stage(db: None) -> dict[str, Actor]:
    cast = make_world()
    for name, role in (("solo", Role.REVIEWER), ("helper", Role.EDITOR)):
        cast[name] = make_person(name)
        for slug in TENANTS:
            accounts.grant_role(Tenant.objects.get(slug=slug), cast[name].account, role, actor=superuser())
    return cast


@pytest.mark.parametrize("machine", [WithoutTheRight, OneIsNotEnough])
def test_nothing_served_changes_without_the_right(stage: dict[str, Actor], machine: type[Machine]) -> None:
    machine.cast = stage
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=machine.examples if connection.vendor == "sqlite" else 30,
            stateful_step_count=30,
            deadline=None,
            phases=[Phase.explicit, Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_every_service_is_driven_or_exempt_for_a_reason() -> None:
    services = public_services()
    aliases = {name for name in DRIVES if name not in services}
    assert not aliases
    assert services.keys() == DRIVES.keys() | EXEMPT.keys()
    assert not DRIVES.keys() & EXEMPT.keys()
