"""The audit: who may read it, how it is filtered, shown and taken out."""

import csv
import io
import re
import uuid
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient, Client
from hypothesis import given
from hypothesis import strategies as st

from learning.services.proposals import propose
from personas import audit, audit_export
from personas import audit_reading as reading
from personas.audit_export import neutral
from personas.audit_forms import AuditForm
from personas.domain.rights import Role
from personas.models import AuditEntry, Tenant, User
from personas.services import accounts, personas
from personas.services.tenants import rename_tenant
from tests.api_client import token_for
from tests.factory import World, make_person, make_tenant, superuser
from tests.pages import client_of

PAGE, EXPORT = "/t/acme/audit/", "/t/acme/audit/export/"
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def admin(world: World) -> Client:
    return client_of(world.admin)


def write(tenant: Tenant | None, **fields: Any) -> AuditEntry:
    """An entry as it would stand in the table."""
    values = {"actor_name": "Somebody", "verb": "thing.done", "object_type": "thing", "object_id": "1"}
    entry = AuditEntry(tenant=tenant, **{**values, "object_label": "It", **fields})
    entry.save()
    return entry


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AuditEntry]:
    """The same, at a time of choice: once written, no row is ever changed."""

    def written(moment: datetime, tenant: Tenant | None, **fields: Any) -> AuditEntry:
        with monkeypatch.context() as patch:
            patch.setattr("django.utils.timezone.now", lambda: moment)
            return write(tenant, **fields)

    return written


def ids(response: Any) -> list[str]:
    """The entries on a page, in order."""
    assert response.status_code == 200
    return re.findall(r"/t/acme/audit/([0-9a-f-]{36})/", response.content.decode())


def found(client: Client, **asked: str) -> set[str]:
    return set(ids(client.get(PAGE, asked)))


def rows_of(response: Any) -> list[dict[str, str]]:
    text = response.getvalue().decode()
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:], newline="")))


def test_what_services_do_can_be_read(world: World, admin: Client) -> None:
    persona = world.persona()
    propose(persona, actor=world.editor, instructions="New.", rationale="x")
    page = admin.get(PAGE).content.decode()
    for words in ("Proposal created", "<code>proposal.created</code>", "Directive enabled", "Editor", "Role granted"):
        assert words in page
    assert f'href="/t/acme/personas/{persona.pk}/"' in page and "/t/acme/review/" in page


