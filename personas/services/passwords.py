"""Passwords: changed by who is logged in, or set anew through a link sent by mail."""

from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Invalid, NotPermitted
from personas.models import AuditEntry, User

MAILS_AN_HOUR = 3


@transaction.atomic
def change_password(person: User, password: str, *, actor: Actor) -> None:
    """Give a person another password, which ends every session. Raises `Invalid` for a weak one."""
    _set(person, password)
    audit.record("password.changed", person, actor=actor, tenant=None)


@transaction.atomic
def reset_password(person: User, password: str, *, actor: Actor) -> None:
    """The same, for who proved the e-mail address instead of the old password.

    Raises `NotPermitted` for an account that was stopped, even after the link was sent.
    """
    if not User.objects.select_for_update().get(pk=person.pk).is_active:
        raise NotPermitted("This account was stopped: its password cannot be set.")
    _set(person, password)
    audit.record("password.reset", person, actor=actor, tenant=None)


@transaction.atomic
def may_mail_reset(person: User, *, actor: Actor) -> bool:
    """Whether another link may be sent, which is then recorded: at most three an hour, so that nobody is flooded."""
    User.objects.select_for_update().get(pk=person.pk)
    asked = AuditEntry.objects.filter(verb="password.reset_asked", object_type="user", object_id=str(person.pk))
    if asked.filter(created_at__gt=timezone.now() - timedelta(hours=1)).count() >= MAILS_AN_HOUR:
        return False
    audit.record("password.reset_asked", person, actor=actor, tenant=None)
    return True


def _set(person: User, password: str) -> None:
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="new_password1") from error
    person.set_password(password)
    person.save(update_fields=["password"])
