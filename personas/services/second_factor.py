"""The second factor of a person: codes of an app (TOTP), and recovery codes for the day the app is lost."""

import base64
import hashlib
import math
import secrets
from enum import StrEnum

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp.util import random_hex

from personas import audit
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Right
from personas.models import AgentPersona, Tenant, User
from personas.permissions import require_superuser

RECOVERY_CODES = 10
CODE_BYTES = 10  # 80 bits: too many to guess, so a plain digest keeps them
CODE_GROUP = 4
# Each wrong code doubles the wait for the next, up to 2**9 seconds: whoever knows the password cannot guess on from
# many addresses, and cannot keep the person out for long.
MOST_DOUBLINGS = 10


class Factor(StrEnum):
    """What a person proved to have."""

    APP = "app"
    RECOVERY_CODE = "recovery code"


def new_key() -> str:
    """A random TOTP key of 160 bits, in hex."""
    return random_hex(20)


def readable_key(key: str) -> str:
    """A key as people type it into their app: base32 in groups of four."""
    return _grouped(base64.b32encode(bytes.fromhex(key)).decode())


def setup_address(person: User, key: str) -> str:
    """The ``otpauth:`` address of a key, which the QR code holds."""
    return str(TOTPDevice(user=person, key=key).config_url)


def has_second_factor(person: User) -> bool:
    """Whether the person's log-in asks for a code."""
    return TOTPDevice.objects.filter(user=person, confirmed=True).exists()


def factor_stamp(person: User) -> str:
    """What tells the person's second factor from one before or after it, and nothing of its key. Empty without one."""
    device = TOTPDevice.objects.filter(user=person, confirmed=True).first()
    if device is None:
        return ""
    return salted_hmac("personas.second_factor", f"{device.pk}:{device.key}", algorithm="sha256").hexdigest()


def needs_second_factor(person: User) -> bool:
    """Whether the person must have a second factor: staff, and who activates directives where a second person is asked.

    Always false where the setting ``MFA_REQUIRED`` is off.
    """
    if not settings.MFA_REQUIRED or person.is_service:
        return False
    if person.is_staff or person.is_superuser:
        return True
    actor = Actor(person)
    strict = Tenant.objects.filter(require_second_person=True)
    if strict.permitted(actor, Right.ACTIVATE_DIRECTIVE).exists():
        return True
    personas = AgentPersona.objects.filter(tenant__in=strict.values("pk"))
    return personas.permitted(actor, Right.ACTIVATE_DIRECTIVE).exists()


def recovery_codes_left(person: User) -> int:
    """How many recovery codes the person has not used yet."""
    return StaticToken.objects.filter(device__user=person).count()


@transaction.atomic
def enable_second_factor(
    person: User, key: str, code: str, *, actor: Actor, replace: bool = False, keep: str = ""
) -> list[str]:
    """Make log-in ask for codes of ``key`` (hex), once a ``code`` of it proves that the app knows it.

    ``replace`` moves to another key: what was set up before ends. Every session of the person ends but that with the
    key ``keep``. Returns the recovery codes, which are not kept.
    Raises `Conflict` if it is on already and not to be replaced, `Invalid` for a wrong code.
    """
    User.objects.select_for_update().get(pk=person.pk)
    before = TOTPDevice.objects.filter(user=person)
    if before and not replace:
        raise Conflict("Two-factor log-in is on already.")
    before.delete()
    device = TOTPDevice.objects.create(user=person, name="app", key=key)
    if not device.verify_token(_digits(code)):
        raise Invalid("This is not the code that the app shows now. Wait for the next one and type that.", field="code")
    audit.record("mfa.enabled", person, actor=actor, tenant=None, note="with another app" if replace else "")
    _end_sessions(person, keep)
    return _replace_codes(person)


