"""The everyday actions by keyboard alone, with and without scripts."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage, tab_to
from tests.support.visitor import HttpVisitor


@pytest.fixture
def friend(visitor: SignUpVisitor, own: HttpVisitor) -> HttpVisitor:
    """An account that `own` follows."""
    followed = visitor()
    own.follows(followed.handle)
    return followed


@pytest.fixture(params=[pytest.param(True, marks=pytest.mark.nightly), False], ids=["with scripts", "without scripts"])
def scripts(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def me(scripts: bool, reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    return reader(own, java_script_enabled=scripts)


def press(page: Page, selector: str, key: str = "Enter") -> None:
    tab_to(page, selector, most=90)
    page.keyboard.press(key)


@pytest.mark.parametrize(
    ("act", "done"),
    [
        ("like", "liked"),
        pytest.param("boost", "boosted", marks=pytest.mark.nightly),
        pytest.param("bookmark", "bookmarked", marks=pytest.mark.nightly),
    ],
)
def test_a_reaction_is_added_and_removed(
    me: BrowserPage, own: HttpVisitor, friend: HttpVisitor, act: str, done: str
) -> None:
    post = friend.publishes("words to react to")
    button = me.page.locator(f'[data-act="{act}"]').first
    me.go_to(post["url"])
    press(me.page, f'[data-act="{act}"]')
    expect(button).to_have_attribute("aria-pressed", "true")
    me.wait_for(lambda: own.get(post["url"])["viewer"][done])  # the button changes before the answer
    me.go_to(post["url"])
    expect(button).to_have_attribute("aria-pressed", "true")
    press(me.page, f'[data-act="{act}"]')
    expect(button).to_have_attribute("aria-pressed", "false")


@pytest.mark.nightly
def test_the_navigation_leads_to_bookmarks(me: BrowserPage, own: HttpVisitor, friend: HttpVisitor) -> None:
    post = friend.publishes("words to keep")
    own.post(f"/posts/{post['id']}/bookmark/")
    me.go_to("/")
    press(me.page, '.site-tools a[href="/bookmarks/"]')
    expect(me.entries.locator(".post-text")).to_have_text(["words to keep"])


def test_an_account_is_muted_for_a_time_and_unmuted(me: BrowserPage, friend: HttpVisitor) -> None:
    me.go_to(f"/@{friend.handle}/")
    press(me.page, ".relation-menu > summary")
    press(me.page, "#mute-duration", "ArrowDown")
    press(me.page, 'form[action$="/mute/"] button')
    expect(me.page.locator('[data-relation="mutes"]')).to_contain_text("for some time")
    press(me.page, ".relation-menu > summary")
    press(me.page, '[formaction$="/unmute/"]')
    expect(me.page.locator('[data-relation="mutes"]')).to_have_count(0)


@pytest.mark.nightly
def test_a_filter_hides_posts_and_can_be_deleted(me: BrowserPage, friend: HttpVisitor) -> None:
    friend.publishes("what nobody wants to read")
    me.go_to("/accounts/filters/")
    tab_to(me.page, "#filter-phrase-0")
    me.page.keyboard.type("nobody wants")
    press(me.page, "#filter-action-0", "ArrowDown")
    press(me.page, "form[action='/accounts/filters/'] button")
    expect(me.page.locator("details.panel")).to_contain_text("hidden completely")
    me.go_to("/")
    expect(me.entries).to_have_count(0)
    me.go_to("/accounts/filters/")
    press(me.page, "details.panel > summary")
    press(me.page, '[formaction$="/delete/"]')
    expect(me.page.locator("details.panel")).to_have_count(0)


@pytest.mark.nightly
def test_the_navigation_has_a_search_field(me: BrowserPage, own: HttpVisitor, friend: HttpVisitor) -> None:
    friend.publishes(f"rare words of {friend.handle}")
    me.wait_for(lambda: bool(own.get(f"/search/?q={friend.handle}")["posts"]))
    me.go_to("/")
    press(me.page, '.site-nav a[href="/search/"]')
    expect(me.page.get_by_role("heading", level=1)).to_have_text("Explore")
    tab_to(me.page, "#search-query")
    me.page.keyboard.type(friend.handle)
    me.page.keyboard.press("Enter")
    expect(me.entries.locator(".post-text")).to_have_text([f"rare words of {friend.handle}"])


@pytest.mark.nightly
def test_the_search_field_beside_the_page_gives_the_same_results(me: BrowserPage, friend: HttpVisitor) -> None:
    me.page.set_viewport_size({"width": 1300, "height": 800})
    me.go_to("/")
    tab_to(me.page, "#aside-query")
    me.page.keyboard.type(friend.handle)
    me.page.keyboard.press("Enter")
    expect(me.page.locator(f'li[data-account="{friend.handle}"]')).to_be_visible()


def test_notifications_are_read(me: BrowserPage, own: HttpVisitor, friend: HttpVisitor, scripts: bool) -> None:
    friend.publishes(f"@{own.handle} listen")
    me.wait_for(lambda: own.get("/notifications/unread/")["unread"] == 1)
    me.go_to("/")
    expect(me.page.locator("[data-badge]")).to_have_text("1")
    press(me.page, '.site-nav a[href="/notifications/"]')
    expect(me.page.locator("ol.timeline > li")).to_have_count(1)
    if not scripts:  # with scripts, opening the page marks them as read
        press(me.page, "main form[data-read] button")
    expect(me.page.locator("[data-badge]")).to_be_hidden()


def test_a_reader_walks_up_a_thread(me: BrowserPage, own: HttpVisitor, friend: HttpVisitor) -> None:
    post = friend.publishes("the very first")
    for number in range(22):
        post = friend.publishes(f"answer {number}", in_reply_to=post["id"])
    me.go_to(post["url"])
    expect(me.page.locator(".thread-parent article")).to_have_count(20)
    press(me.page, ".thread-earlier a")
    expect(me.page.locator(".thread-parent, .thread-post").first).to_contain_text("the very first")


@pytest.mark.nightly
def test_a_list_is_made_of_other_lists(me: BrowserPage, own: HttpVisitor, friend: HttpVisitor) -> None:
    friend.publishes("words for both lists")
    for title in ("Near", "Far"):
        made = own.post("/lists/", title=title).json()
        own.post(f"/lists/{made['id']}/members/", handle=friend.handle)
    me.go_to("/lists/")
    press(me.page, "details.panel > summary")
    tab_to(me.page, "#made-title")
    me.page.keyboard.type("Everybody")
    for box in me.page.locator("fieldset.choices input").all():
        press(me.page, f'[name="{box.get_attribute("name")}"]', "Space")
    press(me.page, "details.panel form button")
    expect(me.page.locator("h1")).to_have_text("Everybody")
    expect(me.entries.locator(".post-text")).to_have_text(["words for both lists"])
