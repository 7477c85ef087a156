"""The staff admin: who sees what, and that nothing in it writes past a service."""

import hashlib
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import connection, models
from django.test import Client
from django.test.utils import CaptureQueriesContext

from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.rights import Right, Role
from personas.models import AgentPersona, AuditEntry, StoredAnswer, Tenant, User
from personas.services import accounts, invitations, tokens
from tests.factory import World, make_person, superuser
from tests.pages import client_of

# What has no page, and why.
LEFT_OUT = {
    "admin.LogEntry": "nothing writes it: the services write the audit",
    "auth.Group": "a group is the inside of a role, which has a page",
    "auth.Permission": "Django's list of codenames",
    "axes.AccessAttemptExpiration": "a detail of an attempt",
    "contenttypes.ContentType": "Django's list of models",
    "otp_static.StaticDevice": "a second factor: its owner's alone",
    "otp_static.StaticToken": "a secret",
    "otp_totp.TOTPDevice": "holds a secret",
    "sessions.Session": "holds a secret",
}
PAGES = sorted(admin.site._registry.items(), key=lambda pair: pair[0]._meta.label)


def base(model: type[models.Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def digests() -> dict[str, tuple[int, str]]:
    """The number of rows of every table, and a digest of what they hold."""
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            if table not in ("django_session", "axes_accesslog"):
                cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608
                rows = sorted(map(repr, cursor.fetchall()))
                found[table] = (len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest())
    return found


@pytest.fixture
def full(world: World) -> World:
    """A world with at least one row in every table of ours."""
    persona = world.persona(text="One.\u200b\nTwo.")
    proposal = propose(persona, actor=world.editor, instructions="One.\u200b\nThree.", rationale="Better.")
    review.comment(proposal, actor=world.reviewer, note="Hm.")
    accounts.grant_persona_right(persona, world.outsider.account, Right.VIEW_PERSONA, actor=world.admin)
    token, _ = tokens.create_token(world.tenant, world.service, name="runtime", may_review=False, actor=None)
    StoredAnswer.objects.create(
        token=token, method="POST", path="/", key="k", body_sha256="0" * 64, status=200, body={}
    )
    invitations.invite_member(world.tenant, "new@example.test", roles=[Role.VIEWER], actor=world.admin)
    return world


@pytest.fixture
def staff(world: World) -> Actor:
    """A member of staff who is viewer in one tenant, and has nothing in the other."""
    make_person("clerk", tenant=world.tenant, roles=(Role.VIEWER,))
    User.objects.filter(username="clerk").update(is_staff=True)
    return Actor(User.objects.get(username="clerk"))


def test_every_model_has_a_page_or_a_reason() -> None:
    labels = {model._meta.label for model in apps.get_models()}
    paged = {model._meta.label for model, _ in PAGES}
    assert labels == paged | LEFT_OUT.keys()
    assert not paged & LEFT_OUT.keys()


@pytest.mark.parametrize(("model", "page"), PAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_page_finds_and_filters(model: type[models.Model], page: admin.ModelAdmin) -> None:
    assert page.search_fields or page.get_search_fields(None), "nothing to search by"  # type: ignore[arg-type]
    assert page.list_filter or page.date_hierarchy or page.search_fields
    assert len(page.list_display) > 1 or type(page).__name__.endswith("GrantAdmin")
    assert page.actions is None


@pytest.mark.parametrize(("path", "status"), [("", 302), ("personas/tenant/", 302), ("nothing/", 302)])
def test_who_is_not_logged_in_goes_to_the_one_form(client: Client, db: None, path: str, status: int) -> None:
    response = client.get(f"/admin/{path}")
    assert response.status_code == status
    hop = client.get(response["Location"])
    final = hop["Location"] if hop.status_code == 302 else response["Location"]
    assert final.startswith(f"/accounts/login/?next=/admin/{path}")
    assert client.post(f"/admin/{path}").status_code == 401


def test_the_admin_has_no_form_to_log_in(client: Client, world: World) -> None:
    data = {"username": "root", "password": "correct horse battery staple", "next": "/admin/"}
    response = client.post("/admin/login/", data)
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("name", ["viewer", "admin", "reviewer", "outsider"])
def test_who_is_no_staff_learns_nothing(full: World, name: str) -> None:
    client = client_of(full.cast[name])
    persona = AgentPersona.objects.get()
    answers = {client.get(url).content for url in (
        "/admin/", "/admin/login/", "/admin/nothing/", "/admin/personas/tenant/",
        f"/admin/personas/agentpersona/{persona.pk}/change/", f"/admin/personas/agentpersona/{full.tenant.pk}/change/",
    )}  # fmt: skip
    assert client.get("/admin/").status_code == 403
    assert len(answers) == 1
    assert AuditEntry.objects.filter(verb="access.refused", actor=full.cast[name].account).count() == 7


def test_staff_who_lose_the_flag_are_out_at_once(staff: Actor) -> None:
    client = client_of(staff)
    assert client.get("/admin/").status_code == 200
    User.objects.filter(pk=staff.account.pk).update(is_staff=False)
    assert client.get("/admin/").status_code == 403
    User.objects.filter(pk=staff.account.pk).update(is_staff=True, is_active=False)
    assert client.get("/admin/").status_code == 302


@pytest.mark.parametrize(("model", "page"), PAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_page_opens(full: World, model: type[models.Model], page: Any) -> None:
    client = client_of(superuser())
    day = "?" + "&".join(f"{page.date_hierarchy}__{part}={value}" for part, value in (("year", 2026), ("month", 1)))
    addresses = ["", "?q=a+b", "?o=-1.2", "?_popup=1", *([day] if page.date_hierarchy else [])]
    row = model._default_manager.first()
    addresses += [f"{row.pk}/change/", f"{row.pk}/history/"] if row else []
    for address in addresses:
        response = client.get(base(model) + address)
        assert response.status_code == 200, address
        assert "<style" not in response.content.decode()
    assert row or model._meta.app_label in ("axes", "guardian") or model.__name__ in (
        "TenantUserObjectPermission", "AgentPersonaGroupObjectPermission", "RuleChangeRequest",
    )  # fmt: skip


def test_superusers_see_all_and_staff_what_is_permitted(full: World, staff: Actor) -> None:
    hers, roots = client_of(staff), client_of(superuser())
    for model, page in PAGES:
        everything = {row.pk for row in model._default_manager.all()}
        shown = {row.pk for row in roots.get(f"{base(model)}?").context["cl"].queryset}
        assert shown == everything, model
        seen = {row.pk for row in hers.get(base(model)).context["cl"].queryset}
        assert seen <= everything
        if hasattr(model._default_manager, "permitted") and not page.everybody:
            assert seen == {row.pk for row in model._default_manager.permitted(staff)}, model
        for row in model._default_manager.all():
            for tail in ("change", "history"):
                status = hers.get(f"{base(model)}{row.pk}/{tail}/").status_code
                assert status == (200 if row.pk in seen else 404), (model, tail)


def test_staff_without_a_tenant_see_no_row_of_any(full: World) -> None:
    make_person("porter")
    User.objects.filter(username="porter").update(is_staff=True)
    porter = Actor(User.objects.get(username="porter"))
    client = client_of(porter)
    for model, page in PAGES:
        rows = client.get(base(model)).context["cl"].queryset
        if model is User:
            assert list(rows) == [porter.account]
        elif not page.everybody:
            assert not rows.exists(), model
    index = client.get("/admin/").content.decode()
    assert "directive" not in index.split("Latest in the audit")[1]


def test_filters_name_no_tenant_that_is_hidden(full: World, staff: Actor) -> None:
    Tenant.objects.create(slug="secret", name="Secret place")
    for model, _ in PAGES:
        assert "Secret place" not in client_of(staff).get(base(model)).content.decode()
    page = client_of(superuser()).get("/admin/personas/agentpersona/").content.decode()
    assert "Secret place" in page


@pytest.mark.parametrize("query", ["password__startswith=pbkdf2", "groups__name=x", "groups=1", "user_permissions=1"])
def test_nothing_is_found_out_by_asking(full: World, staff: Actor, query: str) -> None:
    for actor in (staff, superuser()):
        response = client_of(actor).get(f"/admin/personas/user/?{query}")
        assert response.status_code == 400
    assert client_of(superuser()).get("/admin/personas/apitoken/?digest__startswith=0").status_code == 400


def test_secrets_are_never_shown(full: World) -> None:
    client = client_of(superuser())
    for model, page in PAGES:
        for row in model._default_manager.all():
            text = client.get(f"{base(model)}{row.pk}/change/").content.decode()
            for name in page.secret:
                value = str(getattr(row, name) or "")
                assert len(value) < 8 or value not in text, (model, name)


def test_hidden_characters_are_named(full: World) -> None:
    proposal = DirectiveProposal.objects.get()
    text = client_of(superuser()).get(f"{base(DirectiveProposal)}{proposal.pk}/change/").content.decode()
    assert "U+200B zero width space" in text
    assert "\u200b" not in text


def test_a_row_links_to_the_page_that_changes_it(full: World) -> None:
    client = client_of(superuser())
    proposal = DirectiveProposal.objects.get()
    for model, row, address in (
        (DirectiveProposal, proposal, f"/t/acme/review/{proposal.pk}/"),
        (AgentPersona, proposal.persona, f"/t/acme/personas/{proposal.persona.pk}/"),
        (Tenant, full.tenant, "/t/acme/"),
    ):
        assert f'href="{address}"' in client.get(f"{base(model)}{row.pk}/change/").content.decode()
        assert f'href="{address}"' in client.get(base(model)).content.decode()
        assert client.get(address).status_code == 200
    tenant = client.get(f"{base(Tenant)}{full.tenant.pk}/change/").content.decode()
    link = f"/admin/personas/agentpersona/?tenant__id__exact={full.tenant.pk}"
    assert f'href="{link}"' in tenant
    assert client.get(link).context["cl"].result_count == 1


def test_the_audit_of_a_row_is_beside_it(full: World, staff: Actor) -> None:
    persona = AgentPersona.objects.get()
    address = f"{base(AgentPersona)}{persona.pk}/history/"
    entries = client_of(superuser()).get(address).context["entries"]
    assert {entry.object_id for entry in entries} == {str(persona.pk)}
    assert not client_of(staff).get(address).context["entries"]  # a viewer does not read the audit


@pytest.mark.parametrize("who", ["clerk", "root"])
@pytest.mark.parametrize(("model", "page"), PAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_no_request_writes_past_a_service(
    full: World, staff: Actor, model: type[models.Model], page: Any, who: str
) -> None:
    client = client_of(staff if who == "clerk" else superuser())
    client.raise_request_exception = True
    row = model._default_manager.first()
    forged = {field.name: "1" for field in model._meta.fields}
    forged |= {
        "_save": "1",
        "_saveasnew": "1",
        "_selected_action": str(row.pk if row else 1),
        "action": "delete_selected",
    }
    forged |= {"post": "yes", "index": "0", "form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "_popup": "1"}
    forged |= {"form-MAX_NUM_FORMS": "1", "form-0-id": str(row.pk if row else 1), "_to_field": "id", "sure": "1"}
    addresses = ["", "add/", "?_popup=1", *(f"{row.pk}/{tail}/" for tail in ("change", "delete", "history") if row)]
    before = digests()
    for address in addresses:
        for method in ("post", "put", "patch", "delete"):
            data = forged if method == "post" else None
            status = getattr(client, method)(base(model) + address, data).status_code
            assert status in (403, 404, 405), (address, method, status)
    for address in ("add/", *([f"{row.pk}/delete/"] if row else [])):
        assert client.get(base(model) + address).status_code in (403, 404)
    assert digests() == before
    assert not LogEntry.objects.exists()


def test_other_doors_of_the_admin_are_shut(full: World) -> None:
    client = client_of(superuser())
    before = digests()
    for path in ("password_change/", "r/1/1/", "auth/group/", "auth/group/add/"):
        assert client.get(f"/admin/{path}").status_code == 404, path
        assert client.post(f"/admin/{path}", {"name": "x"}).status_code in (404, 405), path
    asked = {"term": "a", "app_label": "learning", "model_name": "directiveproposal", "field_name": "persona"}
    assert client.post("/admin/autocomplete/", asked).status_code == 405
    assert client.get("/admin/autocomplete/", asked).status_code == 200
    assert digests() == before


def test_the_helper_of_choices_shows_permitted_rows_alone(full: World, staff: Actor) -> None:
    full.persona("Seen")
    asked = {"term": "", "app_label": "learning", "model_name": "directiveproposal", "field_name": "tenant"}
    found = client_of(staff).get("/admin/autocomplete/", asked).json()["results"]
    assert [row["text"] for row in found] == ["Acme"]


def test_an_entry_of_the_audit_leads_to_its_row(full: World) -> None:
    persona = AgentPersona.objects.get()
    entry = AuditEntry.objects.filter(object_id=str(persona.pk)).first()
    page = client_of(superuser()).get(f"{base(AuditEntry)}{entry.pk}/change/").content.decode()
    assert f'href="{base(AgentPersona)}{persona.pk}/change/"' in page


def test_a_thousand_rows_take_no_more_statements_than_ten(full: World, staff: Actor) -> None:
    entry = {"actor": full.root.account, "actor_name": "Root", "verb": "x", "object_type": "x", "object_id": "1"}
    proposal = DirectiveProposal.objects.get()
    kept = {field.name: getattr(proposal, field.name) for field in proposal._meta.fields if field.name != "id"}
    counts: list[dict[str, int]] = []
    User.objects.filter(pk=staff.account.pk).update(name="Clerk")
    accounts.grant_role(full.tenant, staff.account, Role.ADMIN, actor=superuser())
    for size in (10, 990):
        AuditEntry.objects.bulk_create(
            AuditEntry(tenant=full.tenant, object_label=str(n), **entry) for n in range(size)
        )
        DirectiveProposal.objects.bulk_create(DirectiveProposal(**kept) for _ in range(size))
        found = {}
        for who, actor in (("root", superuser()), ("clerk", staff)):
            client = client_of(actor)
            for model in (AuditEntry, DirectiveProposal):
                with CaptureQueriesContext(
                    connection,
                ) as queries:
                    page = client.get(base(model))
                assert page.context["cl"].result_count >= size
                found[f"{who} {model.__name__}"] = len(queries)
        counts.append(found)
    assert counts[0] == counts[1]
    assert max(counts[0].values()) <= 14


def test_the_rail_leads_there_and_back(world: World, staff: Actor) -> None:
    assert 'href="/admin/"' in client_of(staff).get("/").content.decode()
    assert 'href="/admin/"' not in client_of(world.viewer).get("/").content.decode()
    assert 'href="/"' in client_of(staff).get("/admin/").content.decode()
