"""The main paths in a real browser."""

import json
import os
import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from learning.models import DirectiveProposal
from learning.services.proposals import propose
from personas.domain.rights import Right, Role
from personas.models import AuditEntry
from personas.services import accounts, invitations, personas, tenants, tokens
from tests.factory import PASSWORD, World, make_person
from tests.totp import code_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    # The driver runs an event loop in this thread, where Django would refuse to touch the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=[*flags, "--disable-component-update"])
        yield started
        started.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def scene(transactional_db: None) -> World:
    return World()


@pytest.fixture
def proposal(scene: World) -> DirectiveProposal:
    text = "# Desk\nYou help people with their network.\n" + "\n".join(f"- rule {n}" for n in range(20)) + "\nBe brief."
    persona = scene.persona("Network desk", text, context_type="site", context_id="42")
    better = text.replace("Be brief.", "Be brief and kind.").replace("help people", "help customers")
    return propose(persona, actor=scene.editor, instructions=better, rationale="Five people asked for it.")


@pytest.fixture
def visit(browser: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """Open a page as somebody. Anything the browser complains about fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(name: str, address: str = "/", **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if "Content Security" in line.text else None)
        page.goto(f"/accounts/login/?next={address}")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"**{address}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def resolve(live_server: Any, secret: str) -> dict[str, Any]:
    """What a runtime is told at the site, over HTTP."""
    address = f"{live_server.url}/api/v1/resolve?agent_class=Support&context_type=site&context_id=42"
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {secret}"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
        return answer


def test_a_reviewer_approves_with_an_edit_and_a_runtime_gets_it(
    scene: World, proposal: DirectiveProposal, visit: Callable[..., Page], live_server: Any
) -> None:
    _, secret = tokens.create_token(scene.tenant, scene.service, name="runtime", may_review=False, actor=None)
    assert resolve(live_server, secret)["instructions"] == proposal.base_revision.instructions
    page = visit("reviewer", "/t/acme/review/")
    page.get_by_role("link", name="Open to decide").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Network desk")
    expect(page.locator("ins").filter(has_text="customers")).to_be_visible()
    expect(page.locator(".fold summary")).to_contain_text("unchanged lines")
    page.get_by_role("link", name="Edit", exact=True).click()
    editor = page.get_by_label("Your text")
    editor.fill(editor.input_value().replace("and kind", "and warm"))
    expect(page.locator("#comparison ins").filter(has_text="warm")).to_be_visible()
    page.get_by_placeholder("Note for the record").fill("Warm is the word.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("serves revision 2 now")
    served = resolve(live_server, secret)
    assert served["instructions"].endswith("Be brief and warm.")
    assert served["revision"] == 2


def test_rejecting_asks_why(scene: World, proposal: DirectiveProposal, visit: Callable[..., Page]) -> None:
    page = visit("reviewer", f"/t/acme/review/{proposal.pk}/")
    page.get_by_role("button", name="Reject").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Reject").click()
    dialog.get_by_label("Why?").fill("Too soft.")
    dialog.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    proposal.refresh_from_db()
    assert proposal.status == "rejected"


def test_a_conflict_keeps_what_was_typed(scene: World, proposal: DirectiveProposal, visit: Callable[..., Page]) -> None:
    page = visit("reviewer", f"/t/acme/review/{proposal.pk}/")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Your text").fill("Words I would miss.")
    changed = proposal.base_revision.instructions.replace("Be brief.", "Be long.")
    personas.revise_persona(proposal.persona, actor=scene.second, instructions=changed)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("Revision 2 by Second is live by now")
    expect(page.get_by_label("Merged text")).to_have_value("Words I would miss.")
    expect(page.get_by_text("both changed it")).to_be_visible()


@pytest.mark.parametrize(("lost", "word"), [("sessionid", "You are logged out"), ("csrftoken", "not accepted")])
def test_an_ended_session_keeps_the_page_and_its_text(
    scene: World, proposal: DirectiveProposal, visit: Callable[..., Page], lost: str, word: str
) -> None:
    page = visit("reviewer", f"/t/acme/review/{proposal.pk}/")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Your text").fill("Words I would miss.")
    page.context.clear_cookies(name=lost)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#connection")).to_contain_text(word)
    expect(page.get_by_label("Your text")).to_have_value("Words I would miss.")
    assert f"/t/acme/review/{proposal.pk}/" in page.url


def test_everything_works_without_javascript(
    scene: World, proposal: DirectiveProposal, visit: Callable[..., Page]
) -> None:
    page = visit("reviewer", "/t/acme/review/", java_script_enabled=False)
    page.get_by_role("link", name="Network desk").first.click()
    page.locator("#edit summary").click()
    page.get_by_label("Your text").fill("Plain.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("serves revision 2 now")
    proposal.refresh_from_db()
    assert proposal.made_revision.instructions == "Plain."


def test_the_first_click_peeks_and_the_second_opens(scene: World, visit: Callable[..., Page]) -> None:
    for name in ("First", "Second"):
        persona = scene.persona(name, "Old.", context_type="site", context_id=name)
        propose(persona, actor=scene.editor, instructions=f"New {name}.", rationale="")
    page = visit("reviewer", "/t/acme/review/", viewport={"width": 1440, "height": 900})
    row = page.locator(".rows").get_by_role("link", name="First")
    row.click()
    expect(page.locator("#peek h2")).to_have_text("First")
    assert "open=" in page.url
    page.locator(".rows").get_by_role("link", name="First").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("First")
    page.go_back()
    expect(page.locator("#peek h2")).to_have_text("First")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_pages_are_accessible_and_fit(
    scene: World, proposal: DirectiveProposal, visit: Callable[..., Page], width: int, scheme: str
) -> None:
    stale = scene.persona("Stale", "One.\nTwo.\nThree.")
    propose(stale, actor=scene.editor, instructions="One.\n2\u200b.\nThree.", rationale="x" * 300)
    personas.revise_persona(stale, actor=scene.second, instructions="One.\nII.\nThree.")
    last = DirectiveProposal.objects.exclude(pk=proposal.pk).get()
    persona = f"/t/acme/personas/{proposal.persona.pk}/"
    addresses = [
        "/", "/t/acme/", "/t/acme/review/", f"/t/acme/review/{proposal.pk}/", f"/t/acme/review/{last.pk}/",
        "/t/acme/review/?show=decided", "/t/acme/personas/", persona, f"{persona}propose/", f"{persona}instructions/",
        f"{persona}instructions/1/", f"{persona}state/disable/",
        "/accounts/me/", "/accounts/password/", "/accounts/two-factor/",
    ]  # fmt: skip
    page = visit("reviewer", viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    assert faults(page, width, addresses) == []


def faults(page: Page, width: int, addresses: list[str]) -> list[tuple[str, str, list[str]]]:
    """What axe finds on these pages, and which of them scroll sideways."""
    found = []
    for address in addresses:
        page.goto(address)
        rules = Axe().run(page).response["violations"]
        found += [(address, rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in rules]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append((address, "sideways", []))
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_pages_of_admins_are_accessible_and_fit(
    scene: World, visit: Callable[..., Page], width: int, scheme: str
) -> None:
    persona, person = scene.persona("x" * 60), make_person("n" * 60, tenant=scene.tenant, roles=(Role.VIEWER,)).account
    accounts.grant_persona_right(persona, person, Right.ACTIVATE_DIRECTIVE, actor=scene.admin)
    address, invited = f"{'long.' * 10}x@example.test", {"roles": [Role.EDITOR, Role.REVIEWER], "actor": scene.admin}
    _, secret = invitations.invite_member(scene.tenant, address, **invited)
    tenants.set_review_rules(scene.tenant, require_second_person=True, required_approvals=2, actor=scene.admin)
    tenants.ask_to_lower_rules(
        scene.tenant, require_second_person=False, required_approvals=1, actor=scene.admin, reason="y" * 200
    )
    members, service = "/t/acme/members/", f"/t/acme/members/{scene.service.pk}/"
    one = f"{members}{person.pk}/"
    addresses = [
        members, f"{members}?q=zzz", f"{members}invite/", one, f"{one}roles/reviewer/", f"{one}roles/viewer/",
        f"{one}remove/", service, f"{service}state/deactivate/", f"{members}service-accounts/add/",
        "/t/acme/settings/", "/t/acme/settings/rules/?required_approvals=3&require_second_person=on",
        "/t/acme/settings/rules/?required_approvals=1", f"/accounts/invitation/{secret}/",
    ]  # fmt: skip
    page = visit("admin", viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    assert faults(page, width, addresses) == []
    page.context.clear_cookies()
    assert faults(page, width, [f"/accounts/invitation/{secret}/", "/accounts/invitation/none/"]) == []


def test_a_second_factor_is_set_up_and_asked_for(scene: World, visit: Callable[..., Page], live_server: Any) -> None:
    page = visit("reviewer", "/accounts/two-factor/")
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    key = page.locator("#key").inner_text()
    page.get_by_label("The code your app shows now").fill(code_of(key))
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Turn it on").click()
    recovery = page.locator(".secrets code").first.inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a file").click()
    assert recovery in saved.value.path().read_text()
    for code in (code_of(key, step=1), recovery):  # a code is taken once, and a period early too
        page.context.clear_cookies()
        page.goto("/accounts/login/?next=/t/acme/review/")
        page.get_by_label("User name").fill("reviewer@example.test")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Now your code")
        assert Axe().run(page).response["violations"] == []
        page.get_by_label("Code of your app").fill(code)
        page.get_by_role("button", name="Go on").click()
        page.wait_for_url("**/t/acme/review/")


@pytest.mark.parametrize(
    "address", ["login/", "password/forgotten/", "password/forgotten/sent/", "password/reset/x/y/"]
)
def test_pages_before_the_log_in_are_accessible(browser: Browser, live_server: Any, address: str) -> None:
    page = browser.new_page(base_url=live_server.url)
    page.goto(f"/accounts/{address}")
    assert Axe().run(page).response["violations"] == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_tokens_and_the_audit_are_accessible_and_fit(
    scene: World, proposal: DirectiveProposal, visit: Callable[..., Page], width: int, scheme: str
) -> None:
    token, _ = tokens.create_token(scene.tenant, scene.service, name="Night runtime", may_review=False, actor=None)
    personas.revise_persona(proposal.persona, actor=scene.second, instructions="One.\nTwo.")
    entry = AuditEntry.objects.filter(verb="directive.edit").get()
    addresses = [
        "/t/acme/tokens/", "/t/acme/tokens/new/", f"/t/acme/tokens/{token.pk}/revoke/", "/t/acme/audit/",
        "/t/acme/audit/?verb=Not+one&since=x", "/t/acme/audit/?verb=none.such", f"/t/acme/audit/{entry.pk}/",
        f"/t/acme/personas/{proposal.persona.pk}/",
    ]  # fmt: skip
    page = visit("admin", viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    faults: list[Any] = []

    def look(what: str) -> None:
        found = Axe().run(page).response["violations"]
        faults.extend((what, rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in found)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            faults.append((what, "sideways"))

    for address in addresses:
        page.goto(address)
        for summary in page.locator(".log summary").all()[:2]:
            summary.click()
        look(address)
    page.goto("/t/acme/tokens/new/")
    page.locator("#name").fill("Seen once")
    page.locator("#expires").select_option("date")
    page.locator("#may-review").check()
    look("the open form")
    page.locator("#may-review").uncheck()
    page.locator("#expires").select_option("30")
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator("#secret")).to_have_text(re.compile("^per_"))
    look("the secret")
    assert faults == []


def test_a_secret_is_copied(scene: World, visit: Callable[..., Page]) -> None:
    page = visit("admin", "/t/acme/tokens/new/", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#name").fill("Runtime")
    page.get_by_role("button", name="Make the token").click()
    secret = page.locator("#secret").text_content()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("API tokens")
    assert secret and secret not in page.content()


def test_the_audit_is_filtered_in_place(scene: World, proposal: DirectiveProposal, visit: Callable[..., Page]) -> None:
    page = visit("admin", "/t/acme/audit/")
    page.get_by_label("Verb").fill("role.granted")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**verb=role.granted**")
    expect(page.locator(".log code", has_text="role.granted").first).to_be_visible()
    expect(page.locator(".log code", has_text="proposal.created")).to_have_count(0)
    page.get_by_label("Verb").fill("Not a verb")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("A verb looks like token.created")).to_be_visible()
