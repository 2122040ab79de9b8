"""The settings of the site and its announcements on their pages, with and without scripts."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.browser.scenes.staff import site_settings
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.sites import QuickstartSite
from tests.support.visitor import HttpVisitor

pytestmark = pytest.mark.nightly
SAVED_IN_SIGHT_JS = "() => document.querySelector('.flash p').getBoundingClientRect().bottom > 0"


@pytest.fixture
def boss(site: QuickstartSite, visitor: SignUpVisitor) -> HttpVisitor:
    owner = visitor()
    account = owner.get(f"/@{owner.handle}/")["account"]["id"]
    with site.redis() as client:
        client.hset(f"accounts:{{{account}}}:account", "staff", "1")
    return owner


def save(page: BrowserPage, field: str) -> None:
    page.page.locator(f"form:has([name={field}]) [type=submit]").click()
    expect(page.page.locator(".flash")).to_contain_text("Saved.")


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_the_owner_changes_the_name_and_sees_that_it_is_saved(
    reader: OpenReader, boss: HttpVisitor, has_script: bool
) -> None:
    with site_settings(boss, name="", accent="", members_invite=""):
        me = reader(boss, java_script_enabled=has_script)
        me.go_to("/ops/site/")
        me.page.get_by_label("Name", exact=True).fill("Radio friends")
        save(me, "name")
        expect(me.page.locator(".brand-name")).to_have_text("Radio friends")
        me.page.get_by_label("Accent colour").fill("#ffff00")
        me.page.locator("form:has([name=accent]) [type=submit]").click()
        expect(me.page.locator("#id_accent_error")).to_contain_text("Choose a darker colour")
        me.page.get_by_label("Accent colour").fill("#8b1a8b")
        save(me, "accent")
        assert me.page.evaluate(SAVED_IN_SIGHT_JS)
        me.page.get_by_label("Members may invite others").check()
        save(me, "members_invite")
        expect(me.page.get_by_label("Members may invite others")).to_be_checked()


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_an_announcement_stays_dismissed(
    reader: OpenReader, visitor: SignUpVisitor, boss: HttpVisitor, has_script: bool
) -> None:
    text = "On Sunday the site is down for ten minutes."
    staff, member = reader(boss, java_script_enabled=has_script), reader(visitor(), java_script_enabled=has_script)
    staff.go_to("/ops/announcements/")
    staff.page.get_by_label("Text").fill(text)
    staff.page.get_by_role("button", name="Publish the announcement").click()
    row = staff.page.locator(".notice", has_text=text)
    expect(row).to_contain_text("People see it now.")
    try:
        announcement = member.page.locator(".announcements .notice", has_text=text)
        for _visit in range(2):
            member.go_to("/")
            expect(announcement).to_have_count(1)
        assert not has_script or not find_page_problems(member.page)
        announcement.get_by_role("button", name="Dismiss this announcement").click()
        expect(announcement).to_have_count(0)
        member.go_to("/")
        expect(announcement).to_have_count(0)
    finally:
        row.get_by_role("button", name="Remove").click()
        expect(row).to_have_count(0)
