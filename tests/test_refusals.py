"""What somebody was refused is in the audit, and nothing else of the attempt."""

from typing import Any

import pytest
from django.test import Client

from learning.models import Decision, DirectiveProposal
from learning.services.proposals import propose
from personas.domain.rights import Right, Role
from personas.models import AuditEntry
from personas.permissions import holders, holds
from personas.services import accounts
from personas.services.invitations import invite_member
from tests.api_client import Caller
from tests.factory import World, make_person, superuser
from tests.pages import client_of, form, url


@pytest.fixture
def proposal(world: World) -> DirectiveProposal:
    return propose(world.persona(), actor=world.editor, instructions="New.", rationale="x")


def refusals() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(verb="access.refused"))


def test_a_page_that_refuses_leaves_one_entry_and_nothing_else(world: World, proposal: DirectiveProposal) -> None:
    before = AuditEntry.objects.count(), Decision.objects.count()
    data, headers = form(proposal), {"X-Request-ID": "try-1"}
    response = client_of(world.editor).post(url(proposal, "approve"), data, headers=headers)
    assert response.status_code == 403
    (entry,) = refusals()
    assert (AuditEntry.objects.count() - 1, Decision.objects.count()) == before
    assert (entry.actor, entry.actor_name, entry.token_prefix) == (world.editor.account, "Editor", "")
    assert (entry.object_type, entry.object_id) == ("agentpersona", str(proposal.persona.pk))
    assert entry.after == {"right": "activate-directive", "asked": "POST /t/<slug:tenant>/review/<uuid:pk>/approve/"}
    assert (entry.tenant, entry.request_id) == (world.tenant, "try-1")
    assert "activate directives" in entry.note


def test_a_refusal_that_is_raised_leaves_one_entry_too(world: World, proposal: DirectiveProposal) -> None:
    page = client_of(world.viewer).get(f"/t/acme/personas/{proposal.persona.pk}/propose/")
    assert page.status_code == 403
    (entry,) = refusals()
    assert (entry.actor, entry.after["right"]) == (world.viewer.account, "change_persona")


def test_the_invitation_of_somebody_else_leaves_one_entry_without_its_secret(world: World) -> None:
    offer, secret = invite_member(world.tenant, "new@example.test", roles=[Role.VIEWER], actor=world.admin)
    client = client_of(world.outsider)
    client.get(f"/accounts/invitation/{secret}/")
    assert client.post("/accounts/invitation/", {"invitation": str(offer.pk)}).status_code == 403
    (entry,) = refusals()
    assert (entry.actor, entry.tenant, entry.object_id) == (world.outsider.account, world.tenant, str(offer.pk))
    assert entry.after == {"asked": "POST /accounts/invitation/"} and "another e-mail address" in entry.note
    assert "new@" not in entry.object_label + entry.note


def test_the_api_leaves_one_entry_with_the_token(world: World, proposal: DirectiveProposal) -> None:
    caller = Caller.of(world.reviewer, world.tenant, may_review=False)
    for headers in ({}, {"Idempotency-Key": "k"}):
        response = caller.post(f"/proposals/{proposal.pk}/approve", {"expected_revision": 1}, headers=headers)
        assert response.status_code == 403
    entry, again = refusals()
    assert entry.token_prefix == again.token_prefix == caller.headers["Authorization"][7:17]
    assert entry.after["right"] == "activate-directive" and entry.tenant == world.tenant
    assert not Decision.objects.exists()


@pytest.mark.parametrize("name", ["outsider", "anonymous"])
def test_what_is_not_found_is_no_refusal(world: World, proposal: DirectiveProposal, name: str) -> None:
    client = Client() if name == "anonymous" else client_of(world.cast[name])
    assert client.post(url(proposal, "approve"), form(proposal)).status_code in (401, 404)
    assert Caller().post(f"/proposals/{proposal.pk}/approve", {"expected_revision": 1}).status_code == 401
    assert Caller.of(world.outsider, world.other).get(f"/personas/{proposal.persona.pk}").status_code == 404
    assert refusals() == []


def test_other_refusals_are_not_audited(world: World, proposal: DirectiveProposal) -> None:
    wrong = client_of(world.reviewer).post(url(proposal, "approve"), form(proposal, expected_revision=7))
    assert wrong.status_code == 422
    assert client_of(world.reviewer).post(url(proposal, "reject"), {"note": ""}).status_code == 422
    assert refusals() == []


def test_a_form_that_is_too_old_is_no_refusal(world: World, proposal: DirectiveProposal) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.editor.account, backend="personas.permissions.PersonBackend")
    assert client.post(url(proposal, "approve"), form(proposal)).status_code == 403
    assert refusals() == []


@pytest.mark.parametrize("right", [Right.VIEW_TENANT, Right.MANAGE_TOKENS, Right.ACTIVATE_DIRECTIVE])
def test_who_holds_a_right_is_what_each_holds(world: World, right: Right) -> None:
    everybody: list[Any] = [*world.cast.values(), make_person("nobody")]
    leaver = make_person("leaver", tenant=world.tenant)
    accounts.grant_persona_right(world.persona(), leaver.account, Right.ACTIVATE_DIRECTIVE, actor=superuser())
    leaver.account.is_active = False
    found = holders([actor.account for actor in [*everybody, leaver]] + [world.service], right, world.tenant)
    assert found >= {superuser().account.pk}
    for actor in everybody:
        assert (actor.account.pk in found) == holds(actor, right, world.tenant)
    assert leaver.account.pk not in found
