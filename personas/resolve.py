"""Which persona answers, in one SQL statement and no transaction: the hot path.

The rules are those of ``personas/domain``; the tests compare the two. One row comes back for each level of the tenant's
path that has a binding or is the tenant itself or the winner's; the winner's text only on its own row.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.db import connection
from django.utils import timezone

from personas.domain.bindings import Binding, fold, limit_tools
from personas.domain.errors import UnknownAgentClass
from personas.domain.resolution import DEFAULT_NAME, Context, memory_scope, subscriber
from personas.models import AgentClass, Tenant

# A scalar subselect, not EXISTS: PostgreSQL would hash EXISTS under OR over all permission rows.
_GRANTED = """(SELECT 1 FROM {source} JOIN auth_permission pm ON pm.id = x.permission_id
        JOIN django_content_type ct ON ct.id = pm.content_type_id
        WHERE {owner} AND x.content_object_id = n.tenant_id AND pm.codename = 'view_tenant'
          AND ct.app_label = 'personas' AND ct.model = 'tenant' LIMIT 1) IS NOT NULL"""
_MAY = f"""CASE WHEN n.distance = 0 THEN u.is_superuser {{true}}
      OR {_GRANTED.format(source="personas_tenantuserobjectpermission x", owner="x.user_id = t.user_id")}
      OR {
    _GRANTED.format(
        source="personas_user_groups g JOIN personas_tenantgroupobjectpermission x ON x.group_id = g.group_id",
        owner="g.user_id = t.user_id",
    )
} END"""
_BY_TOKEN = """personas_apitoken t JOIN personas_user u ON u.id = t.user_id
    JOIN personas_tenantancestor n ON n.tenant_id = t.tenant_id"""
_TOKEN_IS_VALID = """t.digest = %(digest)s AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > %(now)s) AND u.is_active {true}"""
# One index probe for each specificity. A join with ORDER BY made SQLite scan every persona.
_PROBE = """(SELECT p.id FROM personas_agentpersona p WHERE p.tenant_id = n.ancestor_id AND p.agent_class_id = c.id
        AND p.enabled {{true}} AND p.context_type = {kind} AND p.context_id = {ident}
        ORDER BY p.priority DESC, p.name_key, p.name LIMIT 1)"""
_STATEMENT = f"""
WITH lv AS (
  SELECT n.tenant_id, {{token}} AS token_id, {{used}} AS last_used_at, {{may}} AS may,
    c.id AS class_id, c.canonical, c.manifest_id, n.distance, n.ancestor_id, b.status, b.enforced, b.permissions,
    COALESCE({_PROBE.format(kind="%(kind)s", ident="%(ident)s")},
      {_PROBE.format(kind="%(kind)s", ident="''")},
      {_PROBE.format(kind="''", ident="''")}) AS pid
  FROM {{source}}
    LEFT JOIN personas_agentclass c ON c.canonical = %(agent_class)s OR c.short = %(agent_class)s
    LEFT JOIN personas_tenantagent b ON b.tenant_id = n.ancestor_id AND b.agent_class_id = c.id
  WHERE {{condition}}
)
SELECT lv.token_id, lv.last_used_at, lv.may, lv.canonical, lv.distance, lv.status, lv.enforced, lv.permissions,
  w.slug, p.id, p.priority, a.username, r.number, r.settings, r.instructions,
  m.number, m.permissions, m.tools, m.memory_scope, m.instructions
FROM lv JOIN personas_tenant w ON w.id = lv.ancestor_id
  LEFT JOIN personas_manifestversion m ON m.id = lv.manifest_id AND lv.distance = 0
  LEFT JOIN personas_agentpersona p ON p.id = lv.pid
    AND lv.distance = (SELECT MIN(distance) FROM lv WHERE pid IS NOT NULL)
  LEFT JOIN personas_personarevision r ON r.id = p.live_revision_id
  LEFT JOIN personas_user a ON a.id = p.run_as_id
