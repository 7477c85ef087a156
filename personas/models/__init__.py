"""What is stored about who an agent is."""

from personas.models.accounts import User
from personas.models.agents import AgentClass, ManifestVersion, TenantAgent
from personas.models.members import Invitation, RuleChangeRequest
from personas.models.personas import (
    Activation,
    AgentPersona,
    AgentPersonaGroupObjectPermission,
    AgentPersonaUserObjectPermission,
    PersonaRevision,
    snapshot,
)
from personas.models.records import APIToken, AuditEntry, StoredAnswer
from personas.models.tenants import (
    Tenant,
    TenantAncestor,
    TenantGroupObjectPermission,
    TenantRole,
    TenantUserObjectPermission,
)

__all__ = [
    "APIToken",
    "Activation",
    "AgentClass",
    "AgentPersona",
    "AgentPersonaGroupObjectPermission",
    "AgentPersonaUserObjectPermission",
    "AuditEntry",
    "Invitation",
    "ManifestVersion",
    "PersonaRevision",
    "RuleChangeRequest",
    "StoredAnswer",
    "Tenant",
    "TenantAgent",
    "TenantAncestor",
    "TenantGroupObjectPermission",
    "TenantRole",
    "TenantUserObjectPermission",
    "User",
    "snapshot",
]
