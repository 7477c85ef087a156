"""The settings of a tenant: its name, and rules of review that one admin raises and two lower."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import IntegrityError, connections, transaction

from learning.services.proposals import propose
from personas.actors import Actor
from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Role
from personas.models import AuditEntry, RuleChangeRequest, Tenant, User
from personas.services import accounts, tenants
from tests.factory import World, make_person, superuser
from tests.pages import client_of

SETTINGS = "/t/acme/settings/"
STRICT = {"require_second_person": True, "required_approvals": 2}
LOOSE = {"require_second_person": False, "required_approvals": 1}


def rules(world: World) -> tuple[bool, int]:
    tenant = Tenant.objects.get(pk=world.tenant.pk)
    return tenant.require_second_person, tenant.required_approvals


def strict(world: World) -> Actor:
    """Make the rules strict; a second admin."""
    tenants.set_review_rules(world.tenant, **STRICT, actor=world.admin)
    return make_person("other-admin", tenant=world.tenant, roles=(Role.ADMIN,))


def asked(world: World) -> RuleChangeRequest:
    return tenants.ask_to_lower_rules(world.tenant, **LOOSE, actor=world.admin, reason="Holidays.")


def test_the_name_changes_and_the_address_stays(world: World) -> None:
    client = client_of(world.admin)
    assert client.post(f"{SETTINGS}name/", {"name": " Acme\u0301 "})["Location"] == SETTINGS
    assert Tenant.objects.get(slug="acme").name == "Acmé"
    for name in ("", "  ", "a\u202eb", "x" * 151):
        assert client.post(f"{SETTINGS}name/", {"name": name}).status_code == 422
    assert AuditEntry.objects.get(verb="tenant.renamed").after == {"name": "Acmé"}


def test_raising_a_rule_shows_its_effect_first(world: World) -> None:
    for name in ("One", "Two"):
        propose(world.persona(name), actor=world.editor, instructions="New.", rationale="")
    client = client_of(world.admin)
    shown = client.get(f"{SETTINGS}rules/?required_approvals=3&require_second_person=on").content.decode()
    assert "<b>2 of 2 pending proposals</b> will need more" in shown
    assert "Only 2 can approve" in shown and rules(world) == (False, 1)
    done = client.post(f"{SETTINGS}rules/", {"required_approvals": 2, "require_second_person": "on"})
    assert done["Location"] == SETTINGS and rules(world) == (True, 2)


def test_lowering_says_which_proposals_keep_what_they_were_made_under(world: World) -> None:
    propose(world.persona("Before"), actor=world.editor, instructions="New.", rationale="")
    after = world.persona("After")
    strict(world)
    propose(after, actor=world.editor, instructions="New.", rationale="")
    shown = client_of(world.admin).get(f"{SETTINGS}rules/?required_approvals=1").content.decode()
    assert "<b>1 of 2 pending proposals</b> will need less" in shown
    assert "1 pending proposal keeps what it needs" in shown
    assert "Another admin has to confirm it" in shown


@pytest.mark.parametrize("query", ["required_approvals=0", "required_approvals=6", "required_approvals=x", ""])
def test_numbers_that_no_rule_has(world: World, query: str) -> None:
    assert client_of(world.admin).get(f"{SETTINGS}rules/?{query}").status_code == 422


def test_the_same_rules_are_no_change(world: World) -> None:
    assert "the rules already" in client_of(world.admin).get(f"{SETTINGS}rules/?required_approvals=1").content.decode()


def test_one_admin_asks_and_another_confirms(world: World) -> None:
    other = strict(world)
    client, second = client_of(world.admin), client_of(other)
    sent = client.post(f"{SETTINGS}rules/", {"required_approvals": 1, "reason": "Holidays."})
    assert sent["Location"] == SETTINGS and rules(world) == (True, 2)
    request = RuleChangeRequest.objects.get()
    mine, theirs = client.get(SETTINGS).content.decode(), second.get(SETTINGS).content.decode()
    assert "Withdraw" in mine and "Confirm: lower" not in mine
    assert "Holidays." in theirs and "Confirm: lower" in theirs
    page = f"{SETTINGS}rules/{request.pk}/"
    refused = client.post(page, {"do": "confirm"})
    assert refused.status_code == 403 and rules(world) == (True, 2)
    assert second.post(page, {"do": "confirm"}).status_code == 302
    assert rules(world) == (False, 1)
    assert second.post(page, {"do": "confirm"}).status_code == 409
    entry = AuditEntry.objects.filter(verb="tenant.rules_set").order_by("-created_at").first()
    assert entry is not None and entry.actor_name == "Other-Admin" and "Asked for by Admin. Holidays." in entry.note
    assert "Confirmed by Other-Admin" in client.get(SETTINGS).content.decode()


@pytest.mark.parametrize(("who", "status"), [("other", "declined"), ("admin", "withdrawn")])
def test_a_request_is_declined_or_withdrawn(world: World, who: str, status: str) -> None:
    other = strict(world)
    request = asked(world)
    actor = other if who == "other" else world.admin
    client_of(actor).post(f"{SETTINGS}rules/{request.pk}/", {"do": "decline"})
    request.refresh_from_db()
    assert request.status == status and rules(world) == (True, 2)
    with pytest.raises(Conflict):
        tenants.confirm_rule_change(request, actor=other)
    assert asked(world).status == "pending"


def test_who_asked_must_still_be_an_admin(world: World) -> None:
    other = strict(world)
    request = asked(world)
    accounts.revoke_role(world.tenant, world.admin.account, Role.ADMIN, actor=other)
    with pytest.raises(Conflict):
        tenants.confirm_rule_change(request, actor=other)
    assert rules(world) == (True, 2)


def test_only_another_admin_confirms(world: World) -> None:
    strict(world)
    request = asked(world)
    accounts.grant_role(world.tenant, world.service, Role.EDITOR, actor=superuser())
    for actor in (world.admin, world.reviewer, world.editor, world.outsider, Actor(world.service)):
        with pytest.raises(NotPermitted):
            tenants.confirm_rule_change(request, actor=actor)
        with pytest.raises(NotPermitted):
            tenants.set_review_rules(world.tenant, **LOOSE, actor=actor)
    with pytest.raises(IntegrityError), transaction.atomic():
        RuleChangeRequest.objects.update(status="confirmed", decided_by=world.admin.account)
    assert rules(world) == (True, 2)


@pytest.mark.parametrize("flag", ["is_staff", "is_superuser"])
def test_staff_lower_at_once_and_close_what_waits(world: World, flag: str) -> None:
    other = strict(world)
    request = asked(world)
    User.objects.filter(pk=other.account.pk).update(**{flag: True})
    client = client_of(Actor(User.objects.get(pk=other.account.pk)))
    assert client.post(f"{SETTINGS}rules/", {"required_approvals": 1}).status_code == 302
    request.refresh_from_db()
    assert rules(world) == (False, 1) and request.status == "withdrawn"


def test_one_request_at_a_time_and_only_to_lower(world: World) -> None:
    strict(world)
    with pytest.raises(Invalid):
        tenants.ask_to_lower_rules(world.tenant, **STRICT, actor=world.admin)
    asked(world)
    with pytest.raises(Conflict):
        asked(world)
    again = client_of(world.admin).post(f"{SETTINGS}rules/", {"required_approvals": 1})
    assert again.status_code == 409 and "waits already" in again.content.decode()


def test_a_request_of_another_tenant_does_not_exist(world: World) -> None:
    strict(world)
    request = asked(world)
    assert client_of(world.outsider).post(f"/t/globex/settings/rules/{request.pk}/").status_code == 404
    assert client_of(world.admin).get("/t/globex/settings/").status_code == 404


def test_the_rail_leads_there(world: World) -> None:
    assert SETTINGS in client_of(world.admin).get("/t/acme/").content.decode()
    page = client_of(world.viewer).get("/t/acme/").content.decode()
    assert SETTINGS not in page and "/t/acme/members/" in page


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_confirming_and_declining_at_once() -> None:
    world = World()
    other = strict(world)
    barrier = Barrier(2)

    def decide(verb: Any, request: RuleChangeRequest, actor: Actor) -> str:
        try:
            barrier.wait(10)
            verb(request, actor=actor)
        except Conflict:
            return "late"
        finally:
            connections.close_all()
        return "done"

    for _ in range(4):
        tenants.set_review_rules(world.tenant, **STRICT, actor=world.admin)
        request = asked(world)
        with ThreadPoolExecutor(2) as pool:
            calls = [
                pool.submit(decide, tenants.confirm_rule_change, request, other),
                pool.submit(decide, tenants.decline_rule_change, request, world.admin),
            ]
            answers = [call.result(30) for call in calls]
        assert sorted(answers) == ["done", "late"]
        request.refresh_from_db()
        assert rules(world) == ((False, 1) if request.status == "confirmed" else (True, 2))
