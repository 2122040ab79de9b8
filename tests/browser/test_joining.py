"""An application for an account, from both sides."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect

from tests.browser.conftest import OpenReader, SignUpVisitor, open_context
from tests.browser.scenes.staff import site_settings
from tests.support.sites import QuickstartSite
from tests.support.visitor import PASSWORD, HttpVisitor
from tests.support.waiting import wait_until

REASON = "I repair old radios and would like to show them."
SETTINGS_KEY = "accounts:{site}:settings"


@contextmanager
def approval(site: QuickstartSite, staff: SignUpVisitor) -> Iterator[None]:
    """Let the site approve new accounts, until the end of the block."""
    visitor = staff()

    def asks_reason() -> bool:
        return 'name="reason"' in visitor.http.get("/accounts/signup/", headers={"Accept": "text/html"}).text

    with site.redis() as client:
        client.set(SETTINGS_KEY, json.dumps({"joining": "approval"}))
        wait_until(asks_reason)
        try:
            yield
        finally:
            client.delete(SETTINGS_KEY)
            wait_until(lambda: not asks_reason())


def give_staff_rights(site: QuickstartSite, person: HttpVisitor) -> str:
    """Let a person see /ops/. Return the id of the account."""
    account_id = str(person.get(f"/@{person.handle}/")["account"]["id"])
    with site.redis() as client:
        client.hset(f"accounts:{{{account_id}}}:account", "staff", "1")
    return account_id


def test_a_double_click_creates_one_account_and_signs_in(site: QuickstartSite, chromium: Browser) -> None:
    with open_context(chromium) as context:
        page = context.new_page()
        page.goto(f"{site.url}/accounts/signup/")
        page.get_by_label("Handle").fill("clicks_twice")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.locator("main").get_by_role("button", name="Sign up").dblclick()
        expect(page).to_have_url(f"{site.url}/welcome/profile/")


def test_an_applicant_waits_and_is_let_in(
    site: QuickstartSite, chromium: Browser, reader: OpenReader, visitor: SignUpVisitor
) -> None:
    staff = visitor()
    handle = f"radio{give_staff_rights(site, staff)}"
    with approval(site, visitor):
        context = open_context(chromium)
        page = context.new_page()
        page.goto(f"{site.url}/accounts/signup/")
        page.get_by_label("Handle").fill(handle)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("Why do you want to join?").fill(REASON)
        page.get_by_role("button", name="Apply for an account").click()
        expect(page.locator(".notice")).to_contain_text("waits for approval")
        me = reader(staff)
        me.go_to("/ops/")
        me.page.locator(".tabs").get_by_role("link", name="People").click()
        me.page.get_by_role("link", name="Applications").first.click()
        expect(me.page.locator("li, tr", has_text=f"@{handle}").get_by_text(REASON)).to_be_visible()
        me.page.get_by_label(f"@{handle}").check()
        me.page.get_by_role("button", name="Approve").click()
        expect(me.page.get_by_text("1 decision is stored.")).to_be_visible()
        expect(me.page.get_by_label(f"@{handle}")).to_have_count(0)
        page.reload()
        expect(page.locator(".notice")).to_contain_text("is approved")
        page.get_by_role("main").get_by_role("link", name="Log in").first.click()
        page.get_by_label("Handle").fill(handle)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Log in", exact=True).click()
        expect(page.get_by_role("link", name="Profile").first).to_be_visible()
        context.close()


def test_the_author_of_a_held_post_immediately_reads_that_it_waits_for_staff(
    site: QuickstartSite, reader: OpenReader, visitor: SignUpVisitor
) -> None:
    staff, me = visitor(), reader(visitor())
    give_staff_rights(site, staff)
    with site_settings(staff, holds_first_links="on"):
        me.go_to("/")
        me.publish("look at https://example.org/offer")
        expect(me.page.locator(".toast")).to_contain_text("waits for a look by the people who run this site")
