"""Make an API token from the operator's shell."""

from argparse import ArgumentParser, BooleanOptionalAction
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from personas.domain.errors import Refused
from personas.models import Tenant, User
from personas.services.tokens import create_token

LONGEST = 3650


class Command(BaseCommand):
    help = "Make an API token. Its secret is printed once, alone on standard output; everything else is said on stderr."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG", help="the tenant it reaches")
        parser.add_argument("--user", required=True, metavar="NAME", help="the account it acts as")
        parser.add_argument("--name", required=True, metavar="TEXT", help="what it is for")
        parser.add_argument(
            "--may-review", action=BooleanOptionalAction, default=True, help="whether it may decide proposals"
        )
        parser.add_argument("--expires-days", type=int, metavar="N", help=f"days until it ends, 1 to {LONGEST}")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant “{options['tenant']}”.")
        user = User.objects.filter(username__iexact=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no account “{options['user']}”.")
        expires_at = _end(options["expires_days"])
        try:
            token, secret = create_token(
                tenant,
                user,
                name=options["name"],
                may_review=options["may_review"],
                actor=None,
                expires_at=expires_at,
            )
        except Refused as refused:
            raise CommandError(f"{refused.field}: {refused.message}" if refused.field else refused.message) from refused
        decides = "may decide proposals" if token.may_review else "may not decide proposals"
        until = f"until {expires_at:%Y-%m-%d %H:%M} UTC" if expires_at else "until it is revoked"
        self.stderr.write(
            f"Token {token} of {user.username} in {tenant.slug}; it {decides} and is good {until}. "
            "The secret is not kept: this is the only time it is shown.",
            self.style.NOTICE,
        )
        self.stdout.write(secret)


def _end(days: int | None) -> datetime | None:
    if days is None:
        return None
    if not 1 <= days <= LONGEST:
        raise CommandError(f"--expires-days lies between 1 and {LONGEST}.")
    return timezone.now() + timedelta(days=days)
