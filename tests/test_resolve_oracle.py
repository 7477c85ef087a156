"""The statement of resolve against the plain rules, over whole worlds: the answers are equal in everything."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from personas.domain.bindings import Binding, fold, limit_tools
from personas.domain.errors import UnknownAgentClass
from personas.domain.resolution import Candidate, Context, memory_scope, subscriber, walk
from personas.domain.settings import PersonaSettings
from personas.domain.text import name_key
from personas.models import (
    AgentClass,
    AgentPersona,
    APIToken,
    PersonaRevision,
    Tenant,
    TenantAgent,
    TenantAncestor,
    TenantGroupObjectPermission,
    TenantUserObjectPermission,
    User,
)
from personas.resolve import Resolved, resolve_for_tenant, resolve_for_token
from tests.factory import make_class, superuser

NAMES = ["desk", "Desk", "DESK", "zebra", "Straße", "STRASSE", "Éclair", "éclair", "ωmega", "default", "Z", "a"]
CONTEXTS: list[Context] = [("", ""), ("site", ""), ("site", "1"), ("shop", "1")]
ASKED: list[Context] = [*CONTEXTS, ("site", "2"), ("shop", ""), ("Site", "1"), ("", "1")]
TOOLS: list[tuple[str, ...] | None] = [None, None, (), ("kb.search",), ("ticket.close", "other", "kb.search")]
OVERRIDES: list[dict[str, bool]] = [
    {},
    {"tool:kb.search": False},
    {"tool:ticket.close": True},
    {"tool:other": True, "network": False},
]
TEXTS = ["", "Be kind.", "Be brief.\n"]
KINDS = ("person", "super", "inactive", "inactive super", "service")
GRANTS = ("direct", "group", "none", "other right", "other tenant")
MOMENTS = ("forever", "later", "expired", "revoked")


@dataclass(frozen=True)
class PersonaSpec:
    tenant: int
    agent_class: int
    name: str
    context: Context
    priority: int
    state: str
    text: str
    tools: tuple[str, ...] | None
    memory: str
    acts_as: str


@dataclass(frozen=True)
class WorldSpec:
    parents: list[int | None]
    personas: list[PersonaSpec]
    bindings: dict[tuple[int, int], tuple[str, bool, dict[str, bool]]]
    tokens: list[tuple[int, str, str, str]]


@st.composite
def worlds(draw: Any) -> WorldSpec:
    """Up to six tenants in chains rather than bushes, and personas that crowd few places with equal priorities."""
    size = draw(st.integers(1, 6))
    parents = [None, *(draw(st.sampled_from([i - 1, i - 1, i - 1, i // 2, None])) for i in range(1, size))]
    tenant = st.integers(0, size - 1)
    contexts = draw(st.sampled_from([CONTEXTS, CONTEXTS[:1], CONTEXTS[:2], CONTEXTS[2:3]]))
    persona = st.builds(
        PersonaSpec,
        tenant,
        st.sampled_from([0, 0, 0, 1, 2]),
        st.sampled_from(NAMES),
        st.sampled_from(contexts),
        st.sampled_from(draw(st.sampled_from([[0], [0, 0, 1, -1]]))),
        st.sampled_from(["enabled"] * 4 + ["disabled", "archived"]),
        st.sampled_from(TEXTS),
        st.sampled_from(TOOLS),
        st.sampled_from(["", "", "shared"]),
        st.sampled_from(["", "Robbie"]),
    )
    binding = st.tuples(st.sampled_from(["active", "active", "disabled"]), st.booleans(), st.sampled_from(OVERRIDES))
    token = st.tuples(tenant, st.sampled_from(KINDS), st.sampled_from(GRANTS), st.sampled_from(MOMENTS))
    return WorldSpec(
        parents,
        draw(st.lists(persona, max_size=14)),
        draw(st.dictionaries(st.tuples(tenant, st.integers(0, 2)), binding, max_size=8)),
        draw(st.lists(token, max_size=6)),
    )


@dataclass
class Stage:
    """What all worlds share: three agent classes (one without a manifest), and the accounts that personas run as."""

    classes: list[AgentClass]
    runners: list[User]
    right: Permission
    other_right: Permission


@pytest.fixture
def stage(db: None) -> Stage:
    bare = AgentClass.objects.create(canonical="@acme/agents:Bare", short="Bare", display_name="Bare")
    rights = Permission.objects.filter(content_type__app_label="personas", content_type__model="tenant")
    superuser()
    return Stage(
        [make_class(), make_class("Writer", permissions={"network": True}, memory_scope="writers"), bare],
        [User.objects.create(username=f"runner-{number}") for number in range(2)],
        rights.get(codename="view_tenant"),
        rights.get(codename="change_tenant"),
    )


@dataclass
class Built:
    """A world in the database, and the same in the words of the rules."""

    stage: Stage
    tenants: list[Tenant]
    paths: list[list[int]]
    rows: dict[uuid.UUID, tuple[AgentPersona, PersonaSpec, PersonaRevision]] = field(default_factory=dict)
    bindings: dict[tuple[int, int], Binding] = field(default_factory=dict)
    tokens: list[tuple[APIToken, int, str]] = field(default_factory=list)


def build(spec: WorldSpec, stage: Stage) -> Built:
    tenants = [Tenant(slug=f"w-{number}", name=f"W {number}") for number in range(len(spec.parents))]
    paths: list[list[int]] = []
    for number, parent in enumerate(spec.parents):
        tenants[number].parent_id = None if parent is None else tenants[parent].pk
        paths.append([number, *(paths[parent] if parent is not None else [])])
    Tenant.objects.bulk_create(tenants)
    TenantAncestor.objects.bulk_create(
        TenantAncestor(tenant=tenants[path[0]], ancestor=tenants[above], distance=distance)
        for path in paths
        for distance, above in enumerate(path)
    )
    built = Built(stage, tenants, paths)
    _build_personas(spec, built)
    rows = []
    for (tenant, number), (status, enforced, permissions) in spec.bindings.items():
        agent_class = stage.classes[number]
        rows.append(
            TenantAgent(
                tenant=tenants[tenant],
                agent_class=agent_class,
                status=status,
                enforced=enforced,
                permissions=permissions,
            )
        )
        built.bindings[tenant, number] = Binding(status == "active", enforced, permissions)
    TenantAgent.objects.bulk_create(rows)
    _build_tokens(spec, built)
    return built


def _build_personas(spec: WorldSpec, built: Built) -> None:
    taken = set()
    for number, item in enumerate(spec.personas):
        place = item.tenant, item.agent_class, item.name
        if item.state != "archived" and place in taken:
            continue
        taken.add(place) if item.state != "archived" else None
        runner = built.stage.runners[number % 2]
        data = PersonaSettings(
            name=item.name,
            run_as=str(runner.pk),
            context_type=item.context[0],
            context_id=item.context[1],
            priority=item.priority,
            allowed_tools=item.tools,
            acts_as=item.acts_as,
            memory_scope=item.memory,
        )
        persona = AgentPersona(
            tenant=built.tenants[item.tenant],
            agent_class=built.stage.classes[item.agent_class],
            name=item.name,
            name_key=name_key(item.name),
            context_type=item.context[0],
            context_id=item.context[1],
            priority=item.priority,
            run_as=runner,
            enabled=item.state == "enabled",
            archived_at=timezone.now() if item.state == "archived" else None,
        )
        revision = PersonaRevision(
            persona=persona,
            number=number + 1,
            instructions=item.text,
            settings=data.dump(),
            sha256="0" * 64,
            text_sha256="0" * 64,
            author=runner,
            author_name="x",
            origin="created",
        )
        persona.live_revision_id = revision.pk
        built.rows[persona.pk] = persona, item, revision
    AgentPersona.objects.bulk_create(persona for persona, _, _ in built.rows.values())
    PersonaRevision.objects.bulk_create(revision for _, _, revision in built.rows.values())


def _build_tokens(spec: WorldSpec, built: Built) -> None:
    elsewhere = Tenant(slug="elsewhere", name="Elsewhere")
    Tenant.objects.bulk_create([elsewhere])
    for number, (tenant, kind, grant, moment) in enumerate(spec.tokens):
        owner = User(
            username=f"owner-{number}",
            is_active=not kind.startswith("inactive"),
            is_superuser=kind.endswith("super"),
            kind="service" if kind == "service" else "person",
            tenant=built.tenants[tenant] if kind == "service" else None,
        )
        owner.save(force_insert=True)
        right = built.stage.other_right if grant == "other right" else built.stage.right
        target = elsewhere if grant == "other tenant" else built.tenants[tenant]
        if grant in ("group", "other tenant"):
            group = Group.objects.create(name=f"group-{number}")
            owner.groups.add(group)
            TenantGroupObjectPermission.objects.bulk_create(
                [TenantGroupObjectPermission(group=group, permission=right, content_object=target)]
            )
        elif grant != "none":
            TenantUserObjectPermission.objects.bulk_create(
                [TenantUserObjectPermission(user=owner, permission=right, content_object=target)]
            )
        now = timezone.now()
        token = APIToken(
            tenant=built.tenants[tenant],
            user=owner,
            name="t",
            prefix="per_",
            digest=f"{number:064}",
            revoked_at=now if moment == "revoked" else None,
            expires_at={"later": now + timedelta(hours=1), "expired": now}.get(moment),
            last_used_at=now if number % 2 else None,
        )
        if kind.startswith("inactive") or moment in ("revoked", "expired"):
            standing = "nobody"
        else:
            standing = "may" if kind == "super" or grant in ("direct", "group") else "may not"
        built.tokens.append((token, tenant, standing))
    APIToken.objects.bulk_create(token for token, _, _ in built.tokens)


def expected(built: Built, tenant: int, number: int, context: Context) -> Resolved:
    """The answer by the plain rules, without the database."""
    agent_class, path = built.stage.classes[number], built.paths[tenant]
    by_tenant: dict[int, list[Candidate]] = {}
    for pk, (_, item, _) in built.rows.items():
        if item.agent_class == number:
            candidate = Candidate(pk, item.tenant, item.name, item.context, item.priority, item.state == "enabled")
            by_tenant.setdefault(item.tenant, []).append(candidate)
    manifest = agent_class.manifest
    bindings: Sequence[Binding | None] = [built.bindings.get((level, number)) for level in path]
    availability = fold(bindings, manifest.permissions if manifest else {})
    won = walk(path, by_tenant, context)
    persona, item, revision = built.rows[won[1].id] if won else (None, None, None)
    name = item.name if item else "default"
    ident = str(persona.pk) if persona else None
    key, address = subscriber(agent_class.canonical, ident, name)
    tools = manifest.tools if manifest else []
    if item and item.tools is not None:
        tools = list(item.tools)
    slug = built.tenants[tenant].slug
    return Resolved(
        tenant=slug,
        agent_class=agent_class.canonical,
        manifest_version=manifest.number if manifest else None,
        persona_id=ident,
        name=name,
        instructions=(item.text if item else "") or (manifest.instructions if manifest else ""),
        revision=revision.number if revision else None,
        allowed_tools=limit_tools(tools, availability),
        run_as=persona.run_as.username if persona else None,
        acts_as=(item.acts_as if item else "") or None,
        memory_scope=memory_scope(
            agent_class.canonical,
            slug,
            context,
            persona_id=ident,
            persona=item.memory if item else "",
            manifest=manifest.memory_scope if manifest else "",
        ),
        priority=item.priority if item else 0,
        context_type=context[0] or None,
        context_id=context[1] or None,
        source="persona" if item else "default",
        persona_source=("explicit" if item.tenant == tenant else "inherited") if item else None,
        source_tenant=built.tenants[item.tenant].slug if item else None,
        available=availability.available,
        instance_key=key,
        dispatch_subscriber=address,
    )


def check_world(built: Built) -> None:
    for number, agent_class in enumerate(built.stage.classes):
        for context in ASKED:
            for tenant, row in enumerate(built.tenants):
                answer = expected(built, tenant, number, context)
                name = agent_class.canonical if tenant % 2 else agent_class.short
                assert resolve_for_tenant(row, name, context) == answer
            for token, tenant, standing in built.tokens:
                use = resolve_for_token(token.digest, agent_class.canonical, context)
                if standing == "nobody":
                    assert use is None
                    continue
                assert use is not None
                assert (use.token_id, use.last_used_at) == (token.pk, token.last_used_at)
                answer = expected(built, tenant, number, context)
                assert use.answer == (answer if standing == "may" else None)
    assert resolve_for_token("f" * 64, "Support", ("", "")) is None
    for token, _, standing in built.tokens:
        if standing == "may":
            with pytest.raises(UnknownAgentClass):
                resolve_for_token(token.digest, "support", ("", ""))


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(worlds())
def test_the_statement_answers_as_the_rules_do(stage: Stage, spec: WorldSpec) -> None:
    with transaction.atomic():
        check_world(build(spec, stage))
        transaction.set_rollback(True)


def test_an_unknown_class_comes_with_the_nearest_names(stage: Stage) -> None:
    built = build(WorldSpec([None], [], {}, []), stage)
    with pytest.raises(UnknownAgentClass, match="Did you mean @acme/agents:Support") as refusal:
        resolve_for_tenant(built.tenants[0], "suport", ("", ""))
    assert refusal.value.suggestions == ["@acme/agents:Support"]


def test_one_statement_and_no_transaction(stage: Stage) -> None:
    built = build(WorldSpec([None, 0, 1], [], {}, [(2, "person", "direct", "forever")]), stage)
    with CaptureQueriesContext(
        connection,
    ) as statements:
        resolve_for_token(built.tokens[0][0].digest, "Support", ("site", "1"))
    assert len(statements) == 1
