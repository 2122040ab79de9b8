"""Hashtags in a browser, and the address of a post."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor, visitor_numbers


def test_a_post_leads_to_its_tag_and_the_tags_next_posts_arrive_live(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    tag = f"日本{next(visitor_numbers)}"
    friend, me = visitor(), reader()
    first = friend.publishes(f"one #{tag}")
    me.go_to(first["url"])
    me.page.get_by_role("link", name=f"#{tag}").click()
    expect(me.page.get_by_role("heading", level=1)).to_have_text(f"#{tag}")
    me.go_to_live(f"/tags/{tag}/")
    friend.publishes("something else")
    second = friend.publishes(f"two #{tag}")
    expect(me.pill).to_have_text("1 new post")
    me.pill.click()
    assert me.entry_ids() == [second["id"], first["id"]]


@pytest.mark.nightly
def test_a_button_copies_the_address_of_a_post(reader: OpenReader, visitor: SignUpVisitor) -> None:
    post, me = visitor().publishes("worth telling"), reader(permissions=["clipboard-read", "clipboard-write"])
    me.go_to(f"{post['url']}?from=somewhere")
    me.page.locator("details.menu > summary").click()
    me.page.get_by_role("link", name="Copy link").click()
    expect(me.page.locator(".toast")).to_have_text("Link copied.")
    assert me.page.evaluate("navigator.clipboard.readText()") == me.url + post["url"]


@pytest.mark.nightly
def test_feed_readers_find_the_feed_in_the_page(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, me = visitor(), reader()
    friend.publishes("#feed")
    for path in (f"/@{friend.handle}/", "/tags/feed/"):
        me.go_to(path)
        address = me.page.locator("link[type='application/atom+xml']").get_attribute("href")
        assert re.match(b"<\\?xml", me.page.request.get(f"{me.url}{address}").body())
