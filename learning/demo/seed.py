"""Filling an empty database with the demo, through the services that people use."""

from django.db import transaction

from learning.demo import cast, proposals
from learning.demo.personas import PERSONAS, PersonaSpec
from learning.demo.proposals import CHAT_DESK, ProposalSpec
from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.errors import Conflict
from personas.domain.rights import Role
from personas.domain.settings import PersonaSettings
from personas.domain.text import digest
from personas.models import AgentClass, AgentPersona, PersonaRevision, Tenant, User
from personas.services import accounts, agents, bindings, personas, tenants

Origin = DirectiveProposal.Origin


@transaction.atomic
def seed() -> bool:
    """Make the demo, and say whether that was necessary: where its tenants are nothing changes.

    Raises `Conflict` when the database holds other tenants, or accounts with the demo's names.
    """
    slugs = {slug for slug, _, _ in cast.TENANTS}
    there = set(Tenant.objects.values_list("slug", flat=True))
    if slugs <= there:
        return False
    if there:
        raise Conflict(
            f"The database holds other tenants ({', '.join(sorted(there)[:3])}): the demo needs an empty one."
        )
    names = [cast.STAFF[0], *(row[0] for row in cast.PEOPLE), *(row[0] for row in cast.SERVICES)]
    if taken := User.objects.filter(username__in=names).first():
        raise Conflict(f"There is an account “{taken.username}” already: the demo needs that name.")
    _Seeding().run()
    return True


class _Seeding:
    """The demo while it is made: what exists so far, by its name."""

    def __init__(self) -> None:
        username, name = cast.STAFF
        self.staff = Actor(User.objects.create_superuser(username, cast.PASSWORD, name=name))
        self.actors: dict[str, Actor] = {username: self.staff}
        self.tenants: dict[str, Tenant] = {}
        self.classes: dict[str, AgentClass] = {}
        self.personas: dict[str, AgentPersona] = {}

    def run(self) -> None:
        self.make_tenants()
        self.make_people()
        self.make_agents()
        for spec in PERSONAS:
            self.make_persona(spec)
        self.make_history()
        for waiting in proposals.PENDING_AFTER:
            self.propose(waiting)
        personas.set_locked(self.live("Harbour depot"), locked=True, actor=self.actors["reviewer"])

    def make_tenants(self) -> None:
        for slug, name, parent in cast.TENANTS:
            above = self.tenants[parent] if parent else None
            self.tenants[slug] = tenants.create_tenant(slug, name=name, parent=above, actor=self.staff)

    def make_people(self) -> None:
        for username, name, roles, slugs, _ in cast.PEOPLE:
            email = f"{username}@example.test"
            person = accounts.create_person(username, name=name, email=email, password=cast.PASSWORD, actor=self.staff)
            self.actors[username] = Actor(person)
            for slug in slugs:
                for role in roles:
                    accounts.grant_role(self.tenants[slug], person, role, actor=self.staff)
        for username, name, slug in cast.SERVICES:
            account = accounts.create_service_account(self.tenants[slug], username, name=name, actor=self.staff)
            # So that a runtime may propose.
            accounts.grant_role(self.tenants[slug], account, Role.EDITOR, actor=self.staff)
            self.actors[username] = Actor(account)

    def make_agents(self) -> None:
        for canonical, name, manifest in cast.CLASSES:
            self.classes[name] = agents.define_agent_class(
                canonical, display_name=name, manifest=manifest, actor=self.staff
            )
        for slug, name, permissions, enforced in cast.BINDINGS:
            tenant, agent_class = self.tenants[slug], self.classes[name]
            bindings.enable_agent(tenant, agent_class, actor=self.staff)
            if permissions:
                bindings.set_agent_permissions(tenant, agent_class, permissions, actor=self.staff)
            if enforced:
                bindings.set_agent_enforced(tenant, agent_class, enforced=True, actor=self.staff)

    def make_persona(self, spec: PersonaSpec) -> None:
        settings = PersonaSettings(
            name=spec.name,
            run_as=str(self.actors[f"svc-{spec.tenant}"].account.pk),
            context_type=spec.context[0],
            context_id=spec.context[1],
            priority=spec.priority,
            allowed_tools=spec.tools,
            slots=spec.slots,
        )
        self.personas[spec.name] = personas.create_persona(
            self.tenants[spec.tenant],
            self.classes[spec.agent_class],
            instructions=spec.text,
            settings=settings,
            actor=self.actors[spec.by],
            description=spec.description,
            enable=spec.enable,
            note="First version.",
        )

    def make_history(self) -> None:
        """Decisions, direct edits and a rollback, so that there is something to look back on."""
        reviewer = self.actors["reviewer"]
        self.approve(self.propose(proposals.APPROVED), note="Checked against ten complaints: this is what was missing.")
        before = self.revision("Front desk")
        self.revise("Front desk", proposals.FRONT_DESK_TRIAL, note="A week of cheerful answers, as marketing asked.")
        reason = "People found it flippant; the ratings fell."
        personas.roll_back(self.live("Front desk"), to=before, actor=reviewer, reason=reason)

        chat = CHAT_DESK.replace("At most 60 words", "At most 80 words")
        self.revise("Chat desk", chat, note="60 words cut steps apart.")
        self.revise("Chat desk", CHAT_DESK, note="80 words do not fit on a phone.")

        self.propose(proposals.STALE)  # the next decision makes it stale
        self.approve(
            self.propose(proposals.EDITED),
            text=proposals.HELP_DESK_EDITED,
            note="Reminding yes, closing no: nobody's ticket should vanish over a holiday.",
        )
        review.reject(self.propose(proposals.REJECTED), actor=reviewer, note=proposals.REJECTED_NOTE)

    def live(self, name: str) -> AgentPersona:
        """The persona as it is now."""
        self.personas[name].refresh_from_db()
        return self.personas[name]

    def revision(self, name: str) -> PersonaRevision:
        """Its live revision."""
        revision = self.live(name).live_revision
        assert revision is not None
        return revision

    def revise(self, name: str, text: str, *, note: str) -> None:
        personas.revise_persona(self.live(name), actor=self.actors["reviewer"], instructions=text, note=note)

    def propose(self, spec: ProposalSpec) -> DirectiveProposal:
        actor, persona = self.actors[spec.by], self.live(spec.persona)
        return propose(
            persona,
            actor=actor,
            instructions=spec.text,
            settings=persona.settings.change(**spec.changes) if spec.changes else None,
            rationale=spec.rationale,
            action=spec.action,
            confidence=spec.certainty,
            origin=Origin.RUNTIME if actor.account.is_service else Origin.PERSON,
        )

    def approve(self, proposal: DirectiveProposal, *, note: str, text: str | None = None) -> None:
        review.approve(
            proposal,
            actor=self.actors["reviewer"],
            expected_revision=self.revision(proposal.persona.name),
            seen_sha256=digest(proposal.instructions),
            instructions=text,
            note=note,
        )
