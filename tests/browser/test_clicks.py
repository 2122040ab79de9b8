"""A click on a post opens it, unless it is on a control or selects text."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor


@pytest.fixture
def me(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    page = reader(own)
    own.publishes("some words to click on #clicks https://example.com/")
    page.go_to("/")
    return page


def test_a_click_on_a_post_opens_it(me: BrowserPage) -> None:
    me.page.locator(".post-text").click(position={"x": 5, "y": 5})
    expect(me.page.locator(".thread-post .post-text")).to_be_visible()
    me.page.go_back()
    me.page.locator(".post").click(position={"x": 300, "y": 3})
    expect(me.page.locator(".thread-post .post-text")).to_be_visible()
    address = me.page.url
    me.page.locator(".thread-post .post-text").click(position={"x": 5, "y": 5})
    assert me.page.url == address


@pytest.mark.nightly
@pytest.mark.parametrize("how", [{"button": "middle"}, {"modifiers": ["Control"]}], ids=["middle", "Ctrl"])
def test_the_middle_button_and_ctrl_open_a_tab(me: BrowserPage, how: dict[str, object]) -> None:
    with me.context.expect_page() as opened:
        me.page.locator(".post-text").click(position={"x": 5, "y": 5}, **how)  # type: ignore[arg-type]
    opened.value.wait_for_load_state()
    assert opened.value.url.startswith(f"{me.url}/@")
    assert me.page.url == me.url + "/"


@pytest.mark.nightly
def test_links_buttons_and_selected_text_keep_their_meaning(me: BrowserPage, own: HttpVisitor) -> None:
    page = me.page
    with page.expect_response("**/like/"):
        page.locator("[data-act=like]").click()
    page.locator("details.menu > summary").click()
    expect(page.locator("details.menu")).to_have_attribute("open", "")
    page.locator(".menu-body details > summary").click()
    page.locator(".post-text").click(position={"x": 5, "y": 5})  # closes the question only
    expect(page.locator("details.menu")).not_to_have_attribute("open", "")
    text = page.locator(".post-text")
    text.evaluate("(text) => getSelection().selectAllChildren(text)")  # headless Chromium selects nothing by dragging
    text.dispatch_event("click")
    page.wait_for_timeout(200)
    assert page.url == me.url + "/"
    page.locator(".post-text a[href^='/tags/']").click()
    page.wait_for_url("**/tags/clicks/")


@pytest.mark.nightly
def test_an_open_delete_question_stays_open_while_older_posts_load(reader: OpenReader, own: HttpVisitor) -> None:
    for number in range(16):
        own.publishes(f"words {number}")
    me = reader(own)
    me.go_to("/?limit=3")
    me.wait_for(lambda: me.page.mouse.wheel(0, 4_000) or len(me.entry_ids()) == 15)
    menu = me.page.locator("details.menu").first
    menu.locator("summary").first.click()
    me.page.evaluate("document.querySelector('.pager a[rel=next]').click()")  # as the page itself does
    me.wait_for(lambda: len(me.entry_ids()) == 16)
    expect(menu).to_have_attribute("open", "")
