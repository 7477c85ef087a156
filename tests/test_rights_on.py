"""All rights at once are the rights one by one."""

from personas.actors import Actor
from personas.domain.rights import TENANT_RIGHTS, Right
from personas.models import User
from personas.permissions import give, holds, rights_on
from personas.services import tokens
from tests.factory import World


def test_all_at_once_is_one_by_one(world: World) -> None:
    people = dict(world.cast)
    people["service"] = Actor(world.service)
    for right in TENANT_RIGHTS:  # rows that mean nothing for a service account, whoever wrote them
        give(right, world.service, world.tenant)
    people["gone"] = Actor(User.objects.create(username="gone", is_active=False))
    for right in TENANT_RIGHTS:
        give(right, people["gone"].account, world.tenant)
    for may_review in (True, False):
        token, _ = tokens.create_token(
            world.tenant, world.reviewer.account, name="t", may_review=may_review, actor=None
        )
        people[f"token {may_review}"] = Actor(world.reviewer.account, token=token)
    for name, actor in people.items():
        for tenant in (world.tenant, world.other):
            one_by_one = {right for right in TENANT_RIGHTS if holds(actor, right, tenant)}
            assert rights_on(actor, tenant) == one_by_one, (name, tenant)
    assert Right.ACTIVATE_DIRECTIVE not in rights_on(people["service"], world.tenant)
    assert rights_on(people["gone"], world.tenant) == frozenset()


def test_it_takes_two_statements(world: World, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    with django_assert_num_queries(2):
        assert rights_on(world.reviewer, world.tenant)
