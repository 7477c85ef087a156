"""Invitations in a race: accepted twice, and accepted while the one who invited is removed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connections, transaction

from personas.domain.errors import Conflict, Invalid, NotPermitted
from personas.domain.rights import Right, Role
from personas.models import Invitation, User
from personas.permissions import holds
from personas.services.invitations import invite_member, join_by_invitation
from personas.services.members import remove_member
from tests.factory import World, make_person
from tests.test_invitations import STRONG, offered


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_at_once_and_one_gets_in() -> None:
    world = World()
    barrier = Barrier(2)

    def join(invitation: Invitation, username: str) -> str:
        try:
            barrier.wait(10)
            join_by_invitation(invitation, username=username, name="N", password=STRONG)
        except Conflict as refused:
            return refused.code
        finally:
            connections.close_all()
        return "in"

    for turn in range(5):
        invitation, _ = offered(world, f"new{turn}@example.test")
        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(join, invitation, f"new-{turn}-{n}") for n in range(2)]
            assert sorted(call.result(30) for call in calls) == ["gone", "in"]
        assert User.objects.filter(email=f"new{turn}@example.test").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_accepting_while_the_inviter_is_removed() -> None:
    world = World()
    barrier = Barrier(2)

    def run(act: Any) -> str:
        try:
            barrier.wait(10)
            with transaction.atomic():
                act()
        except (Conflict, Invalid, NotPermitted) as refused:
            return refused.code
        finally:
            connections.close_all()
        return "done"

    for turn in range(5):
        boss = make_person(f"boss{turn}", tenant=world.tenant, roles=(Role.ADMIN,))
        invitation, _ = invite_member(world.tenant, f"new{turn}@example.test", roles=[Role.ADMIN], actor=boss)
        joined, removed = (
            lambda i=invitation, n=turn: join_by_invitation(i, username=f"new-{n}", name="N", password=STRONG),
            lambda b=boss: remove_member(world.tenant, b.account, actor=world.admin),
        )
        with ThreadPoolExecutor(2) as pool:
            first, second = [call.result(30) for call in [pool.submit(run, joined), pool.submit(run, removed)]]
        assert second == "done" and first in ("done", "gone", "not_permitted")
        assert not holds(boss, Right.MANAGE_MEMBERS, world.tenant)
