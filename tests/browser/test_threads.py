"""A thread in a browser: its counts and new replies arrive live, at their places."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor


def shown(reader: BrowserPage) -> list[str]:
    """Return the ids of the replies, from the top."""
    reply_ids: list[str] = reader.page.evaluate(
        "[...document.querySelectorAll('[data-replies] > li:not(.leaving) article[data-post-id]')]"
        ".map((entry) => entry.dataset.postId)"
    )
    return reply_ids


def test_new_replies_wait_behind_a_pill_and_appear_at_their_places(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, other = visitor(), visitor()
    first = friend.publishes("first")
    one, two = (other.publishes(text, in_reply_to=first["id"]) for text in ("one", "two"))
    for me in (reader(visitor()), reader()):
        before = friend.get(first["url"])
        me.go_to_live(first["url"])
        below = friend.publishes("below one", in_reply_to=one["id"])
        expect(me.pill).to_have_text("1 new reply")
        last = other.publishes("last", in_reply_to=first["id"])
        expect(me.pill).to_have_text("2 new replies")
        known = [each["id"] for each in before["replies"]]
        assert shown(me) == known
        me.pill.click()
        me.wait_for(lambda me=me, known=known: len(shown(me)) == len(known) + 2)  # type: ignore[misc]
        expect(me.pill).to_have_count(0)
        assert shown(me) == [each["id"] for each in friend.get(first["url"])["replies"]]
        count = me.page.locator(f'article[data-post-id="{first["id"]}"] [data-count="replies"]')
        expect(count).to_have_text(str(friend.get(first["url"])["counts"]["replies"]))
        other.deletes(last)
        me.wait_for(lambda me=me, last=last: last["id"] not in shown(me))  # type: ignore[misc]
        assert {below["id"], two["id"]} <= set(shown(me))


@pytest.mark.nightly
def test_an_own_reply_appears_without_a_pill(reader: OpenReader, own: HttpVisitor, friend: HttpVisitor) -> None:
    first = friend.publishes("first")
    me = reader(own)
    me.go_to_live(first["url"])
    me.publish("my answer")
    expect(me.page.locator("[data-replies] article")).to_have_count(1)
    me.page.wait_for_timeout(1_500)
    expect(me.pill).to_have_count(0)
    friend.publishes("theirs", in_reply_to=first["id"])
    expect(me.pill).to_have_text("1 new reply")


@pytest.mark.nightly
def test_the_post_itself_stays_in_sight_below_many_ancestors(reader: OpenReader, own: HttpVisitor) -> None:
    post = own.publishes("0 " + "long " * 80)
    for number in range(1, 12):
        post = own.publishes(f"{number} " + "long " * 80, in_reply_to=post["id"])
    me = reader(own)
    me.go_to(post["url"])
    expect(me.page.locator(".thread-post")).to_be_in_viewport()
    assert me.page.locator(".thread-parent > li").count() == 11
