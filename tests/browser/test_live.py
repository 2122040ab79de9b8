"""Live pages never move entries, lose none, and remove deleted posts."""

import contextlib
import threading
import time

import httpx
import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.random_tests import mostly_nightly
from tests.support.sites import QuickstartSite
from tests.support.visitor import PASSWORD, HttpVisitor

NEW = "rather other words 9"
OLDER = """() => document.querySelector('.pager a[rel="next"]')?.click()"""
LOSE_SOCKET = "dispatchEvent(new PageTransitionEvent('pagehide'))"
COME_BACK = "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"


@pytest.fixture
def me(reader: OpenReader, visitor: SignUpVisitor, friend: HttpVisitor) -> BrowserPage:
    """A reader who follows `friend`."""
    own = visitor()
    own.follows(friend.handle)
    return reader(own)


def goes_live_with(reader: BrowserPage, count: int) -> None:
    """Open a live home page once the worker has delivered `count` posts to it."""

    def has_all() -> bool:
        reader.go_to("/")
        return len(reader.entry_ids()) == count

    reader.wait_for(has_all)
    reader.go_to_live("/")


def fresh_ids(reader: BrowserPage, pages: int = 1) -> list[str]:
    """Return the ids of a newly opened page and of its older pages."""
    fresh_page = BrowserPage(reader.context.new_page(), reader.url)
    fresh_page.go_to("/")
    for page in range(1, pages):
        fresh_page.page.evaluate(OLDER)  # the page may load them itself meanwhile
        expect(fresh_page.entries.nth(30 * page)).to_be_attached()
    ids = fresh_page.entry_ids()
    fresh_page.page.close()
    return ids


def test_new_posts_wait_in_the_pill_and_move_no_entry(me: BrowserPage, friend: HttpVisitor) -> None:
    for number in range(25):
        friend.publishes(f"old words {number}")
    goes_live_with(me, 25)
    read = me.entries.nth(8)
    me.page.evaluate("scrollTo({top: 700, behavior: 'instant'})")
    before = read.bounding_box()
    assert before
    assert 0 < before["y"] < me.page.evaluate("innerHeight")
    for number in range(3):
        friend.publishes(f"new words {number}")
    expect(me.pill).to_have_text("3 new posts")
    assert read.bounding_box() == before
    assert me.page.title().startswith("(3) ")
    assert len(me.entry_ids()) == 25
    me.pill.click()
    expect(me.entries).to_have_count(28)
    expect(me.pill).to_have_count(0)
    assert me.page.evaluate("scrollY") == 0
    assert me.entry_ids() == fresh_ids(me)


def test_a_deleted_post_disappears_from_open_pages_and_from_the_pill(me: BrowserPage, friend: HttpVisitor) -> None:
    remaining, gone = friend.publishes("this stays"), friend.publishes("this goes")
    goes_live_with(me, 2)
    unseen = friend.publishes("this goes before anybody has looked")
    expect(me.pill).to_have_text("1 new post")
    friend.deletes(gone)
    expect(me.entries).to_have_count(1)
    friend.deletes(unseen)
    expect(me.pill).to_have_count(0)
    assert me.entry_ids() == [remaining["id"]] == fresh_ids(me)


@pytest.mark.parametrize("role", mostly_nightly(["web", "redis", "worker"], 2))
def test_a_killed_process_loses_no_post_for_any_reader(
    me: BrowserPage, friend: HttpVisitor, site: QuickstartSite, role: str
) -> None:
    me.go_to_live("/")
    said: list[int] = []
    publishing = threading.Thread(target=publish_whatever_happens, args=(friend, 25, said))
    publishing.start()
    me.wait_for(lambda: len(said) >= 8)  # the kill happens between two posts
    site.kill_one(role)
    while publishing.is_alive():
        me.page.wait_for_timeout(50)
    me.wait_for(lambda: me.page.title().startswith("(25) "), 60)
    me.pill.click()
    live = me.entry_ids()
    assert len(live) == len(set(live)) == 25
    assert live == fresh_ids(me)


def publish_whatever_happens(friend: HttpVisitor, count: int, said: list[int]) -> None:
    """Publish `count` posts and collect their numbers; repeat each request with its key until it succeeds."""
    for number in range(count):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(httpx.TransportError):
                answer = friend.post("/posts/", text=f"word {number}", idempotency_key=f"kill-{number}")
                if answer.status_code == 201:
                    said.append(number)
                    break
            time.sleep(0.2)
        time.sleep(0.05)


@pytest.mark.nightly
def test_a_post_deleted_while_the_socket_was_closed_disappears_when_it_reconnects(
    me: BrowserPage, friend: HttpVisitor
) -> None:
    remaining, gone = (friend.publishes(words) for words in ("kept words", "words taken back"))
    goes_live_with(me, 2)
    me.page.evaluate(LOSE_SOCKET)
    friend.deletes(gone)
    me.page.evaluate(COME_BACK)
    me.wait_for(lambda: me.entry_ids() == [remaining["id"]])


