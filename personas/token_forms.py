"""What the tokens page accepts. The rules are the service's; here text becomes clean values."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import Q
from django.utils import timezone

from personas.actors import Actor
from personas.models import Tenant, User

LONGEST = timedelta(days=3650)
ON_DATE = "date"
ENDS = (("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), (ON_DATE, "on a date"), ("", "never"))
SUGGESTED = "90"


class TokenForm(forms.Form):
    """A new token: whom it acts as, until when, and what it may do."""

    name = forms.CharField(max_length=150, error_messages={"required": "Say what it is for."})
    user = forms.ModelChoiceField(queryset=User.objects.none(), error_messages={"required": "Choose an account."})
    expires = forms.ChoiceField(choices=ENDS, required=False)
    until = forms.DateField(required=False, error_messages={"invalid": "Write the date as 2026-12-31."})
    may_review = forms.BooleanField(required=False)
    password = forms.CharField(required=False, strip=False, max_length=1000)

    def __init__(self, data: Any = None, *, tenant: Tenant, actor: Actor) -> None:
        super().__init__(data)
        self.fields["user"].queryset = accounts_for(tenant, actor)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("expires") == ON_DATE and "until" not in self.errors:
            self._check_date(values.get("until"))
        return values

    def _check_date(self, until: date | None) -> None:
        today = timezone.now().date()
        if until is None:
            self.add_error("until", "Choose a date.")
        elif not today <= until <= today + LONGEST:
            self.add_error("until", "Choose a date from today on, within ten years.")

    @property
    def expires_at(self) -> datetime | None:
        """When the token ends: after that many days, or with the end of the chosen day (UTC); None is never."""
        chosen = self.cleaned_data["expires"]
        if chosen == ON_DATE:
            return datetime.combine(self.cleaned_data["until"] + timedelta(days=1), time(), tzinfo=UTC)
        return timezone.now() + timedelta(days=int(chosen)) if chosen else None


def accounts_for(tenant: Tenant, actor: Actor) -> Any:
    """Whom the actor may make a token for: themselves and the service accounts of the tenant, themselves first."""
    rows = User.objects.filter(Q(pk=actor.account.pk) | Q(kind=User.Kind.SERVICE, tenant=tenant), is_active=True)
    return rows.order_by("kind", "username")
