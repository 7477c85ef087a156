"""The forms of the staff admin: text in, clean values out."""

from typing import Any

from django import forms

from personas.domain.rights import Role
from personas.models import Tenant, TenantRole
from personas.models.tenants import MAX_APPROVALS


class TenantField(forms.CharField):
    """A tenant by its slug; empty is none."""

    def clean(self, value: Any) -> Tenant | None:
        slug = super().clean(value)
        if not slug:
            return None
        found: Tenant | None = Tenant.objects.filter(slug=slug).first()
        if found is None:
            raise forms.ValidationError(f"There is no tenant “{slug}”.")
        return found

    def has_changed(self, initial: Any, data: Any) -> bool:
        return str(getattr(initial, "slug", initial) or "") != str(data or "").strip()

    def prepare_value(self, value: Any) -> Any:
        return value.slug if isinstance(value, Tenant) else value


class RulesForm(forms.Form):
    require_second_person = forms.BooleanField(
        required=False, show_hidden_initial=True, help_text="At least one approver is no author of the directive."
    )
    required_approvals = forms.IntegerField(min_value=1, max_value=MAX_APPROVALS, show_hidden_initial=True)


class MoveForm(forms.Form):
    parent = TenantField(
        required=False,
        show_hidden_initial=True,
        help_text="The slug of the tenant to stand below; empty for the top of a tree.",
    )


class TenantForm(forms.Form):
    slug = forms.SlugField(max_length=63, help_text="In addresses; cannot be changed later.")
    name = forms.CharField(max_length=150)
    parent = TenantField(required=False, help_text="The slug of the tenant to stand below, if any.")
    require_second_person = forms.BooleanField(
        required=False, help_text="At least one approver is no author of the directive."
    )
    required_approvals = forms.IntegerField(min_value=1, max_value=MAX_APPROVALS)


class Ticked(list[str]):
    """The roles that stay. ``taken`` are those that the form showed and that came back without their tick."""

    def __init__(self, stay: list[str], taken: frozenset[str]) -> None:
        super().__init__(stay)
        self.taken = taken


class AccountForm(forms.Form):
    """What an account is, the roles it holds, and one more."""

    is_active = forms.BooleanField(
        label="Active", required=False, show_hidden_initial=True, help_text="Taking it ends every session and token."
    )
    is_staff = forms.BooleanField(
        label="Staff", required=False, show_hidden_initial=True, help_text="May open these pages; no right on tenants."
    )
    is_superuser = forms.BooleanField(
        label="Superuser", required=False, show_hidden_initial=True, help_text="Holds every right everywhere."
    )
    roles = forms.MultipleChoiceField(
        label="Roles", required=False, show_hidden_initial=True, widget=forms.CheckboxSelectMultiple
    )
    tenant = TenantField(label="Give a role in", required=False, help_text="The slug of a tenant.")
    role = forms.ChoiceField(
        label="Role to give", required=False, choices=[("", "none"), *((role.value, role.value) for role in Role)]
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        held = TenantRole.objects.filter(pk__in=self.initial["roles"]).select_related("tenant")
        if not held:
            del self.fields["roles"]
            return
        roles = self.fields["roles"]
        assert isinstance(roles, forms.MultipleChoiceField)
        roles.choices = [(str(row.pk), str(row)) for row in held]

    def clean_roles(self) -> Ticked:
        """A role that somebody else gave after the form was shown has no tick in it, and stays."""
        ticked, bound = self.cleaned_data["roles"], self["roles"]
        widget = bound.field.hidden_widget()
        shown = frozenset(widget.value_from_datadict(self.data, self.files, bound.html_initial_name))
        taken = shown - frozenset(ticked)
        return Ticked([pk for pk in self.initial["roles"] if pk not in taken], taken)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if bool(data.get("tenant")) != bool(data.get("role")):
            self.add_error("role", "To give a role, name both the tenant and the role.")
        return data
