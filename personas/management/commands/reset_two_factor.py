"""Turn off the two-factor log-in of somebody who lost the app and the recovery codes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from personas.models import User
from personas.services.second_factor import disable_second_factor, has_second_factor


class Command(BaseCommand):
    help = "Turn off the two-factor log-in of a person. Make sure first that it is that person who asks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="NAME", help="user name or e-mail address")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            person = User.objects.get_by_natural_key(options["user"])
        except User.DoesNotExist as absent:
            raise CommandError(f"There is no account “{options['user']}”.") from absent
        if not has_second_factor(person):
            raise CommandError(f"Two-factor log-in of {person.username} is off already.")
        disable_second_factor(person, actor=None)
        self.stdout.write(f"Two-factor log-in of {person.username} is off.")
