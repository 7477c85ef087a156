"""API tokens: who makes them for whom, what they never exceed, and when they end."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from personas.actors import Actor
from personas.domain.errors import Invalid, NotPermitted
from personas.domain.rights import Right, Role
from personas.models import APIToken, AuditEntry
from personas.permissions import holds
from personas.resolve import resolve_for_token
from personas.services import accounts, tokens
from tests.factory import PASSWORD, World, make_person


@pytest.fixture
def both(world: World) -> Actor:
    return make_person("both", tenant=world.tenant, roles=(Role.ADMIN, Role.REVIEWER))


def make(world: World, owner: Actor, actor: Actor | None, **more: Any) -> APIToken:
    values = {"name": "t", "may_review": False, **more}
    return tokens.create_token(world.tenant, owner.account, actor=actor, **values)[0]


def test_the_secret_is_shown_once_and_kept_as_a_digest(world: World) -> None:
    token, secret = tokens.create_token(world.tenant, world.service, name="ci", may_review=False, actor=world.admin)
    assert secret.startswith(token.prefix) and len(secret) > 40
    assert token.digest == tokens.token_digest(secret) and secret not in str(vars(token))
    assert secret not in str(list(AuditEntry.objects.values()))
    assert resolve_for_token(token.digest, "Support", ("", "")) is not None
    again = tokens.create_token(world.tenant, world.service, name="ci", may_review=False, actor=world.admin)
    assert again[1] != secret


def test_whose_token_one_may_make(world: World, both: Actor) -> None:
    for actor in (world.reviewer, world.editor, world.outsider):
        with pytest.raises(NotPermitted):
            make(world, actor, actor)
    with pytest.raises(NotPermitted, match="for yourself or for a service account"):
        make(world, world.reviewer, world.admin)
    foreign = accounts.create_service_account(world.other, "svc-globex", name="", actor=world.root)
    with pytest.raises(NotPermitted):
        make(world, Actor(foreign), world.admin)
    with pytest.raises(Invalid, match="cannot see the tenant") as refusal:
        make(world, world.outsider, None)
    assert refusal.value.field == "user"
    assert make(world, both, both).created_by == both.user
    assert make(world, world.reviewer, None, may_review=True).created_by is None


def test_a_token_that_reviews_asks_for_the_password(world: World, both: Actor) -> None:
    with pytest.raises(Invalid, match="Type your password"):
        make(world, both, both, may_review=True)
    # Whoever asks counts the wrong ones, as the page does (tests/test_tokens_page.py).
    with pytest.raises(tokens.WrongPassword, match="not your password"):
        make(world, both, both, may_review=True, password="guess")
    with pytest.raises(Invalid, match="service account never decides"):
        make(world, Actor(world.service), both, may_review=True, password=PASSWORD)
    assert not APIToken.objects.exists()


def test_a_token_makes_none_that_can_do_more(world: World, both: Actor) -> None:
    plain, reviewing = make(world, both, None), make(world, both, None, may_review=True)
    with pytest.raises(NotPermitted, match="cannot make one that may"):
        make(world, both, Actor(both.user, token=plain), may_review=True)
    assert make(world, both, Actor(both.user, token=plain)).may_review is False
    assert make(world, both, Actor(both.user, token=reviewing), may_review=True).may_review is True


@pytest.mark.parametrize(
    ("more", "field"), [({"name": ""}, "name"), ({"name": "a\0"}, "name"), ({"name": "x" * 201}, "name")]
)
def test_what_a_token_cannot_be_called(world: World, more: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        make(world, world.admin, world.admin, **more)
    assert refusal.value.field == field


def test_a_token_ends(world: World, both: Actor) -> None:
    with pytest.raises(Invalid, match="lies ahead"):
        make(world, both, both, expires_at=timezone.now())
    token = make(world, both, both, expires_at=timezone.now() + timedelta(hours=1))
    other = make_person("other", tenant=world.tenant, roles=(Role.VIEWER,))
    with pytest.raises(NotPermitted):
        tokens.revoke_token(token, actor=other)
    assert resolve_for_token(token.digest, "Support", ("", "")) is not None
    APIToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    assert resolve_for_token(token.digest, "Support", ("", "")) is None
    assert not APIToken.objects.valid(timezone.now()).exists()
    accounts.revoke_role(world.tenant, both.account, Role.ADMIN, actor=world.admin)
    first = tokens.revoke_token(token, actor=both).revoked_at  # its owner, though no admin any more
    assert tokens.revoke_token(token, actor=world.admin).revoked_at == first
    assert AuditEntry.objects.filter(verb="token.revoked").count() == 1


def test_a_token_never_exceeds_its_user_or_its_tenant(world: World, both: Actor) -> None:
    accounts.grant_role(world.other, both.account, Role.REVIEWER, actor=world.root)
    actor = Actor(both.user, token=make(world, both, None, may_review=True))
    assert holds(actor, Right.ACTIVATE_DIRECTIVE, world.tenant)
    assert not holds(actor, Right.VIEW_TENANT, world.other)
    accounts.revoke_role(world.tenant, both.account, Role.REVIEWER, actor=world.admin)
    assert not holds(actor, Right.ACTIVATE_DIRECTIVE, world.tenant)
