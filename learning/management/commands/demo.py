"""``manage.py demo``: fill an empty database with an invented company, and print who can log in."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from learning.demo import cast
from learning.demo.seed import seed
from personas.domain.errors import Refused


class Command(BaseCommand):
    help = "Fill an empty database with the demo and print its accounts. A second run changes nothing. Needs DEBUG."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--optional", action="store_true", help="End well where the database holds other data, and only say so."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo has a password that everybody knows. It is made only with DEBUG=1.")
        try:
            made = seed()
        except Refused as refusal:
            if options["optional"]:
                self.stdout.write(f"No demo: {refusal.message}")
                return
            raise CommandError(f"{refusal.message} Nothing was written.") from refusal
        self.stdout.write("The demo is ready." if made else "The demo is there already; nothing was changed.")
        self.stdout.write(f"Log in with one of these names and the password “{cast.PASSWORD}”:\n\n{accounts_table()}\n")


def accounts_table() -> str:
    """The people of the demo, what each may do and where, in columns."""
    rows = [("NAME", "ROLES", "TENANTS", "MAY")]
    for username, _, roles, slugs, words in cast.PEOPLE:
        rows.append((username, "all four" if len(roles) == 4 else ", ".join(roles), ", ".join(slugs), words))
    rows.append((cast.STAFF[0], "superuser", "all", "made the demo; does everything"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join([*map(str.ljust, row[:3], widths), row[3]]) for row in rows]
    services = ", ".join(username for username, _, _ in cast.SERVICES)
    return "\n".join([*(f"  {line}" for line in lines), "", f"Service accounts, which cannot log in: {services}"])
