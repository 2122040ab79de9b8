"""Every page and every action works with JavaScript off."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenReader, visitor_numbers
from tests.support.chromium import BrowserPage
from tests.support.visitor import PASSWORD, HttpVisitor


@pytest.fixture
def me(reader: OpenReader) -> BrowserPage:
    """A visitor without JavaScript who signs up by the form."""
    page = reader(java_script_enabled=False)
    page.go_to("/accounts/signup/")
    page.page.locator("[name=handle]").fill(f"plain{next(visitor_numbers)}")
    page.page.locator("[name=password1]").fill(PASSWORD)
    page.page.locator("[name=password2]").fill(PASSWORD)
    press(page.page, "Sign up")
    for step in ("profile", "people", "post"):
        expect(page.page).to_have_url(f"{page.url}/welcome/{step}/")
        press(page.page, "Skip")
    expect(page.page).to_have_url(page.url + "/")
    return page


def press(page: Page, name: str, *, exact: bool = True) -> None:
    page.locator("main").get_by_role("button", name=name, exact=exact).click()


def test_publishing_replying_and_deleting_work_without_a_script(me: BrowserPage) -> None:
    me.publish("plain words")
    expect(me.entries.locator(".post-text")).to_have_text(["plain words"])
    me.entries.first.get_by_role("link", name="Reply").click()
    me.publish("an answer to myself")
    expect(me.page.locator("[data-replies] .post-text")).to_have_text(["an answer to myself"])
    me.go_to("/")
    expect(me.entries).to_have_count(2)
    reply = me.entries.filter(has_text="an answer to myself")
    reply.locator("summary.action").click()
    reply.locator("summary.menu-item").click()
    reply.get_by_role("button", name="Delete").click()
    expect(me.page).to_have_url(me.url + "/")
    expect(me.entries.locator(".post-text")).to_have_text(["plain words"])


def test_following_reading_and_unfollowing_work_without_a_script(me: BrowserPage, friend: HttpVisitor) -> None:
    friend.publishes("words of a friend")
    me.go_to(f"/@{friend.handle}/")
    press(me.page, f"Follow @{friend.handle}")
    expect(me.page).to_have_url(f"{me.url}/@{friend.handle}/")
    expect(me.page.locator(".counts")).to_contain_text("1 follower")
    me.go_to("/")
    expect(me.entries.locator(".post-text")).to_have_text(["words of a friend"])
    me.go_to(f"/@{friend.handle}/followers/")
    expect(me.page.locator("ul.accounts > li")).to_have_count(1)
    me.go_to(f"/@{friend.handle}/")
    press(me.page, f"Unfollow @{friend.handle}")
    expect(me.page.locator(".counts")).to_contain_text("0 followers")
    me.go_to("/")
    expect(me.entries).to_have_count(0)


@pytest.mark.nightly
def test_lists_work_without_a_script(me: BrowserPage, friend: HttpVisitor) -> None:
    friend.publishes("words for a list")
    me.go_to("/lists/")
    me.page.locator("[name=title]").fill("Good people")
    press(me.page, "Create list")
    if not me.page.url.endswith("/lists/"):
        me.go_to("/lists/")
    me.page.locator("main").get_by_role("link", name="Good people").click()
    open_panel(me.page)
    me.page.locator("[name=handle]").first.fill(friend.handle)
    press(me.page, "Add")
    expect(me.entries.locator(".post-text")).to_have_text(["words for a list"])
    open_panel(me.page)
    me.page.locator("#list-title").fill("Better people")
    press(me.page, "Save")
    expect(me.page.locator("h1")).to_have_text("Better people")
    open_panel(me.page)
    press(me.page, f"Remove @{friend.handle} from the list")
    expect(me.entries).to_have_count(0)
    open_panel(me.page)
    me.page.locator(".confirm > summary").click()
    press(me.page, "Delete the list")
    expect(me.page).to_have_url(me.url + "/lists/")
    expect(me.page.locator("ul.rows")).to_have_count(0)


def open_panel(page: Page) -> None:
    """Open the settings of a list if they are closed."""
    panel = page.locator("details#manage")
    if panel.get_attribute("open") is None:
        panel.locator("> summary").click()


@pytest.mark.nightly
def test_settings_sessions_and_log_out_work_without_a_script(me: BrowserPage) -> None:
    me.go_to("/accounts/settings/")
    me.page.locator("[name=display_name]").fill("Plain Person")
    press(me.page, "Save")
    me.go_to("/accounts/password/")
    me.page.locator("[name=old_password]").fill(PASSWORD)
    me.page.locator("[name=new_password1]").fill(PASSWORD + "!")
    me.page.locator("[name=new_password2]").fill(PASSWORD + "!")
    press(me.page, "Change password")
    me.go_to("/accounts/sessions/")
    expect(me.page.locator("ul.rows > li")).to_have_count(1)
    me.page.get_by_role("link", name="Log out").click()
    press(me.page, "Log out")
    expect(me.page).to_have_url(me.url + "/")
    expect(me.page.locator("body")).to_have_attribute("data-signed-in", "no")


@pytest.mark.nightly
def test_older_pages_link_back(me: BrowserPage) -> None:
    for number in range(5):
        me.publish(f"words {number}")
    me.go_to("/?limit=2")
    me.page.locator('a[rel="next"]').click()
    expect(me.entries.locator(".post-text")).to_have_text(["words 2", "words 1"])
    me.page.locator('a[rel="next"]').click()
    expect(me.entries.locator(".post-text")).to_have_text(["words 0"])
    me.page.locator('a[rel="prev"]').click()
    expect(me.entries.locator(".post-text")).to_have_text(["words 2", "words 1"])


@pytest.mark.nightly
def test_an_account_can_be_deleted(me: BrowserPage) -> None:
    me.publish("soon gone")
    handle = me.page.locator("body").get_attribute("data-handle")
    me.go_to("/accounts/delete/")
    me.page.locator("[name=password]").fill(PASSWORD)
    press(me.page, "Delete my account")
    expect(me.page).to_have_url(me.url + "/")
    answer = me.page.goto(f"{me.url}/@{handle}/")
    assert answer
    assert answer.status == 404


@pytest.mark.nightly
def test_back_has_the_text_that_was_too_large_to_be_read(me: BrowserPage) -> None:
    text = "words " * 12_000
    me.publish(text)
    expect(me.page.locator("main")).to_contain_text("Go back: your text is still in the form.")
    me.page.go_back()
    assert me.page.locator("[data-composer] textarea").input_value() == text
