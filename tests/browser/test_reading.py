"""The reading position is saved while the reader scrolls, and older posts load automatically up to a limit."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor


def published(author: HttpVisitor, count: int, **fields: object) -> list[str]:
    """Publish posts and return their ids, the newest first."""
    return [author.publishes(f"words {number}", **fields)["id"] for number in range(count)][::-1]


def place_of(reader: BrowserPage) -> int:
    """Return the index of the line that marks read entries; -1 without such a line."""
    index: int = reader.page.evaluate(
        "[...document.querySelectorAll('ol[data-timeline] > li')].findIndex((item) => item.matches('.here'))"
    )
    return index


def test_posts_in_sight_are_marked_as_read_on_every_device(reader: OpenReader, own: HttpVisitor) -> None:
    published(own, 3)
    me = reader(own)
    with me.page.expect_response("**/positions/"):
        me.go_to("/")
    published(own, 2)
    second_page = reader(own)
    second_page.go_to("/")
    expect(second_page.page.locator("li.here")).to_have_text("You're all caught up. You've seen everything below.")
    assert place_of(second_page) == 2
    with second_page.page.expect_response("**/positions/"):
        second_page.go_to("/")
    second_page.go_to("/")
    assert place_of(second_page) == -1


@pytest.mark.nightly
def test_older_posts_load_automatically_until_that_is_turned_off(reader: OpenReader, own: HttpVisitor) -> None:
    published(own, 35)
    me = reader(own)
    me.go_to("/?limit=5")
    page = me.page

    def has_all_that_come() -> bool:
        page.mouse.wheel(0, 4_000)
        return len(me.entry_ids()) >= 5 * (1 + 4)

    me.wait_for(has_all_that_come)
    for _ in range(5):
        page.mouse.wheel(0, 4_000)
        page.wait_for_timeout(150)
    assert len(me.entry_ids()) == 5 * (1 + 4), "four pages come, then the link waits"
    expect(page.locator('.pager a[rel="next"]')).to_be_visible()
    page.locator("details.panel > summary").click()
    with page.expect_response("**/preferences/"):
        page.get_by_role("checkbox", name="Load older posts as I scroll").uncheck()
    me.go_to("/?limit=5")
    for _ in range(5):
        page.mouse.wheel(0, 4_000)
        page.wait_for_timeout(150)
    assert len(me.entry_ids()) == 5
    page.locator('.pager a[rel="next"]').click()
    expect(me.entries).to_have_count(10)


@pytest.mark.nightly
def test_a_visitors_choice_stays_on_the_device(reader: OpenReader, visitor: SignUpVisitor) -> None:
    published(visitor(), 8)
    me = reader()
    me.go_to("/public/?limit=3")
    me.page.locator("details.panel > summary").click()
    me.page.get_by_role("checkbox", name="Load older posts as I scroll").uncheck()
    me.go_to("/public/?limit=3")
    me.page.mouse.wheel(0, 4_000)
    me.page.wait_for_timeout(500)
    assert len(me.entry_ids()) == 3
    me.page.locator("details.panel > summary").click()
    expect(me.page.get_by_role("checkbox", name="Load older posts as I scroll")).not_to_be_checked()


@pytest.mark.nightly
def test_a_reader_chooses_a_day_without_a_script(reader: OpenReader, own: HttpVisitor) -> None:
    published(own, 2)
    me = reader(own, java_script_enabled=False)
    me.go_to("/")
    me.page.locator("details.panel > summary").click()
    me.page.get_by_label("The last day to show").fill("2020-01-01")
    me.page.get_by_role("button", name="Show", exact=True).click()
    expect(me.page.get_by_role("heading", name="No older posts")).to_be_visible()
    me.page.locator('.pager a[rel="prev"]').click()
    assert len(me.entry_ids()) == 2


@pytest.mark.nightly
def test_a_suggestion_disappears_after_the_follow(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend, third = visitor(), visitor(), visitor()
    own.follows(friend.handle)
    friend.follows(third.handle)
    me = reader(own)
    me.go_to("/accounts/suggestions/")
    button = me.page.locator(f'[data-follow="{third.handle}"]')
    button.click()
    expect(button).to_have_count(0)
    assert own.get(f"/@{own.handle}/")["account"]["following"] == 2
