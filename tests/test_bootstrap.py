"""The scripts a newcomer meets first: bootstrap.sh with pretended interpreters, the others for real."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("sh", "cat", "cksum", "cp", "dirname", "mkdir", "rm", "touch")

# Answers what bootstrap.sh asks of an interpreter, and writes down what it was told to do.
INTERPRETER = """#!/bin/sh
case "$*" in
    *version_info*) echo {version}; exit ;;
    "-c import ensurepip, venv") exit {without_venv} ;;
esac
echo "$*" >>"$CALLS"
case "$*" in
    "-m venv .venv")
        mkdir -p .venv/bin .venv/lib/python{version}/site-packages/pip
        touch .venv/pyvenv.cfg
        cp "$0" .venv/bin/python ;;
    "-m pip install "*) exit "${{PIP_STATUS:-0}}" ;;
esac
"""
UV = """#!/bin/sh
echo "uv $*" >>"$CALLS"
case "$1" in venv) mkdir -p .venv/bin; touch .venv/pyvenv.cfg; cp "$FAKE_PYTHON" .venv/bin/python ;; esac
"""


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Machine:
    """A machine with nothing on it but the tools of a POSIX shell and a copy of the project's first files."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.home, self.project = folder / "bin", folder / "home", folder / "project"
        self.calls_file = folder / "calls"
        for path in (self.bin, self.home, self.project):
            path.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or pytest.fail(f"no {tool}"))
        for name in ("bootstrap.sh", "requirements.txt", "requirements-dev.txt"):
            shutil.copy(ROOT / name, self.project)

    def add_python(self, name: str, version: str, *, without_venv: bool = False) -> Path:
        text = INTERPRETER.format(version=version, without_venv=int(without_venv))
        return write_script(self.bin / name, text)

    def bootstrap(self, kind: str = "run", **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": str(self.bin), "HOME": str(self.home), "CALLS": str(self.calls_file), **environment}
        command = [str(self.bin / "sh"), str(self.project / "bootstrap.sh"), kind]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=20, check=False)

    def calls(self) -> list[str]:
        """What the interpreters were told since the last question, shortened to its first three words."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return [" ".join(line.split()[:3]) for line in lines]


MADE = ["-m venv .venv", "-m pip install"]
INSTALLED = ["-m pip install"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_python_that_is_too_old_is_named_with_what_to_install(machine: Machine) -> None:
    old = machine.add_python("python3", "3.11")
    result = machine.bootstrap()
    assert result.returncode == 1
    assert f"{old} is Python 3.11" in result.stderr
    assert "Personas needs Python 3.12, 3.13 or 3.14" in result.stderr
    assert "apt-get install" in result.stderr
    assert not (machine.project / ".venv").exists()


def test_a_machine_without_python_says_so(machine: Machine) -> None:
    result = machine.bootstrap()
    assert result.returncode == 1
    assert "no Python at all" in result.stderr


def test_a_python_without_venv_names_the_package(machine: Machine) -> None:
    machine.add_python("python3", "3.13", without_venv=True)
    result = machine.bootstrap()
    assert result.returncode == 1
    assert "apt-get install python3.13-venv" in result.stderr


def test_a_name_that_does_not_work_is_passed_over_for_one_that_does(machine: Machine) -> None:
    write_script(machine.bin / "python3.14", "#!/bin/sh\nexit 127\n")
    machine.add_python("python3.13", "3.13", without_venv=True)
    machine.add_python("python3", "3.12")
    result = machine.bootstrap()
    assert result.returncode == 0, result.stderr
    assert "Making .venv with Python 3.12" in result.stderr
    assert machine.calls() == MADE


def test_versions_under_pyenv_are_found(machine: Machine) -> None:
    python = machine.add_python("elsewhere", "3.12")
    kept = machine.home / ".pyenv/versions/3.12.7/bin/python"
    kept.parent.mkdir(parents=True)
    python.rename(kept)
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == MADE


def test_a_named_interpreter_is_the_only_one_tried(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    old = machine.add_python("mine", "3.9")
    result = machine.bootstrap(PYTHON=str(old))
    assert result.returncode == 1
    assert f"{old} is Python 3.9" in result.stderr


def test_the_second_run_does_nothing_and_is_fast(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == MADE
    begun = time.monotonic()
    second = machine.bootstrap()
    assert time.monotonic() - begun < 1
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert machine.calls() == []


def test_a_changed_lock_is_installed(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    machine.bootstrap()
    with (machine.project / "requirements.txt").open("a") as lock:
        lock.write("# changed\n")
    machine.calls()
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == INSTALLED


def test_running_keeps_what_the_tests_need(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    machine.bootstrap("run")
    machine.calls()
    machine.bootstrap("test")
    assert machine.calls() == INSTALLED
    assert machine.bootstrap("run").returncode == 0
    assert machine.calls() == []


def test_an_interrupted_installation_starts_afresh(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    failed = machine.bootstrap(PIP_STATUS="1")
    assert failed.returncode == 1
    assert "could not be installed" in failed.stderr
    machine.calls()
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == MADE


def test_a_moved_folder_is_rebuilt(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    machine.bootstrap()
    machine.calls()
    machine.project = machine.project.rename(machine.project.with_name("moved"))
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == MADE


def test_an_environment_whose_python_was_replaced_is_rebuilt(machine: Machine) -> None:
    python = machine.add_python("python3", "3.12")
    machine.bootstrap()
    (machine.project / ".venv/bin/python").unlink()
    (machine.project / ".venv/bin/python").symlink_to(python)
    machine.add_python("python3", "3.13")
    machine.calls()
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == MADE


def test_an_environment_made_by_hand_is_kept(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    machine.bootstrap()
    (machine.project / ".venv/.bootstrap").unlink()
    machine.calls()
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == INSTALLED


def test_half_an_environment_is_rebuilt(machine: Machine) -> None:
    machine.add_python("python3", "3.13")
    (machine.project / ".venv/bin").mkdir(parents=True)
    (machine.project / ".venv/bin/python").symlink_to("/nowhere/python3")
    assert machine.bootstrap().returncode == 0
    assert machine.calls() == MADE


def test_uv_is_used_when_present_and_needs_no_venv_module(machine: Machine) -> None:
    python = machine.add_python("python3", "3.13", without_venv=True)
    write_script(machine.bin / "uv", UV)
    result = machine.bootstrap("test", FAKE_PYTHON=str(python))
    assert result.returncode == 0, result.stderr
    assert machine.calls() == ["uv python find", "uv venv --quiet", "uv pip install"]


def test_an_unknown_kind_is_refused(machine: Machine) -> None:
    result = machine.bootstrap("everything")
    assert result.returncode == 2
    assert "Usage" in result.stderr


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt"])
def test_every_locked_package_has_hashes_and_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text()
    packages = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert len(packages) > 20
    assert [package for package in packages if "--hash=sha256:" not in package] == []
    assert re.findall(r"https?://|^-|file:", text, re.MULTILINE) == []


def test_the_test_lock_holds_what_runs_in_the_same_versions() -> None:
    running, testing = (
        set(re.findall(r"^\S+==\S+", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    assert running
    assert running < testing


def run_script(name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {key: value for key, value in os.environ.items() if key not in ("PORT", "DATABASE_URL", "DEBUG")}
    command = [sys.executable, str(ROOT / "bin" / name), *arguments]
    return subprocess.run(
        command, env={**variables, **environment}, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_said_before_anything_starts(taken_port: int, tmp_path: Path) -> None:
    result = run_script("run", PORT=str(taken_port), DATABASE_URL=f"sqlite:///{tmp_path / 'db.sqlite3'}")
    assert result.returncode == 1
    assert f"Port {taken_port} is taken" in result.stderr
    assert "Set PORT" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", "\u0662"])
def test_a_port_that_is_none_is_refused(port: str, tmp_path: Path) -> None:
    result = run_script("run", PORT=port, DATABASE_URL=f"sqlite:///{tmp_path / 'db.sqlite3'}")
    assert result.returncode == 1
    assert "Set PORT to a number from 1 to 65535" in result.stderr


def test_a_database_that_does_not_answer_is_said_without_the_password() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = closed.getsockname()[1]
    result = run_script("run", PORT=str(free), DATABASE_URL=f"postgres://me:secret@127.0.0.1:{port}/personas")
    assert result.returncode == 1
    assert "The database does not answer" in result.stderr
    assert str(port) in result.stderr
    assert "secret" not in result.stderr
    assert "Traceback" not in result.stderr


def test_a_given_database_is_used_and_the_exit_status_kept() -> None:
    result = run_script("with-postgres", "sh", "-c", 'echo "$DATABASE_URL"; exit 7', DATABASE_URL="postgres://given/")
    assert (result.returncode, result.stdout) == (7, "postgres://given/\n")


def has_postgres() -> bool:
    return bool(shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb")))


@pytest.mark.skipif(
    not has_postgres() and os.environ.get("REQUIRE_POSTGRES") != "1", reason="no PostgreSQL programs on this machine"
)
def test_a_private_server_is_gone_when_it_is_told_to_stop() -> None:
    probe = """if True:
        import os, psycopg, time
        with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
            print(*connection.execute("SELECT current_setting('port'), current_setting('data_directory')").fetchone())
        time.sleep(60)
    """
    variables = {key: value for key, value in os.environ.items() if key != "DATABASE_URL"}
    command = [sys.executable, str(ROOT / "bin" / "with-postgres"), sys.executable, "-uc", probe]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port, folder = process.stdout.readline().split()
        assert Path(folder).exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    assert not Path(folder).parent.exists()
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", int(port))) != 0
