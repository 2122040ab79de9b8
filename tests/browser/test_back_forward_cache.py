"""The browser's back/forward cache: it shows a left page at once, but never to somebody else than its reader."""

import contextlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import CHROMIUM_FLAGS, BrowserPage
from tests.support.programs import need
from tests.support.visitor import PASSWORD, HttpVisitor


@pytest.fixture(scope="module")
def chromium(chromium: Browser) -> Iterator[Browser]:
    """A Chromium with the cache: Playwright switches it off, chromium-headless-shell has none."""
    browser = chromium.browser_type.launch(
        executable_path=need("chromium"),
        args=list(CHROMIUM_FLAGS),
        ignore_default_args=["--disable-back-forward-cache"],
    )
    yield browser
    browser.close()


def opened(me: BrowserPage) -> BrowserPage:
    """Open a page whose script writes the cookie that lets the browser keep the next pages."""
    me.go_to("/accounts/sessions/")
    return me


def leaves(me: BrowserPage, path: str) -> None:
    """Mark the document of the open page, and go to another page."""
    me.page.evaluate("document.isMarked = true")
    me.go_to(path)


def goes_back(me: BrowserPage, path: str) -> None:
    """Go back until the page at `path` is visible: Playwright's own function waits for an event that is not sent."""
    me.page.evaluate("setTimeout(() => history.back())")
    me.wait_for(lambda: me.page.url == me.url + path and is_visible(me))


def is_visible(me: BrowserPage) -> bool:
    with contextlib.suppress(Error):  # the page is just loaded again
        return bool(
            me.page.evaluate("document.readyState === 'complete' && document.documentElement.style.opacity === ''")
        )
    return False


def is_marked(me: BrowserPage) -> bool:
    return bool(me.page.evaluate("document.isMarked === true"))


@pytest.mark.nightly
def test_back_shows_the_left_page_at_once_and_it_is_live(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend = visitor(), visitor()
    own.follows(friend.handle)
    own.publishes("words")
    me = opened(reader(own))
    me.go_to_live("/")
    leaves(me, f"/@{own.handle}/")
    goes_back(me, "/")
    assert is_marked(me)
    expect(me.page.get_by_text("words", exact=True)).to_be_visible()
    friend.publishes("while the page was away or later")
    me.pill.click()
    expect(me.page.get_by_text("while the page was away or later")).to_be_visible()


@pytest.mark.nightly
def test_back_after_a_change_loads_the_page_again(reader: OpenReader, own: HttpVisitor, friend: HttpVisitor) -> None:
    own.follows(friend.handle)
    post = friend.publishes("words")
    own.publishes("words of the reader")
    me = opened(reader(own))
    me.go_to("/")
    like = me.page.locator(f"[data-post-id='{post['id']}'] [data-act=like]")
    expect(like).to_have_attribute("aria-pressed", "false")
    leaves(me, f"/@{friend.handle}/{post['id']}/")
    with me.page.expect_response("**/like/"):
        me.page.locator(".thread-post [data-act=like]").click()
    expect(me.page.locator(".thread-post [data-act=like]")).to_have_attribute("aria-pressed", "true")
    goes_back(me, "/")
    expect(like).to_have_attribute("aria-pressed", "true")
    assert not is_marked(me)


@pytest.mark.nightly
def test_after_logging_out_in_another_tab_back_shows_no_private_page(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    own, other = visitor(), visitor()
    own.publishes("for followers alone", audience="followers")
    me = opened(reader(own))
    me.go_to("/")
    leaves(me, f"/@{own.handle}/")
    own.post("/accounts/logout/")  # without Clear-Site-Data, which not every browser knows
    tab = BrowserPage(me.context.new_page(), me.url)
    tab.go_to("/accounts/login/")
    tab.page.locator("main [name=username]").fill(other.handle)
    tab.page.locator("main [name=password]").fill(PASSWORD)
    tab.page.locator('form[action="/accounts/login/"] [type=submit]').click()
    expect(tab.page.locator("body")).to_have_attribute("data-handle", other.handle)
    goes_back(me, "/")
    expect(me.page.locator("body")).to_have_attribute("data-handle", other.handle)
    expect(me.page.get_by_text("for followers alone")).to_have_count(0)


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_after_logging_out_back_shows_no_private_page(reader: OpenReader, own: HttpVisitor, has_script: bool) -> None:
    own.publishes("for followers alone", audience="followers")
    me = reader(own, java_script_enabled=has_script)
    me.go_to("/")
    expect(me.page.get_by_text("for followers alone")).to_be_visible()
    me.go_to("/accounts/logout/")
    me.page.locator("main form button").click()
    expect(me.page.locator("body")).to_have_attribute("data-signed-in", "no")
    for _ in range(3):
        me.page.go_back()
        expect(me.page.locator("body")).to_have_attribute("data-signed-in", "no")
        expect(me.page.get_by_text("for followers alone")).to_have_count(0)
        if me.page.url == me.url + "/":
            break
    assert me.page.url == me.url + "/"
