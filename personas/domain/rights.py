"""The rights of the product and the four roles that hold them."""

from enum import StrEnum


class Right(StrEnum):
    """Every codename there is. On a tenant unless the name says persona."""

    VIEW_TENANT = "view_tenant"
    CHANGE_TENANT = "change_tenant"
    MANAGE_PERSONAS = "manage-personas"
    GIVE_FEEDBACK = "give-feedback"
    ACTIVATE_DIRECTIVE = "activate-directive"  # on a tenant and on a persona
    MANAGE_MEMBERS = "manage-members"
    MANAGE_BINDINGS = "manage-bindings"
    MANAGE_TOKENS = "manage-tokens"
    VIEW_AUDIT = "view-audit"
    VIEW_PERSONA = "view_persona"
    CHANGE_PERSONA = "change_persona"


PERSONA_RIGHTS = frozenset({Right.VIEW_PERSONA, Right.CHANGE_PERSONA, Right.ACTIVATE_DIRECTIVE})
TENANT_RIGHTS = frozenset(Right) - {Right.VIEW_PERSONA, Right.CHANGE_PERSONA}

# A right on a tenant holds for its personas; it never flows to a parent or child.
ON_TENANT = {
    Right.VIEW_PERSONA: Right.VIEW_TENANT,
    Right.CHANGE_PERSONA: Right.MANAGE_PERSONAS,
    Right.ACTIVATE_DIRECTIVE: Right.ACTIVATE_DIRECTIVE,
}

# Whatever rows exist, an account that is no person never holds these.
PEOPLE_ONLY = frozenset({Right.ACTIVATE_DIRECTIVE, Right.MANAGE_MEMBERS, Right.MANAGE_TOKENS})


class Role(StrEnum):
    VIEWER = "viewer"
    EDITOR = "editor"
    REVIEWER = "reviewer"
    ADMIN = "admin"


ROLE_RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.VIEW_TENANT}),
    Role.EDITOR: frozenset({Right.VIEW_TENANT, Right.MANAGE_PERSONAS, Right.GIVE_FEEDBACK}),
    Role.REVIEWER: frozenset({Right.VIEW_TENANT, Right.MANAGE_PERSONAS, Right.GIVE_FEEDBACK, Right.ACTIVATE_DIRECTIVE}),
    # An admin does not review: who should do both holds both roles, so that it can be seen.
    Role.ADMIN: TENANT_RIGHTS - {Right.ACTIVATE_DIRECTIVE},
}