@pytest.mark.nightly
def test_more_than_a_hundred_missed_posts_are_a_gap_that_the_reader_can_fill(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    authors, own = [visitor() for _ in range(4)], visitor()
    for author in authors:
        own.follows(author.handle)
    known = [authors[0].publishes(f"known words {number}")["id"] for number in range(2)]
    me = reader(own)
    goes_live_with(me, 2)
    me.page.evaluate(LOSE_SOCKET)
    missed = [author.publishes(f"missed {number}")["id"] for number in range(33) for author in authors]
    me.page.evaluate(COME_BACK)
    expect(me.pill).to_have_text("Many new posts")
    after = [authors[0].publishes("while the gap is open")["id"]]
    me.wait_for(lambda: me.page.title().startswith("("))
    me.pill.click()
    gap = me.page.locator(".gap")
    expect(me.entries.nth(2)).to_be_visible()
    for number in range(10):
        if not gap.count():
            break
        size = len(me.entry_ids())
        gap.get_by_role("button", name="from here up" if number % 2 else "from the newest down").click()
        me.wait_for(lambda known=size: len(me.entry_ids()) > known or not gap.count())  # type: ignore[misc]
    assert not gap.count()
    expected = sorted(known + missed + after, key=int, reverse=True)
    me.wait_for(lambda: me.entry_ids() == expected or (me.pill.count() and me.pill.click()))  # entries of the meantime
    assert fresh_ids(me, pages=5) == expected


@pytest.mark.nightly
@pytest.mark.parametrize("timeline", ["public", "profile", "list"])
def test_other_timelines_are_live(reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, timeline: str) -> None:
    path = {"public": "/public/", "profile": f"/@{friend.handle}/"}.get(timeline)
    if path is None:
        made = own.post("/lists/", title="Good people").json()
        own.post(f"/lists/{made['id']}/members/", handle=friend.handle)
        path = f"/lists/{made['id']}/"
    people = [reader(own)] if timeline == "list" else [reader(own), reader()]
    for one in people:
        one.go_to_live(path)
    post = friend.publishes("for all who look here")
    for one in people:
        expect(one.pill).to_be_visible()
        one.pill.click()
        assert one.entry_ids()[0] == post["id"]
    friend.deletes(post)
    for one in people:
        expect(one.page.locator(f"article[data-post-id='{post['id']}']")).to_have_count(0)


@pytest.mark.nightly
def test_a_page_from_the_browsers_back_cache_catches_up(me: BrowserPage, friend: HttpVisitor) -> None:
    me.go_to_live("/")
    me.go_to("/lists/")
    post = friend.publishes("while the page rested")
    me.page.go_back()
    me.wait_for(lambda: me.pill.count() or post["id"] in me.entry_ids())
    if me.pill.count():
        me.pill.click()
    assert me.entry_ids() == [post["id"]]


@pytest.mark.nightly
def test_an_own_post_of_another_tab_arrives(me: BrowserPage, reader: OpenReader) -> None:
    me.go_to_live("/")
    tab = BrowserPage(me.context.new_page(), me.url)
    tab.go_to_live("/")
    tab.publish("from the other tab")
    expect(tab.entries).to_have_count(1)
    expect(tab.pill).to_have_count(0)
    expect(me.pill).to_have_text("1 new post")
    assert not tab.complaints


@pytest.mark.nightly
def test_a_new_password_leaves_the_other_tabs_signed_in(me: BrowserPage, friend: HttpVisitor) -> None:
    me.go_to_live("/")
    tab = BrowserPage(me.context.new_page(), me.url)
    tab.go_to("/accounts/password/")
    with me.page.expect_websocket():
        for name, text in (("old_password", PASSWORD), ("new_password1", NEW)):
            tab.page.locator(f'input[name="{name}"]').fill(text)
        tab.page.get_by_role("button", name="Change password").click()
    friend.publishes("to a tab that stayed")
    expect(me.pill).to_have_text("1 new post")
    expect(me.page.locator(".toast")).to_have_count(0)


def test_signing_out_in_another_tab_shows_a_notice_on_the_open_page(me: BrowserPage, reader: OpenReader) -> None:
    me.go_to_live("/")
    tab = BrowserPage(me.context.new_page(), me.url)
    tab.go_to("/accounts/logout/")
    tab.page.locator("main").get_by_role("button", name="Log out").click()
    expect(me.page.locator(".toast")).to_contain_text("You are logged out")


@pytest.mark.nightly
def test_signing_out_in_another_tab_shows_a_notice_on_a_page_without_a_timeline(me: BrowserPage) -> None:
    with me.page.expect_websocket():
        me.go_to("/accounts/")
    tab = BrowserPage(me.context.new_page(), me.url)
    tab.go_to("/accounts/logout/")
    tab.page.locator("main").get_by_role("button", name="Log out").click()
    expect(me.page.locator(".toast")).to_contain_text("You are logged out")


@pytest.mark.nightly
def test_posts_that_arrive_while_a_gap_is_filled_wait_in_the_pill(reader: OpenReader, visitor: SignUpVisitor) -> None:
    authors = [visitor() for _ in range(4)]
    authors[0].publishes("known")
    me = reader()
    me.go_to_live("/public/")
    me.page.evaluate(LOSE_SOCKET)
    for number in range(26):
        for author in authors:
            author.publishes(f"missed {number}")
    me.page.evaluate(COME_BACK)
    expect(me.pill).to_have_text("Many new posts")
    delayed: list[Route] = []
    me.page.route("**/public/", lambda route: delayed.append(route))
    me.pill.click()
    me.wait_for(lambda: delayed)
    meanwhile = authors[0].publishes("while the gap is filled")
    expect(me.pill).to_have_text("1 new post")
    delayed[0].continue_()
    expect(me.entries.nth(30)).to_be_attached()
    expect(me.pill).to_have_text("1 new post")
    me.pill.click()
    me.wait_for(lambda: meanwhile["id"] == me.entry_ids()[0])


def test_a_forbidden_timeline_ends_alone_and_the_socket_reconnects(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    path = f"/lists/{own.post('/lists/', title='Good people').json()['id']}/"
    me, frames = reader(own), list[object]()
    me.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    me.go_to_live(path)
    assert own.post(f"{path}delete/").is_success
    me.page.evaluate(LOSE_SOCKET)
    me.page.evaluate(COME_BACK)
    me.wait_for(lambda: any("forbidden" in str(frame) for frame in frames))
    me.page.evaluate(LOSE_SOCKET)
    frames.clear()
    me.page.evaluate(COME_BACK)
    me.wait_for(lambda: any("subscribed" in str(frame) for frame in frames))
    friend.follows(own.handle)
    expect(me.page.locator("[data-badge]:visible").first).to_have_text("1")
    assert not any("forbidden" in str(frame) for frame in frames)


def test_a_lost_connection_is_shown_while_it_lasts_and_a_failed_like_shows_why(
    me: BrowserPage, friend: HttpVisitor
) -> None:
    friend.publishes("to be liked")
    goes_live_with(me, 1)
    me.context.set_offline(True)
    state, like = me.page.locator(".state"), me.page.locator('[data-act="like"]')
    expect(state).to_have_text("No connection. New posts appear when it is back.")
    like.click()
    expect(me.page.locator(".toast")).to_contain_text("the site cannot be reached")
    expect(like).to_have_attribute("aria-pressed", "false")
    expect(me.page.locator(".toast")).to_have_count(0, timeout=15_000)
    expect(state).to_be_visible()
    me.context.set_offline(False)
    expect(state).to_have_count(0, timeout=30_000)
    like.click()
    expect(like).to_have_attribute("aria-pressed", "true")
    me.complaints.clear()  # the browser reports each request that fails without a connection


@pytest.mark.nightly
def test_the_pill_does_not_cover_the_way_to_the_last_read_post(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    own.follows(friend.handle)
    posts = [friend.publishes(f"words {number}") for number in range(10)]
    me = reader(own)
    goes_live_with(me, 10)
    assert own.post("/positions/", timeline="home", post=posts[2]["id"]).is_success
    me.go_to_live("/?limit=5")
    way = me.page.get_by_role("link", name="Jump to where I stopped")
    expect(way).to_be_visible()
    friend.publishes("new words")
    expect(me.pill).to_be_visible()
    way_box, pill_box = way.bounding_box(), me.pill.bounding_box()
    assert way_box
    assert pill_box
    assert pill_box["y"] >= way_box["y"] + way_box["height"]


def test_numbers_have_the_plural_form_of_the_readers_language(reader: OpenReader) -> None:
    """Polish has three forms; the page names each by the least number that has it."""
    me = reader()
    page = """<html lang="pl"><div id="script-texts" data-plurals="0 1 2"
        data-new-0="{n} wpisów" data-new-1="1 wpis" data-new-2="{n} wpisy"></div>"""
    me.page.route("**/plurals/", lambda route: route.fulfill(body=page, content_type="text/html; charset=utf-8"))
    me.page.goto(f"{me.url}/plurals/")
    texts = me.page.evaluate(
        "import('/static/js/words.js').then(({word}) => [0, 1, 3, 5, 22].map((n) => word('new', n)))"
    )
    assert texts == ["0 wpisów", "1 wpis", "3 wpisy", "5 wpisów", "22 wpisy"]
