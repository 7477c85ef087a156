"""The filters of the audit, as the address gives them."""

from typing import Any

from django import forms
from django.core.validators import RegexValidator

DATE = {"invalid": "Write the date as 2026-12-31."}


def _like(pattern: str, message: str) -> list[RegexValidator]:
    return [RegexValidator(rf"\A{pattern}\Z", message)]


class AuditForm(forms.Form):
    """Every field may be empty; those that are not hold together."""

    actor = forms.CharField(required=False, max_length=150)
    verb = forms.CharField(
        required=False,
        max_length=60,
        validators=_like(
            r"[a-z_]+(\.[a-z_]+)?", "A verb looks like token.created; token alone means all that starts so."
        ),
    )
    type = forms.CharField(
        required=False,
        max_length=60,
        validators=_like("[a-z]+", "A type is one word in small letters, as agentpersona."),
    )
    object = forms.CharField(required=False, max_length=250)
    since = forms.DateField(required=False, error_messages=DATE)
    until = forms.DateField(required=False, error_messages=DATE)
    request = forms.CharField(
        required=False,
        max_length=64,
        validators=_like(r"[A-Za-z0-9._-]+", "A request id has letters, digits, dots, hyphens and underscores only."),
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        since, until = values.get("since"), values.get("until")
        if since and until and since > until:
            self.add_error("until", "This lies before the first day.")
        return values

    @property
    def asked(self) -> dict[str, Any]:
        """The filters that are set, by name. Only of a valid form."""
        return {name: value for name, value in self.cleaned_data.items() if value}
