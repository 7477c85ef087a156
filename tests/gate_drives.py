"""How each public service is driven, with arguments that may make sense or not. For the property of the gate.

A service that is neither here nor in ``gate_exempt.py`` fails the test: whoever adds one says how it is driven.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from learning.domain.merge import merge3
from learning.models import DirectiveProposal
from learning.services import imports as proposal_imports
from learning.services import merging, proposals, review
from personas.actors import Actor
from personas.domain.imports import EditRecord, PersonaRecord
from personas.domain.rights import PERSONA_RIGHTS, Right, Role
from personas.domain.settings import PersonaSettings
from personas.domain.text import digest
from personas.models import (
    Activation,
    AgentClass,
    AgentPersona,
    APIToken,
    Invitation,
    PersonaRevision,
    RuleChangeRequest,
    Tenant,
    TenantRole,
    User,
)
from personas.services import (
    accounts,
    activation,
    agents,
    bindings,
    imports,
    invitations,
    members,
    personas,
    staff,
    tenants,
    tokens,
)

NAMES = ("Desk", "desk", "Site", "Night", "default")
CONTEXTS = (("", ""), ("site", ""), ("site", "1"))
OVERRIDES: tuple[dict[str, bool], ...] = ({}, {"tool:kb.search": False}, {"tool:ticket.close": True})
TOOLS = (None, (), ("kb.search", "ticket.close"))


@dataclass
class Hand:
    """Draws arguments. What it writes is marked with the name of the one who writes it."""

    data: Any
    name: str
    actor: Actor
    places: tuple[str, ...]  # slugs of the tenants it reaches for

    def one(self, values: Any) -> Any:
        return self.data.draw(st.sampled_from(list(values)))

    def text(self) -> str:
        return f"{self.name} says {self.one('abc')}."

    def persona(self) -> AgentPersona:
        order = ("tenant__slug", "agent_class__short", "name", "created_at")
        rows = AgentPersona.objects.filter(tenant__slug__in=self.places).select_related("tenant", "live_revision")
        return self.one(rows.order_by(*order))

    def revision(self, persona: AgentPersona) -> PersonaRevision:
        return self.one(persona.revisions.order_by("-number"))

    def live(self, persona: AgentPersona) -> PersonaRevision:
        """The live revision, or sometimes another one."""
        return self.one([*[persona.live_revision] * 4, self.revision(persona)])

    def proposal(self) -> DirectiveProposal:
        rows = DirectiveProposal.objects.filter(tenant__slug__in=self.places).order_by("-created_at")
        pending = [*rows.filter(status="pending")]
        return self.one([*pending, *pending, *rows.exclude(status="pending")] if pending else rows)

    def tenant(self) -> Tenant:
        return self.one(Tenant.objects.filter(slug__in=self.places).order_by("slug"))

    def agent_class(self) -> AgentClass:
        return self.one(AgentClass.objects.order_by("short"))

    def user(self) -> User:
        return self.one(User.objects.order_by("username"))

    def runner(self, tenant: Tenant) -> User:
        return self.one([*tenant.service_accounts.order_by("username"), self.actor.account])

    def settings(self, persona: AgentPersona) -> PersonaSettings:
        rest = ("allowed_tools", "run_as", "acts_as", "memory_scope")
        change = self.one(("name", "name", "context", "context", "priority", "priority", *rest))
        base = persona.settings
        if change == "context":
            kind, ident = self.one(CONTEXTS)
            return base.change(context_type=kind, context_id=ident)
        values: dict[str, Callable[[], Any]] = {
            "name": lambda: self.one(NAMES),
            "priority": lambda: self.one((0, 5, -5)),
            "allowed_tools": lambda: self.one(TOOLS),
            "run_as": lambda: str(self.runner(persona.tenant).pk),
            "acts_as": lambda: self.name,
            "memory_scope": lambda: self.one(("", "shared")),
        }
        return base.change(**{change: values[change]()})

    def content(self, persona: AgentPersona) -> dict[str, Any]:
        """A change of the text, of the settings, or of both."""
        part = self.one(("text", "settings", "settings", "both"))
        return {
            "instructions": self.text() if part != "settings" else None,
            "settings": self.settings(persona) if part != "text" else None,
        }

    def terms(self) -> imports.Terms:
        tenant = self.tenant()
        return imports.Terms(
            tenant=tenant,
            agent_class=self.agent_class(),
            run_as=self.runner(tenant),
            actor=self.actor,
            enable=self.one((True, False)),
            context_type=self.one(("", "site")),
            dry_run=self.one((False, False, True)),
        )


Drive = Callable[[Hand], Any]


def activate(hand: Hand) -> Any:
    persona = hand.persona()
    archive = hand.one((False, False, True))
    return activation.activate_revision(
        persona,
        hand.revision(persona),
        actor=hand.actor,
        verb=hand.one(Activation.Verb),
        enabled=False if archive else hand.one((None, True, False)),
        archive=archive,
    )


def create(hand: Hand) -> Any:
    tenant = hand.tenant()
    kind, ident = hand.one(CONTEXTS)
    settings = PersonaSettings(
        name=hand.one(NAMES),
        run_as=str(hand.runner(tenant).pk),
        context_type=kind,
        context_id=ident,
        priority=hand.one((0, 5)),
    )
    return personas.create_persona(
        tenant,
        hand.agent_class(),
        instructions=hand.text(),
        settings=settings,
        actor=hand.actor,
        enable=hand.one((True, False)),
        origin=hand.one((PersonaRevision.Origin.CREATED, PersonaRevision.Origin.IMPORT)),
    )


def write(hand: Hand) -> Any:
    persona = hand.persona()
    return personas.write_revision(
        persona,
        instructions=hand.text(),
        settings=hand.settings(persona).cleaned(),
        actor=hand.actor,
        origin=PersonaRevision.Origin.EDIT,
    )


def revise(hand: Hand) -> Any:
    persona = hand.persona()
    return personas.revise_persona(
        persona, actor=hand.actor, expected_revision=hand.live(persona), **hand.content(persona)
    )


def roll_back(hand: Hand) -> Any:
    persona = hand.persona()
    return personas.roll_back(persona, to=hand.revision(persona), actor=hand.actor, reason="back")


def propose(hand: Hand) -> Any:
    persona = hand.persona()
    content = hand.one(({}, hand.content(persona)))
    return proposals.propose(
        persona,
        actor=hand.actor,
        action=hand.one(DirectiveProposal.Action),
        base=hand.one((None, hand.live(persona))),
        **content,
    )


def change(hand: Hand) -> Any:
    persona = hand.persona()
    return proposals.change_persona(persona, actor=hand.actor, note="", **hand.content(persona))


def change_state(hand: Hand) -> Any:
    return proposals.change_state(hand.persona(), hand.one(proposals.STATES), actor=hand.actor, reason="because")


def change_back(hand: Hand) -> Any:
    persona = hand.persona()
    return proposals.change_back(persona, to=hand.revision(persona), actor=hand.actor, reason="back")


def approve(hand: Hand) -> Any:
    proposal = hand.proposal()
    shown = review.text_to_decide(proposal)
    return review.approve(
        proposal,
        actor=hand.actor,
        expected_revision=hand.live(proposal.persona),
        seen_sha256=hand.one((digest(shown), digest(shown), "")),
        instructions=hand.one((None, None, hand.text())),
    )


def merge(hand: Hand) -> Any:
    stale = DirectiveProposal.objects.stale().filter(tenant__slug__in=hand.places).order_by("created_at")
    proposal = hand.one(stale) if stale.exists() else hand.proposal()
    live = proposal.persona.live_revision
    merged = merge3(proposal.base_revision.instructions, proposal.instructions, live.instructions)
    return merging.merge_onto_live(
        proposal,
        actor=hand.actor,
        instructions=merged.text or proposal.instructions,
        expected_revision=hand.live(proposal.persona),
    )


def make_token(hand: Hand) -> Any:
    return tokens.create_token(
        hand.tenant(), hand.user(), name="t", may_review=hand.one((True, False)), actor=hand.actor
    )


def revoke_token(hand: Hand) -> Any:
    return tokens.revoke_token(hand.one(APIToken.objects.order_by("digest")), actor=hand.actor)


def set_rules(hand: Hand) -> Any:
    return tenants.set_review_rules(
        hand.tenant(),
        require_second_person=hand.one((True, False)),
        required_approvals=hand.one((1, 2)),
        actor=hand.actor,
    )


def invite(hand: Hand) -> Any:
    return invitations.invite_member(
        hand.tenant(), f"{hand.one('ab')}@example.test", roles=[hand.one(Role)], actor=hand.actor
    )


def revoke_invitation(hand: Hand) -> Any:
    waiting = Invitation.objects.waiting().order_by("created_at")
    return invitations.revoke_invitation(hand.one(waiting) if waiting else invite(hand)[0], actor=hand.actor)


def ask_to_lower(hand: Hand) -> Any:
    return tenants.ask_to_lower_rules(
        hand.tenant(),
        require_second_person=hand.one((True, False)),
        required_approvals=hand.one((1, 2)),
        actor=hand.actor,
    )


def decide_rules(hand: Hand) -> Any:
    waiting = RuleChangeRequest.objects.order_by("created_at")
    request = hand.one(waiting) if waiting else ask_to_lower(hand)
    return hand.one((tenants.confirm_rule_change, tenants.decline_rule_change))(request, actor=hand.actor)


def service_account(hand: Hand) -> User:
    return hand.one(User.objects.filter(kind=User.Kind.SERVICE).order_by("username"))


def set_flags(hand: Hand) -> Any:
    roles = TenantRole.objects.filter(tenant__in=[hand.tenant()]).order_by("role")
    return staff.set_account_flags(
        hand.user(),
        actor=hand.actor,
        is_active=hand.one((None, None, False)),
        is_staff=hand.one((None, True)),
        is_superuser=hand.one((None, None, False)),
        give=hand.one(((), roles)),
        take=hand.one(((), roles)),
    )


def import_personas(hand: Hand) -> Any:
    record = PersonaRecord(name=hand.one(NAMES), instructions=hand.text(), line=1, source="file")
    return hand.one((imports.import_personas, imports.place_personas))([record], hand.terms())


def import_proposals(hand: Hand) -> Any:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    record = EditRecord("k", hand.one(NAMES), "Be kind.", hand.text(), "note", moment, 1, "file")
    return proposal_imports.import_proposals([record], hand.terms())


DRIVES: dict[str, Drive] = {
    "accounts.grant_role": lambda h: accounts.grant_role(h.tenant(), h.user(), h.one(Role), actor=h.actor),
    "accounts.revoke_role": lambda h: accounts.revoke_role(h.tenant(), h.user(), h.one(Role), actor=h.actor),
    "accounts.grant_persona_right": lambda h: accounts.grant_persona_right(
        h.persona(), h.user(), h.one(sorted(PERSONA_RIGHTS)), actor=h.actor
    ),
    "accounts.revoke_persona_right": lambda h: accounts.revoke_persona_right(
        h.persona(), h.user(), h.one((Right.VIEW_PERSONA, Right.CHANGE_PERSONA)), actor=h.actor
    ),
    "accounts.activate_service_account": lambda h: accounts.activate_service_account(service_account(h), actor=h.actor),
    "accounts.deactivate_service_account": lambda h: accounts.deactivate_service_account(
        service_account(h), actor=h.actor
    ),
    "activation.activate_revision": activate,
    "agents.define_agent_class": lambda h: agents.define_agent_class(
        "@acme/agents:Third", display_name="Third", manifest={}, actor=h.actor
    ),
    "agents.publish_manifest": lambda h: agents.publish_manifest(
        h.agent_class(), {"instructions": h.text()}, actor=h.actor
    ),
    "bindings.enable_agent": lambda h: bindings.enable_agent(h.tenant(), h.agent_class(), actor=h.actor),
    "bindings.disable_agent": lambda h: bindings.disable_agent(h.tenant(), h.agent_class(), actor=h.actor),
    "bindings.set_agent_permissions": lambda h: bindings.set_agent_permissions(
        h.tenant(), h.agent_class(), h.one(OVERRIDES), actor=h.actor
    ),
    "bindings.set_agent_enforced": lambda h: bindings.set_agent_enforced(
        h.tenant(), h.agent_class(), enforced=h.one((True, False)), actor=h.actor
    ),
    "bindings.clear_agent_override": lambda h: bindings.clear_agent_override(
        h.tenant(), h.agent_class(), actor=h.actor
    ),
    "imports.import_personas": import_personas,
    "imports.import_proposals": import_proposals,
    "imports.place_personas": import_personas,
    "personas.archive_persona": lambda h: personas.archive_persona(h.persona(), actor=h.actor),
    "personas.create_persona": create,
    "invitations.invite_member": invite,
    "invitations.revoke_invitation": revoke_invitation,
    "members.remove_member": lambda h: members.remove_member(h.tenant(), h.user(), actor=h.actor),
    "members.retire_account": lambda h: members.retire_account(h.user(), actor=h.actor),
    "personas.describe_persona": lambda h: personas.describe_persona(h.persona(), description=h.text(), actor=h.actor),
    "personas.disable_persona": lambda h: personas.disable_persona(h.persona(), actor=h.actor),
    "personas.enable_persona": lambda h: personas.enable_persona(h.persona(), actor=h.actor),
    "personas.restore_persona": lambda h: personas.restore_persona(h.persona(), actor=h.actor),
    "personas.revise_persona": revise,
    "personas.roll_back": roll_back,
    "personas.set_locked": lambda h: personas.set_locked(h.persona(), locked=h.one((True, False)), actor=h.actor),
    "personas.write_revision": write,
    "proposals.change_back": change_back,
    "proposals.change_persona": change,
    "proposals.change_state": change_state,
    "proposals.propose": propose,
    "review.approve": approve,
    "review.close_pending": lambda h: review.close_pending(h.persona(), h.actor),
    "review.comment": lambda h: review.comment(h.proposal(), actor=h.actor, note="Hm."),
    "merging.merge_onto_live": merge,
    "review.reject": lambda h: review.reject(h.proposal(), actor=h.actor, note="No."),
    "staff.set_account_flags": set_flags,
    "tenants.create_tenant": lambda h: tenants.create_tenant("new", name="New", parent=h.tenant(), actor=h.actor),
    "tenants.move_tenant": lambda h: tenants.move_tenant(
        h.tenant(), to=h.one((None, *Tenant.objects.order_by("slug"))), actor=h.actor
    ),
    "tenants.ask_to_lower_rules": ask_to_lower,
    "tenants.confirm_rule_change": decide_rules,
    "tenants.decline_rule_change": decide_rules,
    "tenants.rename_tenant": lambda h: tenants.rename_tenant(h.tenant(), name=h.text(), actor=h.actor),
    "tenants.set_review_rules": set_rules,
    "tokens.create_token": make_token,
    "tokens.revoke_token": revoke_token,
}
# What a person with `manage-bindings` may do without the right: make an agent do less.
STOPS = {name for name in DRIVES if name.startswith("bindings.")}
