"""A new account signs up, publishes, follows and reads posts live."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor, visitor_numbers
from tests.support.visitor import PASSWORD


def test_a_new_account_publishes_follows_and_sees_the_next_post_live(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    friend, me = visitor(), reader()
    handle = f"newcomer{next(visitor_numbers)}"
    me.go_to("/")
    me.page.get_by_role("link", name="Create your account").click()
    me.page.get_by_label("Handle").fill(handle)
    for field in me.page.locator("input[type=password]").all():
        field.fill(PASSWORD)
    me.page.locator("main").get_by_role("button", name="Sign up").click()
    me.page.wait_for_url("**/welcome/profile/")
    me.go_to("/")
    me.publish("the first words of mine")
    expect(me.entries.first.locator(".post-text")).to_have_text("the first words of mine")
    expect(me.page.locator("[data-composer] textarea")).to_have_value("")
    me.page.reload()
    expect(me.entries).to_have_count(1)
    me.go_to(f"/@{friend.handle}/")
    me.page.get_by_role("button", name=f"Follow @{friend.handle}").click()
    expect(me.page.get_by_role("button", name=f"Unfollow @{friend.handle}")).to_be_visible()
    me.go_to_live("/")
    friend.publishes("hello from a friend")
    expect(me.pill).to_have_text("1 new post")
    me.pill.click()
    expect(me.entries.first.locator(".post-text")).to_have_text("hello from a friend")


@pytest.mark.nightly
@pytest.mark.parametrize("count", [4, 10])
def test_people_see_each_others_posts_live(reader: OpenReader, visitor: SignUpVisitor, count: int) -> None:
    people = [visitor() for _ in range(count)]
    for one in people:
        for other in people:
            if other is not one:
                one.follows(other.handle)
    pages = [reader(one) for one in people]
    for page in pages:
        page.go_to_live("/")
    for number, page in enumerate(pages):
        page.publish(f"I am number {number}")
    texts = sorted(f"I am number {number}" for number in range(count))
    for page in pages:
        expect(page.pill).to_have_text(f"{count - 1} new posts")
        page.pill.click()
        expect(page.entries).to_have_count(count)
        assert sorted(page.page.locator("[data-timeline] .post-text").all_inner_texts()) == texts
        live = page.entry_ids()
        page.page.reload()
        assert page.entry_ids() == live
