"""Who imports whom, and what no file may hold."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APPS = ("personas", "learning", "runtime")
HIGHER = {"personas": ("learning", "runtime", "personas_site"), "learning": ("runtime",), "runtime": ()}
# Pages are put together at the top, so views may use its helpers; nothing else of an app may.
PAGE_HELPERS = {"personas_site.htmx", "personas_site.client", "personas_site.errors"}
FRAMEWORKS = ("django", "guardian", "ninja", "psycopg", "allauth", "axes")


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found, folders
    return [path for path in found if "migrations" not in path.parts]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module a file imports, wherever in the file; names imported from a package count as its modules too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def faults(paths: list[Path], banned: tuple[str, ...], allowed: frozenset[str] = frozenset()) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in paths
        for line, name in imports(path)
        if any(name == root or name.startswith(f"{root}.") for root in banned)
        and not any(name == good or name.startswith(f"{good}.") for good in allowed)
    ]


def is_page(path: Path) -> bool:
    return path.name.startswith(("views", "admin")) or "views" in path.parts


@pytest.mark.parametrize("app", APPS)
def test_imports_point_one_way(app: str) -> None:
    apps = tuple(name for name in HIGHER[app] if name != "personas_site")
    assert faults(sources(app), apps) == []
    assert faults([path for path in sources(app) if not is_page(path)], ("personas_site",)) == []
    views = [path for path in sources(app) if is_page(path)]
    assert faults(views, ("personas_site",), frozenset(PAGE_HELPERS | {"personas_site"})) == []


def test_the_domain_is_plain_python() -> None:
    paths = [path for app in ("personas", "learning") for path in sources(f"{app}/domain")]
    assert faults(paths, FRAMEWORKS) == []
    below = ("personas.models", "personas.services", "personas.permissions", "learning.models", "learning.services")
    assert faults(paths, below) == []


def test_services_know_no_http() -> None:
    paths = [path for app in ("personas", "learning") for path in sources(f"{app}/services")]
    banned = ("django.http", "django.shortcuts", "django.contrib.messages", "django.urls", "ninja")
    assert faults(paths, banned) == []


def test_rows_know_no_services() -> None:
    rows = [*sources("personas/models"), *(ROOT / "personas" / f"{name}.py" for name in
            ("querysets", "permissions", "audit", "actors", "triggers", "resolve")),
            ROOT / "learning/models.py", ROOT / "learning/querysets.py"]  # fmt: skip
    assert faults(rows, ("personas.services", "learning.services", "personas.views", "learning.views")) == []


def test_services_know_no_pages() -> None:
    paths = [path for app in ("personas", "learning") for path in sources(f"{app}/services")]
    above = ("personas.views", "learning.views", "personas.forms", "learning.forms", "personas.api", "learning.api")
    assert faults(paths, above) == []


def test_guardian_has_one_door() -> None:
    doors = {"permissions.py", "querysets.py"}
    for path in sources(*APPS, "personas_site"):
        if path.name not in doors and "models" not in path.parts and not path.name.startswith("admin"):
            assert faults([path], ("guardian",)) == []


def test_no_signals_of_our_own() -> None:
    for path in sources(*APPS, "personas_site"):
        text = path.read_text(encoding="utf-8")
        assert "Signal(" not in text, path
        assert not re.search(r"\b(pre|post)_(save|delete|init)\b", text), path


def test_views_reach_rows_through_what_is_permitted() -> None:
    for path in [path for path in sources(*APPS, "personas_site") if is_page(path) and "admin" not in path.name]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            bare = re.search(r"\.objects\.(all|get|filter|exclude|first|last)\(", line)
            assert not bare, f"{path}:{number}: {line.strip()}"


def test_rights_are_never_asked_without_an_object() -> None:
    for path in sources(*APPS, "personas_site"):
        assert not re.search(r"\.has_perms?\(", path.read_text(encoding="utf-8")), path
    for path in (ROOT / "templates").rglob("*.html"):
        if "admin" not in path.parts:
            assert not re.search(r"\bperms[.\s]", path.read_text(encoding="utf-8")), path


def test_templates_hold_no_script_no_style_and_escape_everything() -> None:
    inline = re.compile(r"<style\b|\sstyle=|\son[a-z]+=\"|<script(?![^>]*\bsrc=)", re.IGNORECASE)
    paths = list((ROOT / "templates").rglob("*.html"))
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert not inline.search(text), path
        assert not re.search(r"\|\s*safe\b|autoescape off|https?://(cdn|unpkg|fonts)", text), path


def test_views_are_short() -> None:
    """A view parses, calls one service or queryset, and answers."""
    for path in [path for path in sources(*APPS, "personas_site") if "views" in path.parts or path.name == "views.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or "HttpRequest" not in ast.unparse(node.args):
                continue
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (node.end_lineno or 0) - body[0].lineno + 1
            assert lines <= 20, f"{path}: {node.name} has {lines} lines"


def test_the_one_who_says_whose_approval_counts_is_the_review() -> None:
    """`activate_revision` believes its caller about approvers, so only the service that counts them may name any."""
    callers = [
        path.relative_to(ROOT).as_posix()
        for path in sources(*APPS, "personas_site")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("activate_revision")
        and any(keyword.arg in ("approvers", "authors") for keyword in node.keywords)
    ]
    assert callers == ["learning/services/review.py"]