WHERE lv.distance = 0 OR lv.status IS NOT NULL OR lv.pid IS NOT NULL
ORDER BY lv.distance
"""


def _text(by_token: bool, true: str) -> str:
    return _STATEMENT.format(
        token="t.id" if by_token else "NULL",
        used="t.last_used_at" if by_token else "NULL",
        may=_MAY.format(true=true) if by_token else "1 = 1",
        source=_BY_TOKEN if by_token else "personas_tenantancestor n",
        condition=_TOKEN_IS_VALID.format(true=true) if by_token else "n.tenant_id = %(tenant)s",
        true=true,
    )


# SQLite uses a partial index only for the very words it was made with: "enabled" = 1.
STATEMENTS = {
    (vendor, by_token): _text(by_token, true)
    for vendor, true in (("postgresql", ""), ("sqlite", "= 1"))
    for by_token in (True, False)
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """Everything `resolve` answers; ``persona_id`` None is the manifest's default."""

    tenant: str
    agent_class: str
    manifest_version: int | None
    persona_id: str | None
    name: str
    instructions: str
    revision: int | None
    allowed_tools: list[str]
    run_as: str | None
    acts_as: str | None
    memory_scope: str
    priority: int
    context_type: str | None
    context_id: str | None
    source: str
    persona_source: str | None
    source_tenant: str | None
    available: bool
    instance_key: str | None
    dispatch_subscriber: str
    profile_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Who asked: the token, and when it was used last. ``answer`` is None if its account may not see the tenant."""

    token_id: uuid.UUID
    last_used_at: datetime | None
    answer: Resolved | None


def resolve_for_tenant(tenant: Tenant, agent_class: str, context: Context) -> Resolved:
    """The answer for a tenant, for pages that have checked who asks. Raises `UnknownAgentClass`."""
    rows = _rows(False, {"tenant": tenant.pk, **_question(agent_class, context)})
    return _answer(rows, agent_class, context)


def resolve_for_token(digest: str, agent_class: str, context: Context) -> TokenUse | None:
    """The answer for whoever holds the token with this digest; None if there is no such valid token.

    Raises `UnknownAgentClass`. Its suggestions cost another statement.
    """
    rows = _rows(True, {"digest": digest, "now": timezone.now(), **_question(agent_class, context)})
    if not rows:
        return None
    token_id, used, may = rows[0][:3]
    if used is not None and timezone.is_naive(used):  # SQLite keeps UTC and does not say so
        used = used.replace(tzinfo=UTC)
    answer = _answer(rows, agent_class, context) if may else None
    return TokenUse(uuid.UUID(str(token_id)), used, answer)


def _question(agent_class: str, context: Context) -> dict[str, str]:
    return {"agent_class": agent_class, "kind": context[0], "ident": context[1]}


def _rows(by_token: bool, parameters: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """Run the statement. PostgreSQL prepares it: planning costs four times what running it does."""
    text = STATEMENTS[connection.vendor, by_token]
    if connection.vendor == "sqlite":
        adapted = {name: _for_sqlite(value) for name, value in parameters.items()}
        with connection.cursor() as cursor:
            cursor.execute(text, adapted)
            return cursor.fetchall()
    connection.ensure_connection()
    if connection.force_debug_cursor:  # so that tests and the debug log count the statement
        with connection.cursor() as cursor:
            cursor.execute(text, parameters)
            return cursor.fetchall()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return cursor.execute(text, parameters, prepare=True).fetchall()


def _for_sqlite(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return value.hex
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _answer(rows: Sequence[Sequence[Any]], asked: str, context: Context) -> Resolved:
    """Fold the rows of the path, nearest first, into the answer."""
    own = rows[0]
    canonical, tenant = own[3], own[8]
    if canonical is None:
        raise UnknownAgentClass(asked, AgentClass.objects.names_near(asked))
    manifest = dict(zip(("number", "permissions", "tools", "memory_scope", "instructions"), own[15:], strict=True))
    bindings = [
        Binding(active=row[5] == "active", enforced=bool(row[6]), overrides=_json(row[7])) if row[5] else None
        for row in rows
    ]
    availability = fold(bindings, _json(manifest["permissions"]) or {})
    winner = next((row for row in rows if row[9] is not None), None)
    settings = _json(winner[13]) if winner else {}
    persona_id = str(uuid.UUID(str(winner[9]))) if winner else None
    name = settings.get("name", DEFAULT_NAME)
    tools = settings.get("allowed_tools")
    if tools is None:
        tools = _json(manifest["tools"]) or []
    key, address = subscriber(canonical, persona_id, name)
    return Resolved(
        tenant=tenant,
        agent_class=canonical,
        manifest_version=manifest["number"],
        persona_id=persona_id,
        name=name,
        instructions=(winner[14] if winner else "") or manifest["instructions"] or "",
        revision=winner[12] if winner else None,
        allowed_tools=limit_tools(tools, availability),
        run_as=winner[11] if winner else None,
        acts_as=settings.get("acts_as") or None,
        memory_scope=memory_scope(
            canonical,
            tenant,
            context,
            persona_id=persona_id,
            persona=settings.get("memory_scope", ""),
            manifest=manifest["memory_scope"] or "",
        ),
        priority=winner[10] if winner else 0,
        context_type=context[0] or None,
        context_id=context[1] or None,
        source="persona" if winner else "default",
        persona_source=("explicit" if winner[4] == 0 else "inherited") if winner else None,
        source_tenant=winner[8] if winner else None,
        available=availability.available,
        instance_key=key,
        dispatch_subscriber=address,
    )
