"""It does not start unsafe, and says what to set."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONG = "a-random-text-of-more-than-50-characters-as-Django-asks-for"
SAFE = {"SECRET_KEY": LONG, "ALLOWED_HOSTS": "personas.example", "EMAIL_URL": "smtp+tls://mail.example:587"}


def check(**environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    environment = {**kept, "DJANGO_SETTINGS_MODULE": "personas_site.settings", **environment}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_what_is_set_well_is_clean() -> None:
    done = check(**SAFE)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize(("changes", "words"), [
    ({"SECRET_KEY": ""}, "Set SECRET_KEY"), ({"SECRET_KEY": "short"}, "Set SECRET_KEY"),
    ({"SECRET_KEY": "only-for-debug-and-known-to-everybody"}, "Set SECRET_KEY"),
    ({"ALLOWED_HOSTS": ""}, "Set ALLOWED_HOSTS"), ({"ALLOWED_HOSTS": "*"}, "Set ALLOWED_HOSTS"),
    ({"DEBUG": "1", "SECRET_KEY": "only-for-debug-and-known-to-everybody"}, "takes a SECRET_KEY of your own"),
])  # fmt: skip
def test_it_refuses_to_start_unsafe(changes: dict[str, str], words: str) -> None:
    done = check(**{**SAFE, **changes})
    assert done.returncode != 0
    assert words in done.stderr
