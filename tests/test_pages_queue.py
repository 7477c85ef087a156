"""The queue: tabs, search, order and pages."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from learning import reading
from learning.models import DirectiveProposal
from learning.services import review
from learning.services.proposals import propose
from personas.services import tenants
from tests.factory import World, superuser
from tests.pages import client_of


@pytest.fixture
def proposal(world: World) -> DirectiveProposal:
    persona = world.persona(text="One.\nTwo.\nThree.")
    return propose(persona, actor=world.editor, instructions="One.\nTwo and a half.\nThree.", rationale="More exact.")


def test_tabs_and_search(world: World, proposal: DirectiveProposal) -> None:
    persona = world.persona("Kasse", text="Alt.", context_type="site", context_id="1")
    done = propose(persona, actor=world.editor, instructions="Neu.", rationale="")
    review.reject(done, actor=world.reviewer, note="Nein.")
    client = client_of(world.reviewer)
    rows = re.compile(r'data-peek="[^"]*">([^<]+)</a>')
    found = {show: rows.findall(client.get(f"/t/acme/review/?show={show}").content.decode())
             for show in ("mine", "all", "stale", "decided")}  # fmt: skip
    assert found == {"mine": ["Desk"], "all": ["Desk"], "stale": [], "decided": ["Kasse"]}
    assert rows.findall(client.get("/t/acme/review/?q=exact").content.decode()) == ["Desk"]
    assert "Nothing matches “nobody”" in client.get("/t/acme/review/?q=nobody").content.decode()


def test_who_cannot_decide_sees_everything_pending(world: World, proposal: DirectiveProposal) -> None:
    page = client_of(world.viewer).get("/t/acme/review/").content.decode()
    assert "Desk</a>" in page
    mine = client_of(world.viewer).get("/t/acme/review/?show=mine").content.decode()
    assert "Nothing waits for you" in mine


def test_ones_own_text_waits_for_someone_else(world: World) -> None:
    tenants.set_review_rules(world.tenant, require_second_person=True, required_approvals=1, actor=world.admin)
    draft = world.persona("Entwurf", enable=False)
    propose(draft, actor=world.reviewer, instructions="Mein Text.", rationale="")
    page = client_of(world.reviewer).get("/t/acme/review/?show=all").content.decode()
    assert "Waiting for someone else" in page
    assert client_of(world.second).get("/t/acme/review/").content.decode().count("Entwurf") >= 1


def test_pages_are_complete_and_do_not_repeat(world: World) -> None:
    persona = world.persona(text="0")
    for number in range(1, 2 * reading.PAGE + 6):
        propose(persona, actor=world.editor, instructions=str(number), rationale="")
    client, address, seen = client_of(world.reviewer), "/t/acme/review/", []
    while address:
        page = client.get(address).content.decode()
        seen += re.findall(r'data-peek="\?(?:after=[^&"]*&amp;)?open=([0-9a-f-]{36})', page)
        more = re.search(r'class="older"><a class="button" href="([^"]+)"', page)
        address = f"/t/acme/review/{more[1].replace('&amp;', '&')}" if more else ""
    assert len(seen) == len(set(seen)) == 2 * reading.PAGE + 5


def test_the_list_is_totally_ordered(world: World) -> None:
    for show in reading.SHOW:
        assert reading.queue(world.reviewer, show).totally_ordered


def test_the_number_of_statements_does_not_grow_with_rows(world: World) -> None:
    client, persona, counts = client_of(world.reviewer), world.persona(text="0"), []
    for rounds in (range(1, 3), range(3, 40)):
        for number in rounds:
            propose(persona, actor=world.editor, instructions=str(number), rationale="")
        with CaptureQueriesContext(connection) as statements:
            assert client.get("/t/acme/review/").status_code == 200
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 25


def test_everywhere_joins_tenants(world: World, proposal: DirectiveProposal) -> None:
    page = client_of(superuser()).get("/").content.decode()
    assert "Desk</a>" in page and "Acme" in page
    assert "Nothing waits" in client_of(world.outsider).get("/").content.decode()
