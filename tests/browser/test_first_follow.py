"""Following somebody from an empty home fills it at once."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor


def test_following_from_an_empty_home_fills_it_and_renews_the_suggestions(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    own, silent = visitor(), visitor()
    own.follows(silent.handle)
    for _ in range(4):
        author = visitor()
        silent.follows(author.handle)  # so that the author is suggested
        for number in range(3):
            author.publishes(f"words {number}")
    me = reader(own)
    me.go_to("/")
    expect(me.page.locator("[data-suggestions] > li")).to_have_count(3)
    expect(me.page.locator("[data-empty]")).to_be_visible()
    first = me.page.locator("[data-suggestions] > li").first
    handle = first.get_attribute("data-account")
    first.get_by_role("button").click()
    expect(me.page.locator(f"article[data-author='{handle}']").first).to_be_visible()
    posts = own.timeline(f"/@{handle}/")
    expect(me.entries).to_have_count(len(posts))
    expect(me.page.locator("[data-empty]")).to_have_count(0)
    expect(me.page.locator(".timeline-frame > .end")).to_be_visible()
    expect(me.page.locator(".toast")).to_contain_text(str(len(posts)))
    expect(me.page.locator(f"[data-suggestions] > [data-account='{handle}']")).to_have_count(0)
    expect(me.page.locator("[data-suggestions] > li")).to_have_count(3)
    expect(me.page.locator("[data-suggestions] [data-follow]").first).to_be_focused()
    order = me.entry_ids()
    assert order == sorted(order, key=int, reverse=True)


@pytest.mark.nightly
def test_following_from_the_side_panel_fills_home_too(reader: OpenReader, visitor: SignUpVisitor) -> None:
    followed, author, own = visitor(), visitor(), visitor()
    own.follows(followed.handle)
    followed.follows(author.handle)  # so that the author is suggested first
    author.publishes("words of a suggested author")
    for number in range(31):  # with a second page home has no suggestions of its own
        followed.publishes(f"words {number}")
    author.publishes("newest words of a suggested author")
    me = reader(own, viewport={"width": 1400, "height": 900})
    me.go_to("/")
    row = me.page.locator(f"[data-aside-people] [data-account='{author.handle}']")
    row.get_by_role("button").click()
    expect(me.page.get_by_text("newest words of a suggested author")).to_be_visible()
    expect(me.page.locator(".toast")).to_contain_text("1 post by")
    expect(row).to_have_count(0)
