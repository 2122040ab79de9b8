"""Reload and Back show the page as it was left."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor


def height_of(me: BrowserPage, post_id: str) -> float | None:
    """Return the distance of a post from the top of the window in CSS pixels; None without the post."""
    top: float | None = me.page.evaluate(
        "(id) => document.querySelector(`[data-post-id='${id}']`)?.getBoundingClientRect().top ?? null", post_id
    )
    return top


def is_at(me: BrowserPage, post_id: str, top: float) -> bool:
    height = height_of(me, post_id)
    return height is not None and abs(height - top) < 2


def stores_its_place_at(me: BrowserPage, post_id: str) -> bool:
    """Scroll to the post; wheel events may still be under way. Return whether the page has stored that place."""
    return bool(
        me.page.evaluate(
            """(id) => {
              const post = document.querySelector(`[data-post-id='${id}']`);
              scrollBy({ top: post.getBoundingClientRect().top - 50, behavior: "instant" });
              return history.state?.place?.names.includes(id);
            }""",
            post_id,
        )
    )


def test_reload_and_back_lead_to_the_same_post_at_the_same_height(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend = visitor(), visitor()
    own.follows(friend.handle)
    post_ids = [own.publishes(f"words {number}")["id"] for number in range(36)][::-1]
    me = reader(own)
    me.go_to("/?limit=5")
    post_id = post_ids[27]
    me.wait_for(lambda: me.page.mouse.wheel(0, 4_000) or len(me.entry_ids()) >= 25)
    me.page.locator('.pager a[rel="next"]').click()
    expect(me.page.locator(f"[data-post-id='{post_id}']")).to_be_attached()
    me.wait_for(lambda: stores_its_place_at(me, post_id))
    top = height_of(me, post_id)
    assert top is not None
    me.page.reload()
    me.wait_for(lambda: is_at(me, post_id, top))
    friend.publishes("newer words")  # the page is longer above the place now
    me.page.locator(f"[data-post-id='{post_id}'] .post-time").click()
    expect(me.page.locator(".thread-post")).to_be_visible()
    me.page.go_back()
    me.wait_for(lambda: is_at(me, post_id, top))
    me.page.wait_for_timeout(500)
    assert is_at(me, post_id, top), "nothing scrolls it away later"


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["scrolling", "link to the page"])
def test_a_reader_who_went_to_the_top_is_shown_the_newest_post(reader: OpenReader, own: HttpVisitor, way: str) -> None:
    for number in range(12):
        own.publishes(f"words {number}")
    me = reader(own)
    me.go_to("/")
    me.page.mouse.wheel(0, 900)
    me.wait_for(lambda: me.page.evaluate("Boolean(history.state?.place)"))
    if way == "scrolling":
        me.page.mouse.wheel(0, -2_000)
        me.wait_for(lambda: me.page.evaluate("history.state.place === null"))
    own.publishes("the newest")
    if way == "scrolling":
        me.page.reload()
    else:
        me.page.locator('.site-nav a[href="/"]').click()
    expect(me.page.get_by_text("the newest")).to_be_in_viewport()
