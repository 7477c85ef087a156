"""The staff admin in a real browser, under the policy that allows no inline style and no script but ours."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from learning.models import DirectiveProposal
from personas.models import AgentPersona, AuditEntry, User
from tests.factory import World
from tests.test_browser import browser, proposal, scene, visit  # noqa: F401 - fixtures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_pages_of_the_admin_are_accessible_fit_and_keep_the_policy(
    scene: World,  # noqa: F811
    proposal: DirectiveProposal,  # noqa: F811
    visit: Callable[..., Page],  # noqa: F811
    width: int,
    scheme: str,
) -> None:
    persona, entry = AgentPersona.objects.get(), AuditEntry.objects.latest("created_at")
    user = User.objects.get(username="viewer")
    addresses = [
        "/admin/", "/admin/personas/", "/admin/personas/agentpersona/", "/admin/personas/agentpersona/?q=desk",
        "/admin/personas/agentpersona/?enabled__exact=1", "/admin/personas/agentpersona/?q=nothing",
        "/admin/personas/agentpersona/?_popup=1",
        f"/admin/personas/auditentry/?created_at__year={entry.created_at.year}",
        f"/admin/personas/agentpersona/{persona.pk}/change/", f"/admin/personas/agentpersona/{persona.pk}/history/",
        f"/admin/personas/agentclass/{scene.support.pk}/change/", "/admin/personas/user/",
        f"/admin/learning/directiveproposal/{proposal.pk}/change/", f"/admin/personas/user/{user.pk}/change/",
        f"/admin/personas/user/{user.pk}/do/account/", "/admin/personas/tenant/do/create/",
        f"/admin/personas/auditentry/{entry.pk}/change/",
    ]  # fmt: skip
    page = visit("root", "/admin/", viewport={"width": width, "height": 800}, color_scheme=scheme)
    faults = []
    for address in addresses:
        response = page.goto(address)
        assert response is not None and response.status == 200, address
        assert "unsafe" not in response.headers["content-security-policy"]
        found = Axe().run(page).response["violations"]
        faults += [(address, rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in found]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            faults.append((address, "sideways", []))
    assert faults == []


def test_an_account_is_changed_after_a_look_at_the_change(
    scene: World,  # noqa: F811
    visit: Callable[..., Page],  # noqa: F811
) -> None:
    page = visit("root", "/admin/", viewport={"width": 1440, "height": 900})
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Users").click()
    page.get_by_role("searchbox", name="Search").fill("viewer")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="viewer", exact=True).click()
    page.get_by_role("link", name="Change account").click()
    page.get_by_label("Staff").check()
    page.get_by_label("viewer of Acme").uncheck()
    page.get_by_role("button", name="Look at the change").click()
    row = page.get_by_role("row", name="Roles")
    expect(row).to_contain_text("viewer of Acme")
    expect(row).to_contain_text("none")
    assert not User.objects.get(username="viewer").is_staff
    page.get_by_role("button", name="Change account").click()
    expect(page.get_by_role("status")).to_contain_text("Done")
    user = User.objects.get(username="viewer")
    assert (user.is_staff, user.groups.count()) == (True, 0)
    page.get_by_role("link", name="Audit", exact=True).click()
    expect(page.get_by_role("link", name="account.changed")).to_be_visible()
    page.get_by_role("link", name="Back to Personas").click()
    expect(page.get_by_role("link", name="Staff admin")).to_be_visible()
