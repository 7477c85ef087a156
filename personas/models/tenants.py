"""Tenants, the closure table of their tree, and the groups behind the four roles."""

from typing import ClassVar

from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from personas.domain.rights import TENANT_RIGHTS, Right, Role
from personas.models.base import Row
from personas.querysets import TenantQuerySet

MAX_DEPTH = 10
MAX_APPROVALS = 5

PERMISSION_LABELS = {
    Right.VIEW_TENANT: "Can see the tenant",
    Right.CHANGE_TENANT: "Can change the tenant's settings",
    Right.MANAGE_PERSONAS: "Can write drafts and proposals",
    Right.GIVE_FEEDBACK: "Can give feedback",
    Right.ACTIVATE_DIRECTIVE: "Can make a directive live",
    Right.MANAGE_MEMBERS: "Can manage members",
    Right.MANAGE_BINDINGS: "Can manage agent bindings",
    Right.MANAGE_TOKENS: "Can manage tokens",
    Right.VIEW_AUDIT: "Can read the audit",
    Right.VIEW_PERSONA: "Can see the persona",
    Right.CHANGE_PERSONA: "Can write drafts and proposals of the persona",
}


class Tenant(Row):
    slug = models.SlugField(max_length=63, unique=True, error_messages={"unique": "This slug is taken."})
    name = models.CharField(max_length=150)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="children")
    require_second_person = models.BooleanField(
        default=False, help_text="At least one approver is no author of the directive."
    )
    required_approvals = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(MAX_APPROVALS)]
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        permissions = tuple((right.value, PERMISSION_LABELS[right]) for right in Right if right in TENANT_RIGHTS)
        constraints = (
            models.CheckConstraint(
                condition=Q(required_approvals__gte=1, required_approvals__lte=MAX_APPROVALS),
                name="tenant_approvals",
                violation_error_message=f"Between 1 and {MAX_APPROVALS} approvals can be required.",
            ),
            models.CheckConstraint(
                condition=Q(parent=None) | ~Q(parent=F("id")),
                name="tenant_not_own_parent",
                violation_error_message="A tenant is not its own parent.",
            ),
        )

    def __str__(self) -> str:
        return self.name


class TenantAncestor(models.Model):
    """The closure of the tree: every tenant with each of its ancestors, itself at distance 0."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="ancestor_rows", db_index=False)
    ancestor = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="descendant_rows")
    distance = models.PositiveSmallIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "ancestor"), name="ancestor_once"),
            models.UniqueConstraint(fields=("tenant", "distance"), name="ancestor_distance_once"),
            models.CheckConstraint(
                condition=Q(distance__lt=MAX_DEPTH),
                name="ancestor_depth",
                violation_error_message=f"Tenants form a tree of at most {MAX_DEPTH} levels.",
            ),
            models.CheckConstraint(
                condition=Q(distance=0, tenant=F("ancestor")) | (Q(distance__gt=0) & ~Q(tenant=F("ancestor"))),
                name="ancestor_self_at_0",
            ),
        )

    def __str__(self) -> str:
        return f"{self.tenant_id} under {self.ancestor_id} by {self.distance}"


class TenantRole(models.Model):
    """The group that holds a role's object permissions on a tenant."""

    Role: ClassVar = Role

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="roles", db_index=False)
    role = models.CharField(max_length=8, choices=[(role.value, role.value.capitalize()) for role in Role])
    group = models.OneToOneField(Group, on_delete=models.PROTECT, related_name="tenant_role")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "role"), name="role_once"),)

    def __str__(self) -> str:
        return f"{self.role} of {self.tenant}"


class TenantUserObjectPermission(UserObjectPermissionBase):
    content_object = models.ForeignKey(Tenant, on_delete=models.CASCADE)

    class Meta(UserObjectPermissionBase.Meta):
        abstract = False


class TenantGroupObjectPermission(GroupObjectPermissionBase):
    content_object = models.ForeignKey(Tenant, on_delete=models.CASCADE)

    class Meta(GroupObjectPermissionBase.Meta):
        abstract = False
