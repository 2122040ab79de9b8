"""Like, boost and bookmark in real browsers: shown immediately, corrected by the answer, equal everywhere."""

import re

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor, JsonObject


def button(reader: BrowserPage, post: JsonObject, act: str) -> Locator:
    return reader.page.locator(f'[data-post-id="{post["id"]}"] [data-act="{act}"]')


def is_on(found: Locator, on: bool, count: str | None = None) -> None:
    expect(found).to_have_attribute("aria-pressed", str(on).lower())
    if count is not None:
        expect(found.locator(".count")).to_have_text(count)


def test_two_readers_see_the_same_counts(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, other = visitor(), visitor()
    post = friend.publishes("hello")
    one, two = reader(visitor()), reader(other)
    for each in (one, two):
        each.go_to_live("/public/")
    button(one, post, "like").click()
    is_on(button(one, post, "like"), True, "1")
    is_on(button(two, post, "like"), False, "1")
    button(two, post, "like").click()
    is_on(button(two, post, "like"), True, "2")
    is_on(button(one, post, "like"), True, "2")
    button(one, post, "like").click()
    is_on(button(one, post, "like"), False, "1")
    is_on(button(two, post, "like"), True, "1")
    one.go_to("/public/")
    is_on(button(one, post, "like"), False, "1")
    friend.post(f"/posts/{post['id']}/delete/")


def test_a_refused_like_is_removed_again(reader: OpenReader, visitor: SignUpVisitor) -> None:
    post = visitor().publishes("hello")
    me = reader(visitor())
    me.go_to("/public/")
    pending_routes: list[Route] = []
    me.page.route(re.compile("/like/"), lambda route: pending_routes.append(route))
    button(me, post, "like").click()
    is_on(button(me, post, "like"), True, "1")
    me.wait_for(lambda: pending_routes)
    pending_routes[0].fulfill(status=404, json={"error": "not_found", "message": "This post is gone.", "fields": {}})
    is_on(button(me, post, "like"), False, "")
    expect(me.page.locator(".toast")).to_have_text("This post is gone.")


@pytest.mark.nightly
def test_clicks_during_a_request_are_sent_after_its_answer(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own = visitor()
    post = visitor().publishes("hello")
    me = reader(own)
    me.go_to("/public/")
    like = button(me, post, "like")
    for _ in range(4):
        like.click()
    is_on(like, False, "")
    like.click()
    is_on(like, True, "1")
    me.wait_for(lambda: own.get(post["url"])["viewer"]["liked"])
    me.go_to("/public/")
    is_on(like, True, "1")


def test_a_boost_reaches_a_follower_live_and_disappears_again(reader: OpenReader, visitor: SignUpVisitor) -> None:
    author, booster, follower = visitor(), visitor(), visitor()
    follower.follows(booster.handle)
    post = author.publishes("carried on")
    me, them = reader(booster), reader(follower)
    them.go_to_live("/")
    me.go_to_live("/public/")
    button(me, post, "boost").click()
    is_on(button(me, post, "boost"), True, "1")
    them.pill.click()
    boost = them.page.locator(f'article[data-boost-of="{post["id"]}"]')
    expect(boost).to_contain_text("carried on")
    expect(boost).to_contain_text("Boosted by")
    boost.locator('[data-act="like"]').click()
    is_on(button(me, post, "like"), False, "1")
    button(me, post, "boost").click()
    is_on(button(me, post, "boost"), False, "")
    expect(boost).to_have_count(0)


@pytest.mark.nightly
def test_the_next_boost_replaces_a_withdrawn_boost(reader: OpenReader, visitor: SignUpVisitor) -> None:
    """A visible boost is replaced immediately; a boost hidden by the pill stays hidden."""
    author, first, second, follower = (visitor() for _ in range(4))
    for followed in (first, second):
        follower.follows(followed.handle)
    post, late = author.publishes("carried on"), author.publishes("carried later")
    me = reader(follower)

    def shows(post: JsonObject, *by: HttpVisitor) -> None:
        """Check that the page shows the boosts of exactly these accounts."""
        for booster in (first, second):
            boosted = f'article[data-boost-of="{post["id"]}"][data-author="{booster.handle}"]'
            expect(me.page.locator(boosted)).to_have_count(1 if booster in by else 0)

    for each in (first, second):
        assert each.post(f"/posts/{post['id']}/boost/").status_code == 200
        each.publishes("between")

    def has_all() -> bool:
        me.go_to("/")
        return len(me.entry_ids()) == 3

    me.wait_for(has_all)
    me.go_to_live("/")
    shows(post, first)
    for each in (first, second):
        assert each.post(f"/posts/{late['id']}/boost/").status_code == 200
    expect(me.pill).to_have_text("1 new post")
    for each in (post, late):
        assert first.post(f"/posts/{each['id']}/unboost/").status_code == 200
    shows(post, second)
    expect(me.pill).to_have_text("1 new post")
    shows(late)
    me.pill.click()
    shows(late, second)
    entry_ids = me.entry_ids()
    me.go_to("/")
    assert me.entry_ids() == entry_ids


@pytest.mark.nightly
def test_an_own_boost_disappears_with_its_button(reader: OpenReader, visitor: SignUpVisitor, own: HttpVisitor) -> None:
    post = visitor().publishes("hello")
    assert own.post(f"/posts/{post['id']}/boost/").status_code == 200
    me = reader(own)
    me.go_to_live("/")
    entry = me.page.locator(f'article[data-boost-of="{post["id"]}"]')
    expect(entry).to_have_count(1)
    entry.locator('[data-act="boost"]').click()
    expect(entry).to_have_count(0)


@pytest.mark.nightly
def test_an_own_boost_appears_in_ones_open_timelines(reader: OpenReader, visitor: SignUpVisitor) -> None:
    """The boost appears immediately on the page of the button and behind the pill of other pages."""
    own = visitor()
    post, mine = visitor().publishes("of a stranger"), own.publishes("of my own")
    home, public, profile = (reader(own) for _ in range(3))
    home.go_to_live("/")
    profile.go_to_live(f"/@{own.handle}/")
    public.go_to("/public/")
    button(public, post, "boost").click()
    home.page.locator(".pill").click()
    for page in (home, profile):
        if page is profile:
            page.page.locator(".pill").click()
        entry = page.page.locator(f'article[data-boost-of="{post["id"]}"]')
        expect(entry).to_have_count(1)
        is_on(entry.locator('[data-act="boost"]'), True, "1")
    button(profile, mine, "boost").click()
    expect(profile.page.locator(f'article[data-boost-of="{mine["id"]}"]')).to_have_count(1)
    expect(profile.page.locator(".pill")).to_have_count(0)
    button(public, post, "boost").click()
    for page in (home, profile):
        expect(page.page.locator(f'article[data-boost-of="{post["id"]}"]')).to_have_count(0)
    profile.page.locator(f'article[data-boost-of="{mine["id"]}"] [data-act="boost"]').click()
    expect(profile.page.locator(f'article[data-boost-of="{mine["id"]}"]')).to_have_count(0)
    expect(button(profile, mine, "boost")).to_have_attribute("aria-pressed", "false")


@pytest.mark.nightly
def test_the_keyboard_reaches_and_presses_buttons(reader: OpenReader, visitor: SignUpVisitor) -> None:
    post = visitor().publishes("hello")
    me = reader(visitor())
    me.go_to(post["url"])
    like = me.page.get_by_role("button", name="Like")
    like.focus()
    me.page.keyboard.press("Space")
    is_on(like, True, "1")
    expect(like).to_be_focused()
    me.page.keyboard.press("Enter")
    is_on(like, False, "")


@pytest.mark.nightly
def test_without_a_script_buttons_are_forms(reader: OpenReader, visitor: SignUpVisitor) -> None:
    post = visitor().publishes("hello")
    me = reader(visitor(), java_script_enabled=False)
    me.go_to("/public/?limit=50")
    for act in ("like", "boost", "bookmark"):
        for on in (True, False, True):
            button(me, post, act).click()
            expect(me.page).to_have_url(f"{me.url}/public/?limit=50")
            is_on(button(me, post, act), on)
    me.go_to("/bookmarks/")
    expect(button(me, post, "like")).to_have_attribute("aria-pressed", "true")


def test_visitors_are_led_to_the_log_in(reader: OpenReader, visitor: SignUpVisitor) -> None:
    post = visitor().publishes("hello")
    me = reader()
    me.go_to("/public/")
    button(me, post, "like").click()
    expect(me.page).to_have_url(re.compile("/accounts/login/"))
