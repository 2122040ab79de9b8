"""A page confirms a mute or an unfollow and offers to undo it. A mute has a duration."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader
from tests.support.page_health import find_page_problems
from tests.support.visitor import HttpVisitor

SIZES = pytest.mark.parametrize(
    "viewport", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}], ids=["phone", "laptop"]
)


@SIZES
def test_a_mute_from_a_post_offers_durations_and_can_be_undone(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, viewport: dict[str, int]
) -> None:
    own.post(f"/@{friend.handle}/follow/")
    friend.publishes("words of a friend")
    me = reader(own, viewport=viewport)
    page = me.page
    me.go_to(f"/@{friend.handle}/")
    page.locator(".post summary.action").first.click()
    page.locator(".post").get_by_role("link", name=f"Mute @{friend.handle}").click()
    page.get_by_label("How long").select_option("3600")
    assert find_page_problems(page) == []
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page).to_have_url(f"{me.url}/@{friend.handle}/")
    expect(page.locator(".flash")).to_contain_text(f"You muted @{friend.handle}.")
    assert find_page_problems(page) == []
    page.get_by_role("button", name="Undo").click()
    expect(page.locator('[data-relation="mutes"]')).to_have_count(0)


@SIZES
def test_an_unfollow_is_undone_in_the_toast(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, viewport: dict[str, int]
) -> None:
    own.post(f"/@{friend.handle}/follow/")
    me = reader(own, viewport=viewport)
    me.go_to(f"/@{friend.handle}/")
    button = me.page.locator(f'[data-follow="{friend.handle}"]').first
    button.click()
    expect(me.page.locator(".toast")).to_contain_text(f"You do not follow @{friend.handle} any more.")
    expect(button).not_to_have_class("btn-following")
    me.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(me.page.locator(f'[data-follow="{friend.handle}"].btn-following').first).to_be_visible()
    expect(me.page.locator(".toast")).to_have_count(0)
