"""What the log-in, password and two-factor pages accept."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordResetForm
from django.http import HttpRequest

from personas.models import User
from personas.services.passwords import may_mail_reset
from personas_site.login_limits import actor_for


class LogInForm(AuthenticationForm):
    """User name or e-mail address, and password. Whatever is wrong, the answer is the same."""

    error_messages = {
        "invalid_login": "This name and password do not belong together. Mind upper and lower case.",
        "inactive": "This name and password do not belong together. Mind upper and lower case.",
    }


class CodeForm(forms.Form):
    code = forms.CharField(max_length=40, error_messages={"required": "Type the six digits that your app shows."})


class ProofForm(forms.Form):
    proof = forms.CharField(
        max_length=200, strip=False, error_messages={"required": "Type your password, or a code of your app."}
    )


class ForgottenForm(PasswordResetForm):
    """Sends a link to the active people with this address, and says nothing about whether there are any."""

    def __init__(self, *args: Any, request: HttpRequest, **options: Any) -> None:
        super().__init__(*args, **options)
        self.request = request

    def get_users(self, email: str) -> Iterator[Any]:
        for person in super().get_users(email):
            if person.kind == User.Kind.PERSON and may_mail_reset(person, actor=actor_for(self.request, person)):
                yield person