@pytest.fixture
def three(world: World, at: Callable[..., AuditEntry]) -> SimpleNamespace:
    """Three entries that every filter tells apart, between those of the world."""
    token, _ = token_for(world.reviewer, world.tenant)
    first = at(
        DAY, world.tenant, verb="lamp.lit", actor=world.editor.account, actor_name="Editor", object_type="lamp",
        object_id=str(uuid.uuid4()), object_label="Lamp 100%_a", request_id="req.1",
    )  # fmt: skip
    second = at(
        DAY + timedelta(days=1), world.tenant, verb="lamp.put_out", actor=world.reviewer.account, object_type="bulb",
        actor_name="Old Name", token_prefix=token.prefix, object_id=str(uuid.uuid4()), object_label="Bulb 客服",
        request_id="req-2",
    )  # fmt: skip
    third = at(DAY + timedelta(days=2), world.tenant, verb="lampshade.cut", actor_name="system", object_label="Lam")
    at(DAY, world.other, verb="lamp.lit", object_label="Lamp", actor_name="Editor", request_id="req.1")
    return SimpleNamespace(first=first, second=second, third=third, token=token)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"verb": "lamp"}, ("first", "second")),
        ({"verb": "lamp.lit"}, ("first",)),
        ({"verb": "lam"}, ()),
        ({"type": "bulb"}, ("second",)),
        ({"object": "Lam", "until": "2026-03-09"}, ("first", "third")),
        ({"object": "Lamp 100%_"}, ("first",)),
        ({"object": "%"}, ()),
        ({"object": "Bulb 客"}, ("second",)),
        ({"request": "req.1"}, ("first",)),
        ({"request": "req"}, ()),
        ({"actor": "edit", "verb": "lamp"}, ("first",)),
        ({"actor": "Old Name"}, ("second",)),
        ({"actor": "REVIEWER", "verb": "lamp"}, ("second",)),
        ({"actor": "system", "until": "2026-03-09"}, ("third",)),
        ({"actor": "nobody such"}, ()),
        ({"since": "2026-03-01", "until": "2026-03-01"}, ("first",)),
        ({"since": "2026-03-02", "until": "2026-03-03"}, ("second", "third")),
        ({"verb": "lamp", "since": "2026-03-02", "until": "2026-03-09"}, ("second",)),
        ({"after": "nonsense", "verb": "lamp"}, ("first", "second")),
    ],
)
def test_filters(
    world: World, admin: Client, three: SimpleNamespace, asked: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert found(admin, **asked) == {str(getattr(three, name).pk) for name in expected}
    taken = rows_of(admin.get(EXPORT, asked))
    assert {row["id"] for row in taken} == {str(getattr(three, name).pk) for name in expected}


def test_filters_by_what_is_known_only_here(world: World, admin: Client, three: SimpleNamespace) -> None:
    second = {str(three.second.pk)}
    assert found(admin, object=three.second.object_id.upper()) == second
    assert found(admin, actor=three.token.prefix) == second
    assert found(admin, actor=three.token.prefix[:6], verb="lamp") == second
    assert found(admin, actor=str(world.reviewer.account.pk), verb="lamp") == second
    assert found(admin, actor=str(uuid.uuid4())) == found(admin, object=str(uuid.uuid4())) == set()
    assert found(admin, actor="per_nothing") == set()


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"verb": "Not a verb"}, "verb", "A verb looks like"),
        ({"type": "Agent Persona"}, "type", "one word"),
        ({"since": "yesterday"}, "since", "2026-12-31"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "until", "before the first day"),
        ({"request": "a b"}, "request", "letters"),
        ({"actor": "x" * 151}, "actor", "150"),
    ],
)
def test_a_filter_that_cannot_be_read_is_said_beside_it(
    world: World, admin: Client, asked: dict[str, str], field: str, words: str
) -> None:
    for address in (PAGE, EXPORT):
        response = admin.get(address, asked)
        page = response.content.decode()
        assert response.status_code == 422 and "Nothing was looked for" in page
        assert re.search(rf'<p class="fault" id="f-{field}-fault">[^<]*{words}', page)
    assert not AuditEntry.objects.filter(verb="audit.exported").exists()


