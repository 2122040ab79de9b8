"""The number of unread notifications appears live on every page and in every window until they are read."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor

PAGE = "/notifications/"


def badge(reader: BrowserPage) -> Locator:
    return reader.page.locator("[data-badge]")


def test_the_number_rises_live_on_any_page_and_falls_after_reading(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    first, second = reader(own), reader(own)
    first.go_to_live("/")
    second.go_to("/accounts/settings/")
    expect(badge(first)).to_be_hidden()
    friend.publishes(f"hello @{own.handle}")
    for each in (first, second):
        expect(badge(each)).to_have_text("1")
        expect(badge(each)).to_be_visible()
    assert first.page.title().startswith("(1) ")
    friend.follows(own.handle)
    expect(badge(first)).to_have_text("2")
    second.go_to(PAGE)
    expect(second.page.locator(".told-new")).to_have_count(2)
    expect(badge(second)).to_be_hidden()
    expect(second.page.locator("form[data-read]")).to_be_hidden()
    first.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(badge(first)).to_be_hidden()
    assert not first.page.title().startswith("(")
    second.go_to(PAGE)
    expect(second.page.locator(".told-new")).to_have_count(0)


@pytest.mark.nightly
def test_new_notifications_are_offered_on_their_page_and_move_no_entry(
    me: BrowserPage, own: HttpVisitor, friend: HttpVisitor
) -> None:
    me.go_to_live(PAGE)
    expect(me.page.locator(".empty")).to_be_visible()
    friend.follows(own.handle)
    fresh = me.page.locator("[data-fresh-notifications]")
    expect(fresh).to_be_visible()
    fresh.click()
    expect(me.page.locator("[data-notification-id]")).to_have_count(1)


@pytest.mark.nightly
def test_a_deleted_mention_lowers_the_number(me: BrowserPage, own: HttpVisitor, friend: HttpVisitor) -> None:
    me.go_to_live("/")
    post = friend.publishes(f"hello @{own.handle}")
    expect(badge(me)).to_have_text("1")
    friend.deletes(post)
    expect(badge(me)).to_be_hidden()


@pytest.mark.nightly
def test_notifications_are_read_without_a_script(reader: OpenReader, own: HttpVisitor, friend: HttpVisitor) -> None:
    friend.follows(own.handle)
    me = reader(own, java_script_enabled=False)
    me.go_to(PAGE)
    expect(badge(me)).to_have_text("1")
    me.page.get_by_role("button", name="Mark as read").click()
    expect(badge(me)).to_be_hidden()
    me.page.get_by_role("link", name="Settings").last.click()
    never = me.page.get_by_role("group", name="New followers").get_by_label("Never")
    never.check()
    me.page.get_by_role("button", name="Save").click()
    expect(never).to_be_checked()


def test_the_sentence_keeps_its_width_when_the_script_shortens_the_time(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    post = own.publishes("words that somebody likes")
    friend.post(f"/posts/{post['id']}/like/")
    me = reader(own, viewport={"width": 1280, "height": 800})
    me.go_to("/notifications/")
    row = me.page.locator(".told-line").first
    expect(row.locator("time")).to_have_text("now")
    widths = "(row) => [row, row.querySelector('p')].map((each) => each.getBoundingClientRect().width)"
    shown = row.evaluate(widths)
    row.locator("time").evaluate("(time) => (time.textContent = '30 Nov 2026, 10:10 UTC')")
    assert row.evaluate(widths) == shown
