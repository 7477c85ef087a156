"""What the pages of a tenant accept. The rules are the services'; here text becomes clean values."""

from typing import Any

from django import forms

from personas.actors import Actor
from personas.domain.errors import Invalid
from personas.domain.rights import PERSONA_RIGHTS, Right, Role
from personas.models import AgentPersona, Tenant
from personas.models.tenants import MAX_APPROVALS
from personas.services.accounts import SERVICE_ROLES

ROLE_CHOICES = [(role.value, role.value.capitalize()) for role in Role]
PERSONA_CHOICES = [(right.value, right.value) for right in sorted(PERSONA_RIGHTS)]


def values_of(form: forms.Form) -> dict[str, Any]:
    """The clean values of a form. Raises `Invalid` with the first fault, naming its field."""
    if not form.is_valid():
        name, messages = next(iter(form.errors.items()))
        raise Invalid(str(messages[0]), field=name)
    return form.cleaned_data


class PersonaField(forms.ModelChoiceField):
    """One of the personas of a tenant that the actor may see."""

    def __init__(self, actor: Actor, tenant: Tenant, **options: Any) -> None:
        rows = AgentPersona.objects.permitted(actor).current().filter(tenant=tenant).order_by("name_key", "pk")
        super().__init__(queryset=rows.select_related("agent_class"), **options)


class InviteForm(forms.Form):
    email = forms.EmailField(
        max_length=254,
        error_messages={"required": "Write an e-mail address.", "invalid": "Write a whole e-mail address."},
    )
    roles = forms.MultipleChoiceField(choices=ROLE_CHOICES, required=False)
    persona_right = forms.ChoiceField(choices=PERSONA_CHOICES, required=False)

    def __init__(self, data: Any, actor: Actor, tenant: Tenant) -> None:
        super().__init__(data)
        self.fields["persona"] = PersonaField(actor, tenant, required=False)


class PersonaRightForm(forms.Form):
    right = forms.ChoiceField(choices=PERSONA_CHOICES)
    do = forms.ChoiceField(choices=[("give", "give"), ("take", "take")])

    def __init__(self, data: Any, actor: Actor, tenant: Tenant) -> None:
        super().__init__(data)
        self.fields["persona"] = PersonaField(
            actor, tenant, error_messages={"required": "Choose a persona.", "invalid_choice": "Choose a persona."}
        )


class RoleForm(forms.Form):
    do = forms.ChoiceField(choices=[("give", "give"), ("take", "take")])


class ServiceAccountForm(forms.Form):
    suffix = forms.CharField(max_length=80, error_messages={"required": "Write the rest of the user name."})
    name = forms.CharField(max_length=150, required=False)
    role = forms.ChoiceField(choices=[(role.value, role.value) for role in SERVICE_ROLES])


class JoinForm(forms.Form):
    username = forms.CharField(max_length=150, error_messages={"required": "Choose a user name."})
    name = forms.CharField(max_length=150, error_messages={"required": "Write your name."})
    new_password1 = forms.CharField(strip=False, max_length=1000, error_messages={"required": "Choose a password."})
    new_password2 = forms.CharField(
        strip=False, max_length=1000, error_messages={"required": "Type the password once more."}
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        first, again = values.get("new_password1"), values.get("new_password2")
        if first and again and first != again:
            self.add_error("new_password2", "The two passwords differ.")
        return values


class TenantNameForm(forms.Form):
    name = forms.CharField(max_length=150, error_messages={"required": "Write a name."})


class RulesForm(forms.Form):
    require_second_person = forms.BooleanField(required=False)
    required_approvals = forms.IntegerField(
        min_value=1,
        max_value=MAX_APPROVALS,
        error_messages={"required": f"Write a number from 1 to {MAX_APPROVALS}."},
    )
    reason = forms.CharField(required=False, max_length=2000)


def right_of(value: str) -> Right | None:
    return Right(value) if value else None
