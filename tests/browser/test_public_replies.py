"""The switch of the public timeline that shows replies, with and without scripts, and its live posts."""

import os

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import tab_to
from tests.support.visitor import HttpVisitor


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_reader_switches_replies_on_and_they_stay(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, scripts: bool, width: int
) -> None:
    friend.publishes(f"an answer to {own.handle}", in_reply_to=own.publishes("a question")["id"])
    for signed_in in (True, False):
        me = reader(own if signed_in else None, viewport={"width": width, "height": 844}, java_script_enabled=scripts)
        me.go_to("/public/")
        switch = me.page.get_by_role("switch", name="Show replies")
        answer = me.page.get_by_text(f"an answer to {own.handle}")
        expect(answer).to_have_count(0)
        expect(switch).not_to_be_checked()
        tab_to(me.page, "[role=switch]")
        me.page.keyboard.press("Enter")
        expect(switch).to_be_checked()
        expect(answer).to_be_visible()
        if folder := os.environ.get("SCREENSHOTS"):
            me.page.screenshot(path=f"{folder}/public-{width}-{scripts}-{signed_in}.png")
        if signed_in:
            me.go_to("/public/")
            expect(switch).to_be_checked()
        switch.click()
        expect(answer).to_have_count(0)


def test_a_live_public_timeline_gets_posts_and_no_replies(
    reader: OpenReader, visitor: SignUpVisitor, friend: HttpVisitor
) -> None:
    me = reader(visitor())
    me.go_to_live("/public/")
    question = friend.publishes("a live question")
    visitor().publishes("a live answer", in_reply_to=question["id"])
    friend.publishes("a live sequel", in_reply_to=question["id"])
    expect(me.pill).to_have_text("2 new posts")
    me.pill.click()
    expect(me.page.locator("li.joined").get_by_text("a live sequel")).to_be_visible()
    expect(me.page.get_by_text("a live answer")).to_have_count(0)
