"""A thread of one author is one entry, on pages and live, with and without scripts."""

import os

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage, tab_to
from tests.support.visitor import HttpVisitor

JOINED = "ol[data-timeline] > li.joined"
SUMMARY = ".joined-more > details > summary"
PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
SHOWN_POSTS = """() => [...document.querySelectorAll('ol[data-timeline] article[data-post-id]')]
    .filter((post) => post.checkVisibility()).map((post) => post.dataset.postId)"""
TOPS = """() => [...document.querySelectorAll('ol[data-timeline] article[data-post-id]')]
    .filter((post) => post.checkVisibility()).map((post) => post.getBoundingClientRect().top)"""


def publish_thread(author: HttpVisitor, count: int, parent: str | None = None) -> list[str]:
    """Publish a thread, each post an answer to the one before, and return the ids, the first post first."""
    ids = list[str]()
    for number in range(count):
        before = ids[-1] if ids else parent
        ids.append(author.publishes(f"part {number}", **({"in_reply_to": before} if before else {}))["id"])
    return ids


def shown_ids(me: BrowserPage) -> list[str]:
    ids: list[str] = me.page.evaluate(SHOWN_POSTS)
    return ids


def picture(me: BrowserPage, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        me.page.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize("viewport", [PHONE, LAPTOP], ids=["phone", "laptop"])
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_thread_is_one_entry_that_opens_in_reading_order(
    reader: OpenReader, own: HttpVisitor, viewport: dict[str, int], scripts: bool
) -> None:
    before = own.publishes("before the thread")["id"]
    thread = publish_thread(own, 6)
    after = own.publishes("after the thread")["id"]
    me = reader(own, viewport=viewport, java_script_enabled=scripts)
    for path in ("/", f"/@{own.handle}/"):
        me.go_to(path)
        item = me.page.locator(JOINED)
        expect(item).to_have_count(1)
        assert me.page.locator("ol[data-timeline] > li").count() == 3
        summary = item.locator(SUMMARY, has_text="… 4 more posts")
        expect(summary).to_be_visible()
        expect(item.get_by_text("part 0")).to_be_visible()
        expect(item.get_by_text("part 5")).to_be_visible()
        expect(item.get_by_text("part 3")).to_be_hidden()
        expect(item.get_by_text("Replying to")).to_have_count(5)
        for line in item.get_by_text("Replying to").all():
            expect(line).to_be_hidden()
        summary.click()
        expect(item.get_by_text("part 3")).to_be_visible()
        if scripts:
            assert shown_ids(me) == [after, *thread, before]
            tops = me.page.evaluate(TOPS)
            assert tops == sorted(tops)
        picture(me, f"joined-{viewport['width']}-{scripts}")


def test_the_keyboard_opens_a_thread_and_walks_through_what_is_shown(reader: OpenReader, own: HttpVisitor) -> None:
    thread = publish_thread(own, 4)
    me = reader(own)
    me.go_to("/")
    focused = "() => document.activeElement.dataset.postId"
    for expected in (thread[0], thread[3]):
        me.page.keyboard.press("j")
        assert me.page.evaluate(focused) == expected
    me.page.evaluate("document.activeElement.blur()")
    tab_to(me.page, SUMMARY)
    me.page.keyboard.press("Enter")
    me.page.evaluate("document.querySelector('.joined article').focus()")
    me.page.keyboard.press("j")
    assert me.page.evaluate(focused) == thread[1]


def test_a_browser_that_cannot_tell_what_is_shown_walks_through_all_posts(reader: OpenReader, own: HttpVisitor) -> None:
    """Safari before 17.4 is such a browser."""
    own.publishes("single")
    me = reader(own)
    me.page.add_init_script("delete Element.prototype.checkVisibility")
    me.go_to("/")
    me.page.keyboard.press("j")
    assert me.page.evaluate("() => document.activeElement.textContent").count("single") == 1


def followed(reader: OpenReader, visitor: SignUpVisitor, author: HttpVisitor) -> BrowserPage:
    """Return the live home of a new reader who follows the author."""
    own = visitor()
    own.follows(author.handle)
    me = reader(own)
    me.go_to_live("/")
    return me


def show_new(me: BrowserPage, text: str) -> None:
    expect(me.pill).to_have_text(text)
    me.pill.click()
    expect(me.pill).to_have_count(0)


def opened_again(me: BrowserPage) -> list[str]:
    """Return the posts that the page shows, as the server renders it, without the reader's marker."""
    fresh = BrowserPage(me.context.new_page(), me.url)
    fresh.go_to("/")
    ids = shown_ids(fresh)
    fresh.page.close()
    return ids


def test_live_posts_of_a_thread_are_joined_and_separated_as_on_a_new_page(
    reader: OpenReader, visitor: SignUpVisitor, friend: HttpVisitor
) -> None:
    me = followed(reader, visitor, friend)
    thread = publish_thread(friend, 4)
    show_new(me, "4 new posts")
    item = me.page.locator(JOINED)
    expect(item.locator(SUMMARY)).to_have_text("… 2 more posts")
    assert shown_ids(me) == [thread[0], thread[-1]] == opened_again(me)
    # an older post of another account comes between, as after a late delivery
    me.page.evaluate(
        """async ([between]) => {
            const article = document.querySelector('.joined article').cloneNode(true);
            article.dataset.postId = between;
            article.dataset.author = 'somebody';
            document.dispatchEvent(new CustomEvent('post:published', { detail: { article } }));
        }""",
        [str(int(thread[2]) - 1)],
    )
    expect(item).to_have_count(2)
    assert me.entry_ids() == [thread[2], thread[3], str(int(thread[2]) - 1), thread[0], thread[1]]


def test_a_deleted_post_leaves_a_thread_with_the_right_number(
    reader: OpenReader, visitor: SignUpVisitor, friend: HttpVisitor
) -> None:
    thread = publish_thread(friend, 5)
    me = followed(reader, visitor, friend)
    item = me.page.locator(JOINED)
    expect(item.locator(SUMMARY)).to_have_text("… 3 more posts")
    friend.deletes({"id": thread[2]})
    expect(item.locator(SUMMARY)).to_have_text("… 2 more posts")
    friend.deletes({"id": thread[0]})
    expect(item.locator(SUMMARY)).to_have_text("… 1 more post")
    expect(item.get_by_text("part 1")).to_be_visible()
    for post_id in (thread[4], thread[1]):
        friend.deletes({"id": post_id})
    expect(item).to_have_count(0)
    assert me.entry_ids() == [thread[3]]


def test_back_leads_to_a_post_inside_an_opened_thread(reader: OpenReader, own: HttpVisitor) -> None:
    publish_thread(own, 12)
    me = reader(own)
    me.go_to("/")
    me.page.locator(SUMMARY).click()
    target = me.page.get_by_text("part 8", exact=True)
    target.scroll_into_view_if_needed()
    me.page.evaluate("scrollBy({ top: 300, behavior: 'instant' })")
    me.page.wait_for_timeout(400)
    top = box_top(target)
    me.page.reload()
    expect(target).to_be_visible()
    me.wait_for(lambda: abs(box_top(target) - top) < 2)


def box_top(target: Locator) -> float:
    box = target.bounding_box()
    return box["y"] if box else -1.0


def test_a_thread_reads_from_right_to_left_in_arabic(reader: OpenReader, own: HttpVisitor) -> None:
    publish_thread(own, 5)
    for viewport in (PHONE, LAPTOP):
        me = reader(own, viewport=viewport, locale="ar", extra_http_headers={**own.headers, "Accept-Language": "ar"})
        me.go_to("/")
        summary, text = me.page.locator(SUMMARY), me.page.locator(".joined .post-text").first
        expect(summary).to_be_visible()
        box, words = summary.bounding_box(), text.bounding_box()
        assert box
        assert words
        assert box["x"] + box["width"] > words["x"] + words["width"], "it begins at the line between the avatars"
        assert me.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        picture(me, f"joined-arabic-{viewport['width']}")


def test_an_opened_thread_stays_open_and_keeps_its_own_places(reader: OpenReader, own: HttpVisitor) -> None:
    """A new post of the thread does not close it, a click opens the post itself, a boost of a part is an own entry."""
    thread = publish_thread(own, 4)
    me = reader(own)
    me.go_to_live("/")
    me.page.locator(SUMMARY).click()
    me.publish("written here")  # an entry of its own, above the thread
    expect(me.entries).to_have_count(5)
    last = own.publishes("part 4", in_reply_to=thread[-1])["id"]
    own.post(f"/posts/{thread[1]}/boost/")
    me.page.evaluate("document.dispatchEvent(new Event('posts:show'))")
    expect(me.page.locator(f'article[data-post-id="{last}"]')).to_be_visible()
    assert me.page.locator(".joined-more > details").get_attribute("open") is not None
    expect(me.page.locator(JOINED).get_by_text("part 2")).to_be_visible()
    assert me.page.locator(f"{JOINED} [data-boost-of]").count() == 0
    me.page.locator(JOINED).get_by_text("part 2").click()
    me.page.wait_for_url(f"**/@{own.handle}/{thread[2]}/")