@transaction.atomic
def check_code(person: User, code: str, *, actor: Actor) -> Factor | None:
    """What the code proves, or None if it proves nothing. A code is taken once; a wrong one delays the next try.

    ``code`` is six digits of the app, or a recovery code in any grouping.
    """
    device = TOTPDevice.objects.select_for_update().filter(user=person, confirmed=True).first()
    if device is None:
        return None
    digits = _digits(code)
    if digits:
        taken = device.verify_token(digits)
        if device.throttling_failure_count > MOST_DOUBLINGS:
            device.throttling_failure_count = MOST_DOUBLINGS
            device.save(update_fields=["throttling_failure_count"])
        return Factor.APP if taken else None
    store = StaticDevice.objects.select_for_update().filter(user=person).first()
    if store is None or not store.verify_token(_digest(code)):
        return None
    device.throttle_reset()
    audit.record(
        "mfa.recovery_used", person, actor=actor, tenant=None, after={"codes left": recovery_codes_left(person)}
    )
    return Factor.RECOVERY_CODE


def seconds_to_wait(person: User) -> int:
    """For how many seconds no code of the person's app is taken, because of wrong ones before."""
    device = TOTPDevice.objects.filter(user=person, confirmed=True).first()
    allowed, why = device.verify_is_allowed() if device else (True, None)
    return 0 if allowed or why is None else math.ceil((why["locked_until"] - timezone.now()).total_seconds())


@transaction.atomic
def renew_recovery_codes(person: User, *, actor: Actor) -> list[str]:
    """Replace the recovery codes, used or not. Returns them; they are not kept. Raises `Conflict` without an app."""
    User.objects.select_for_update().get(pk=person.pk)
    if not has_second_factor(person):
        raise Conflict("Two-factor log-in is off: there is nothing to recover.")
    audit.record("mfa.codes_renewed", person, actor=actor, tenant=None)
    return _replace_codes(person)


@transaction.atomic
def disable_second_factor(person: User, *, actor: Actor | None, keep: str = "") -> None:
    """Make log-in ask for the password alone. ``actor`` None is the operator's shell, for who lost app and codes.

    Every session of the person ends but that with the key ``keep``.
    Raises `NotPermitted` for another person's, except to superusers, and for one's own where it must be on.
    """
    if actor is not None and actor.account != person:
        require_superuser(actor, "turn off the two-factor log-in of somebody else")
    elif actor is not None and needs_second_factor(person):
        raise NotPermitted(
            "You may not turn it off: staff, and who reviews under the rule of a second person, need it."
        )
    if not has_second_factor(person):
        return
    TOTPDevice.objects.filter(user=person).delete()
    StaticDevice.objects.filter(user=person).delete()
    note = "" if actor else "by the operator"
    audit.record("mfa.disabled", person, actor=actor or Actor(person), tenant=None, note=note)
    _end_sessions(person, keep)


def _end_sessions(person: User, keep: str) -> None:
    # A session names its person inside only, so all that are open are read. This is rare, and they last half a day.
    opened = Session.objects.filter(expire_date__gt=timezone.now()).exclude(session_key=keep)
    ended = [each.pk for each in opened.iterator() if each.get_decoded().get(SESSION_KEY) == str(person.pk)]
    Session.objects.filter(pk__in=ended).delete()


def _replace_codes(person: User) -> list[str]:
    codes = [
        _grouped(base64.b32encode(secrets.token_bytes(CODE_BYTES)).decode().lower(), "-") for _ in range(RECOVERY_CODES)
    ]
    StaticDevice.objects.filter(user=person).delete()
    store = StaticDevice.objects.create(user=person, name="recovery codes")
    StaticToken.objects.bulk_create(StaticToken(device=store, token=_digest(code)) for code in codes)
    return codes


def _digits(code: str) -> str:
    plain = "".join(code.split())
    return plain if plain.isascii() and plain.isdigit() and len(plain) == 6 else ""


def _digest(code: str) -> str:
    plain = "".join(letter for letter in code.lower() if letter.isalnum())
    return base64.urlsafe_b64encode(hashlib.sha256(plain.encode()).digest())[:16].decode()


def _grouped(text: str, between: str = " ") -> str:
    return between.join(text[start : start + CODE_GROUP] for start in range(0, len(text), CODE_GROUP))
