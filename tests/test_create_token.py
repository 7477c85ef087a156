"""Making API tokens from the operator's shell."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from personas.models import APIToken, AuditEntry
from personas.services.tokens import token_digest
from tests.api_client import Caller
from tests.factory import World


def run(*options: str, **more: Any) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("create_token", *options, stdout=out, stderr=err, **more)
    return out.getvalue(), err.getvalue()


ACME = ("--tenant", "acme", "--user", "reviewer", "--name", "shell")


def test_the_secret_stands_alone_on_stdout(world: World) -> None:
    out, err = run(*ACME)
    token = APIToken.objects.get()
    assert out.count("\n") == 1 and out.endswith("\n")
    secret = out.strip()
    assert token.digest == token_digest(secret) and secret.startswith("per_")
    assert secret not in err and token.prefix in err
    assert (token.user, token.tenant, token.name) == (world.reviewer.user, world.tenant, "shell")
    assert token.may_review and token.expires_at is None and token.created_by is None
    assert AuditEntry.objects.filter(verb="token.created", object_id=str(token.pk)).exists()
    assert Caller(secret).get("/personas").status_code == 200


def test_reviewing_can_be_left_out_and_an_end_given(world: World) -> None:
    _, err = run(*ACME, "--no-may-review", "--expires-days", "30")
    token = APIToken.objects.get()
    assert token.may_review is False and "may not decide" in err
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)
    run(*ACME, "--may-review")
    assert APIToken.objects.filter(may_review=True).count() == 1


def test_user_names_are_found_in_any_case(world: World) -> None:
    run("--tenant", "acme", "--user", "SVC-Acme", "--name", "runtime")
    assert APIToken.objects.get().user == world.service


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tenant", "nowhere", "--user", "reviewer", "--name", "x"), "no tenant “nowhere”"),
        (("--tenant", "acme", "--user", "nobody", "--name", "x"), "no account “nobody”"),
        (("--tenant", "acme", "--user", "outsider", "--name", "x"), "cannot see the tenant"),
        (("--tenant", "acme", "--user", "reviewer", "--name", ""), "name:"),
        (("--tenant", "acme", "--user", "reviewer", "--name", "x" * 151), "name:"),
        ((*ACME, "--expires-days", "0"), "between 1 and 3650"),
        ((*ACME, "--expires-days", "99999999999"), "between 1 and 3650"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_made(world: World, options: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words) as refused:
        run(*options)
    assert refused.value.returncode == 1
    assert not APIToken.objects.exists()
