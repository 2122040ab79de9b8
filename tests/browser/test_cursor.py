"""Every way to the composer puts the cursor into its text box, and it stays there."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor

BOX = "[data-composer] textarea"
TYPED = "jig like this? or not ."  # each of its letters is also a shortcut
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def reply_link(me: BrowserPage, own: HttpVisitor) -> None:
    own.publishes("answer me")
    me.go_to("/")
    me.page.locator(".post-actions a").first.click()


def reply_key(me: BrowserPage, own: HttpVisitor) -> None:
    own.publishes("answer me")
    me.go_to("/")
    me.page.keyboard.press("j")
    me.page.keyboard.press("r")


def reply_link_on_the_post(me: BrowserPage, own: HttpVisitor) -> None:
    post = own.publishes("answer me")
    me.go_to(f"/@{own.handle}/{post['id']}/")
    me.page.locator(".thread-post .post-actions a").first.click()


def new_post_from_another_page(me: BrowserPage, own: HttpVisitor) -> None:
    me.go_to("/public/")
    me.page.locator("a[data-compose]").click()


def first_post_from_the_profile(me: BrowserPage, own: HttpVisitor) -> None:
    me.go_to(f"/@{own.handle}/")
    me.page.locator('.empty a[href="/#compose"]').click()


def address_of_the_installed_application(me: BrowserPage, own: HttpVisitor) -> None:
    me.go_to("/#compose")


Way = Callable[[BrowserPage, HttpVisitor], None]
WAYS: list[Way] = [
    reply_link,
    reply_key,
    reply_link_on_the_post,
    new_post_from_another_page,
    first_post_from_the_profile,
    address_of_the_installed_application,
]


@pytest.mark.parametrize(
    ("options", "ways"),
    [
        ({}, [reply_link, reply_key, new_post_from_another_page]),
        pytest.param(PHONE, [reply_link, new_post_from_another_page], marks=pytest.mark.nightly),
        pytest.param({}, WAYS, marks=pytest.mark.nightly),
    ],
    ids=["desk", "phone", "every way"],
)
def test_the_cursor_stays_in_the_box(
    reader: OpenReader, visitor: SignUpVisitor, options: dict[str, object], ways: list[Way]
) -> None:
    for way in ways:
        own = visitor()
        me = reader(own, **options)
        _assert_the_cursor_stays(me, own, way)
        me.page.close()


def _assert_the_cursor_stays(me: BrowserPage, own: HttpVisitor, way: Way) -> None:
    way(me, own)
    me.page.locator(f"{BOX}:focus").wait_for()
    box = me.page.locator(BOX).last  # a dialog is the last part of a page
    expect(box).to_be_focused()
    me.page.wait_for_timeout(1000)  # Chromium handles the fragment some time after the scripts
    expect(box).to_be_focused()
    path = me.page.url
    me.page.keyboard.type(TYPED)
    expect(box).to_have_value(TYPED)
    assert me.page.url == path
    assert box.evaluate("(box) => box.getBoundingClientRect().bottom <= innerHeight"), "the box is in view"


@pytest.mark.nightly
def test_without_a_script_the_cursor_is_in_the_box_too(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, java_script_enabled=False)
    new_post_from_another_page(me, own)
    me.page.wait_for_url("**/compose/")
    me.page.wait_for_load_state()
    me.wait_for(lambda: me.page.locator(f"{BOX}:focus").count() == 1)
    me.page.keyboard.type(TYPED)
    expect(me.page.locator(BOX)).to_have_value(TYPED)


@pytest.mark.nightly
def test_a_reply_is_written_below_the_post_that_it_answers(me: BrowserPage, own: HttpVisitor) -> None:
    """The fragment does not scroll the post out of view."""
    post = own.publishes("answer me")
    for number in range(8):
        own.publishes(f"a reply {number}", in_reply_to=post["id"])
    me.go_to(f"/@{own.handle}/{post['id']}/#reply")
    expect(me.page.locator(BOX)).to_be_focused()
    expect(me.page.locator(".thread-post .post-text")).to_be_in_viewport()