def test_pages_go_on_where_one_ended(world: World, admin: Client, at: Callable[..., AuditEntry]) -> None:
    made = [str(at(DAY + timedelta(seconds=index // 40), world.tenant, verb="many.done").pk) for index in range(120)]
    seen: list[str] = []
    address = f"{PAGE}?verb=many"
    for size in (50, 50, 20):
        response = admin.get(address)
        page = response.content.decode()
        assert len(ids(response)) == size
        seen += ids(response)
        older = re.search(r'<a class="button" href="(\?[^"]*)" rel="next">', page)
        address = PAGE + older.group(1).replace("&amp;", "&") if older else ""
        write(world.tenant, verb="many.done")  # what comes meanwhile moves nothing
    assert address == "" and sorted(seen) == sorted(made) and len(set(seen)) == 120
    in_order = AuditEntry.objects.filter(pk__in=made).order_by(*reading.NEWEST).values_list("pk", flat=True)
    assert seen == [str(pk) for pk in in_order]
    assert reading.entries(world.admin, world.tenant).totally_ordered


def test_the_end_and_the_beginning_are_said(world: World, admin: Client) -> None:
    oldest = AuditEntry.objects.filter(tenant=world.tenant).order_by("created_at", "pk").first()
    end = admin.get(PAGE, {"after": reading.write_cursor(oldest)}).content.decode()
    assert "Nothing is older" in end and "Newest" not in end
    assert "Nothing matches" in admin.get(PAGE, {"verb": "nothing.such"}).content.decode()


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1)), st.uuids())
def test_a_cursor_is_read_as_it_was_written(moment: datetime, ident: uuid.UUID) -> None:
    entry = AuditEntry(id=ident, created_at=moment.replace(tzinfo=UTC))
    assert reading.read_cursor(reading.write_cursor(entry)) == (entry.created_at, ident)


@given(st.text(max_size=60))
def test_what_is_no_cursor_is_none(text: str) -> None:
    assert reading.read_cursor(text) is None


def test_the_page_of_an_entry_compares_texts(world: World, admin: Client) -> None:
    before, after = {"text": "One.\nTwo.", "n": 1, "tools": ["a"]}, {"text": "One.\nThree.", "n": 1, "tools": ["b"]}
    entry = write(world.tenant, before=before, after=after, note="Because\nof this.", request_id="req-9")
    page = admin.get(f"{PAGE}{entry.pk}/").content.decode()
    assert "<del>Two</del>" in page or "<del>Two." in page
    assert "<code>tools[0]</code>" in page and "1 value that stayed" in page and "Because" in page
    assert f"?object={entry.object_id}" in page and "?request=req-9" in page


def test_a_list_shows_what_changed_in_short(world: World, admin: Client) -> None:
    many = {f"k{number:02}": number for number in range(15)}
    write(world.tenant, verb="many.set", after={**many, "long": "x" * 5000})
    page = admin.get(PAGE, {"verb": "many"}).content.decode()
    assert "16 changes" in page and "And 4 more" in page and "x" * 300 not in page


def test_the_lasting_address_leads_to_the_tenant(world: World, admin: Client) -> None:
    entry, loose = write(world.tenant), write(None, object_label="Loose")
    assert admin.get(f"/audit/{entry.pk}/")["Location"] == f"{PAGE}{entry.pk}/"
    assert client_of(world.viewer).get(f"/audit/{entry.pk}/").status_code == 404
    assert admin.get(f"/audit/{loose.pk}/").status_code == 404
    assert "Loose" in client_of(world.root).get(f"/audit/{loose.pk}/").content.decode()
    foreign = write(world.other)
    assert admin.get(f"{PAGE}{foreign.pk}/").status_code == 404


def test_superusers_read_every_tenant_and_what_belongs_to_none(world: World) -> None:
    write(world.other, object_label="Theirs")
    write(None, object_label="Nobody's")
    root = client_of(world.root)
    page = root.get("/audit/").content.decode()
    assert "Theirs" in page and "Nobody&#x27;s" in page and "Globex" in page
    taken = rows_of(root.get("/audit/export/"))
    assert {row["tenant"] for row in taken} >= {"", "acme", "globex"}
    assert AuditEntry.objects.get(verb="audit.exported").tenant is None


def test_it_reads_after_people_and_things_are_gone(world: World, admin: Client) -> None:
    persona = world.persona("Night desk")
    editor = world.editor.account
    propose(persona, actor=world.editor, instructions="New.", rationale="x")
    personas.archive_persona(persona, actor=world.reviewer, reason="")
    accounts.revoke_role(world.tenant, editor, Role.EDITOR, actor=superuser())
    User.objects.filter(pk=editor.pk).update(name="former member 1", username="former-1", is_active=False)
    page = admin.get(PAGE, {"object": "Night desk"}).content.decode()
    assert "Night desk" in page
    assert found(admin, actor="Editor", verb="proposal") == found(admin, actor="former", verb="proposal") != set()
    gone = write(world.tenant, object_type="agentpersona", object_id=str(uuid.uuid4()), object_label="Gone desk")
    page = admin.get(f"{PAGE}{gone.pk}/").content.decode()
    assert "Gone desk" in page and f"/personas/{gone.object_id}" not in page


def test_objects_are_linked_for_who_may_see_them(world: World) -> None:
    hidden = make_tenant("hidden")
    write(world.tenant, object_type="tenant", object_id=str(hidden.pk), object_label="Hidden")
    assert "/t/hidden/" not in client_of(world.admin).get(PAGE).content.decode()
    assert "/t/hidden/" in client_of(world.root).get(PAGE).content.decode()


def test_an_account_is_linked_while_it_belongs_to_the_tenant(world: World, admin: Client) -> None:
    viewer, asked = world.viewer.account, {"verb": "role", "object": "Viewer"}
    assert f'href="/t/acme/members/{viewer.pk}/"' in admin.get(PAGE, asked).content.decode()
    accounts.revoke_role(world.tenant, viewer, Role.VIEWER, actor=superuser())
    page = admin.get(PAGE, asked).content.decode()
    assert "Role revoked" in page and f"/members/{viewer.pk}" not in page


def test_statements_do_not_grow_with_the_page(
    world: World, admin: Client, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for number in range(49):
        propose(world.persona(f"P{number}"), actor=world.editor, instructions="New.", rationale="")
    with django_assert_max_num_queries(19):
        assert len(ids(admin.get(PAGE))) == 50


HOSTILE = "<script>alert(1)</script>\u202e客服 👩‍🚒"


def test_hostile_values_are_only_text(world: World, admin: Client) -> None:
    entry = write(
        world.tenant, actor_name=HOSTILE, object_label=HOSTILE, note=HOSTILE, request_id="r",
        before={HOSTILE: f"{HOSTILE}\n{HOSTILE}", "short": HOSTILE}, after={"list": [HOSTILE]},
    )  # fmt: skip
    for address in (PAGE, f"{PAGE}{entry.pk}/"):
        page = admin.get(address).content.decode()
        assert "<script>alert" not in page and "&lt;script&gt;" in page and "\u202e" not in page and "客服" in page
    page = admin.get(PAGE, {"actor": '"><script>alert(2)</script>', "verb": '"onfocus="'}).content.decode()
    assert "<script>alert" not in page and '"onfocus="' not in page


def test_the_file_has_every_column(world: World, admin: Client) -> None:
    entry = write(
        world.tenant, actor=world.editor.account, actor_name="Editor", token_prefix="per_abc", note="A, “note”\nof two",
        before={"a": "客"}, after={}, request_id="r-1", verb="thing.made",
    )  # fmt: skip
    response = admin.get(EXPORT, {"verb": "thing.made"})
    assert response["Content-Type"] == "text/csv; charset=utf-8" and response["Cache-Control"] == "no-store"
    today = datetime.now(UTC).date()
    assert response["Content-Disposition"] == f'attachment; filename="audit-acme-{today}.csv"'
    (row,) = rows_of(response)
    assert row == {
        "time": entry.created_at.isoformat(timespec="microseconds"), "actor": "Editor", "user_name": "editor",
        "token": "per_abc", "tenant": "acme", "verb": "thing.made", "object_type": "thing", "object_id": "1",
        "object_label": "It", "before": '{"a": "客"}', "after": "", "request_id": "r-1", "note": "A, “note”\nof two",
        "id": str(entry.pk),
    }  # fmt: skip


def test_an_export_is_an_entry_itself(world: World, admin: Client) -> None:
    taken = rows_of(admin.get(EXPORT, {"verb": "role", "since": "2020-01-01"}, headers={"X-Request-ID": "take-1"}))
    assert taken and all(row["verb"].startswith("role.") for row in taken)
    entry = AuditEntry.objects.get(verb="audit.exported")
    assert entry.after == {"filters": {"verb": "role", "since": "2020-01-01"}}
    assert (entry.actor, entry.tenant, entry.request_id) == (world.admin.account, world.tenant, "take-1")
    assert client_of(world.viewer).get(EXPORT).status_code == 403
    assert AuditEntry.objects.filter(verb="audit.exported").count() == 1


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_formulas_are_neutralised(world: World, admin: Client, cell: str) -> None:
    write(world.tenant, actor_name=cell, object_label=cell, note=cell, verb="thing.odd")
    (row,) = rows_of(admin.get(EXPORT, {"verb": "thing.odd"}))
    assert row["actor"] == row["object_label"] == row["note"] == f"'{cell}"


@given(st.text(max_size=20))
def test_no_cell_starts_a_formula(cell: str) -> None:
    shown = neutral(cell)
    assert shown[:1] not in {"=", "+", "-", "@", "\t", "\r"}
    assert shown in (cell, f"'{cell}")


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(audit_export, "PIECE", 3)
    return 3


def test_the_file_is_read_piece_by_piece(
    world: World, admin: Client, small_pieces: int, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(8):
        write(world.tenant, verb="thing.many")
    response: Any = admin.get(EXPORT, {"verb": "thing.many"})
    pieces = iter(response.streaming_content)
    with django_assert_num_queries(0):
        assert b'"time","actor"' in next(pieces)
    with django_assert_num_queries(3):  # whether it still may, and the entries
        assert next(pieces).count(b"thing.many") == small_pieces
    write(world.tenant, verb="thing.many")  # after the export began
    assert b"".join(pieces).count(b"thing.many") == 8 - small_pieces


def test_under_an_event_loop_it_streams_without_a_warning(world: World, small_pieces: int) -> None:
    for _ in range(7):
        write(world.tenant, verb="thing.many")
    client = AsyncClient()
    client.force_login(world.admin.account, backend="personas.permissions.PersonBackend")

    async def take() -> tuple[bool, list[bytes]]:
        response: Any = await client.get(EXPORT, {"verb": "thing.many"})
        return response.is_async, [piece async for piece in response.streaming_content]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        is_async, pieces = async_to_sync(take)()
    assert is_async and len(pieces) == 4 and b"".join(pieces).count(b"thing.many") == 7


def test_the_persona_leads_to_its_audit(world: World, admin: Client) -> None:
    persona = world.persona()
    link = f"/t/acme/audit/?object={persona.pk}"
    assert link in admin.get(f"/t/acme/personas/{persona.pk}/").content.decode()
    assert link not in client_of(world.reviewer).get(f"/t/acme/personas/{persona.pk}/").content.decode()
    assert "directive.enable" in admin.get(link).content.decode()


def test_the_rail_leads_there_for_who_may_read(world: World, admin: Client) -> None:
    assert f'href="{PAGE}"' in admin.get("/t/acme/").content.decode()
    assert f'href="{PAGE}"' not in client_of(world.reviewer).get("/t/acme/").content.decode()
    assert 'href="/audit/"' in client_of(world.root).get("/").content.decode()
    assert 'href="/audit/"' not in admin.get("/").content.decode()


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("token.created", "Token created"),
        ("directive.approve", "Directive approved"),
        ("directive.rollback", "Directive rolled back"),
        ("persona_right.granted", "Persona right granted"),
        ("odd", "Odd"),
    ],
)
def test_verbs_in_words(verb: str, words: str) -> None:
    assert reading.verb_in_words(verb) == words


def test_who_acts_without_an_account_is_the_system(world: World, admin: Client) -> None:
    audit.record("thing.swept", world.tenant, actor=None, tenant=world.tenant)
    page = admin.get(PAGE, {"verb": "thing.swept"}).content.decode()
    assert "system" in page and "no account" in page


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({}, "audit_order"),
        ({"since": "2026-01-01"}, "audit_order"),
        ({"actor": "edit"}, "audit_actor_name"),
        ({"type": "lamp"}, "audit_type"),
        ({"object": "Lam"}, "audit_label"),
        ({"object": "0a5f9d9c-7d1f-4d38-9a4e-6d6f0d7e4c11"}, "audit_object_order"),
        ({"request": "r"}, "audit_request"),
    ],
)
def test_every_filter_enters_by_an_index(world: World, asked: dict[str, str], index: str) -> None:
    form = AuditForm(asked)
    assert form.is_valid()
    rows = reading.matching(AuditEntry.objects.all(), form.asked)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # the table of a test is too small to need one
    assert index in (rows if index != "audit_order" else rows.order_by(*reading.NEWEST)).explain()


@pytest.mark.postgres
def test_a_verb_enters_by_the_index_of_the_tenant(world: World) -> None:
    rows = reading.matching(AuditEntry.objects.filter(tenant=world.tenant), {"verb": "lamp.lit"})
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert re.search(r"audit_verb.*\n.*Index Cond: .*verb", rows.explain())


def test_a_filter_finds_somebody_among_many_of_that_name(world: World, admin: Client) -> None:
    User.objects.bulk_create(User(username=f"zed-{n}", name=f"Zed {n}") for n in range(250))
    zed = make_person("zed-real", tenant=world.tenant, roles=(Role.ADMIN,))
    rename_tenant(world.tenant, name="Acme!", actor=zed)
    assert "tenant.renamed" in admin.get(PAGE, {"actor": "zed"}).content.decode()


def test_an_export_ends_with_the_right_to_read_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("personas.audit_export.PIECE", 2)
    pieces = client_of(world.admin).get(EXPORT).streaming_content
    assert next(pieces) and next(pieces)
    User.objects.filter(pk=world.admin.account.pk).update(is_active=False)
    assert list(pieces) == []
