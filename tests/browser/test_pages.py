"""Every page in every state: no barrier that axe finds, no sideways scrolling, no message in the console.

The width of each page is checked on a dark phone of 320 pixels and on a light laptop; EVERY_LOOK=1 adds the other two
combinations. axe checks each page of the three tables on one of both devices, in turns, and at night on all.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from _pytest.mark import ParameterSet
from django.template.loader import render_to_string
from playwright.sync_api import Browser, expect

from tests.browser.conftest import OpenReader, SignUpVisitor, open_context, sign_up_visitor
from tests.browser.scenes import home, lists, people, posts, staff
from tests.browser.scenes.base import LONG_WORD, TEXTS, PageScenario, fills, goes, goes_as_staff, submits
from tests.support.chromium import BrowserPage
from tests.support.page_health import VIEWPORTS, find_page_problems, markup_errors
from tests.support.sites import QuickstartSite
from tests.support.visitor import PASSWORD, HttpVisitor


def prepare_scene(site: QuickstartSite, page: BrowserPage, own: HttpVisitor, friend: HttpVisitor) -> PageScenario:
    rows = {
        "field_name_1": "Pronouns",
        "field_value_1": "they",
        "field_name_2": "الموقع",
        "field_value_2": "https://example.org",
    }
    long = {"field_name_4": LONG_WORD[:255], "field_value_4": LONG_WORD[:255]}
    for person, fields in (
        (own, {"display_name": "W" * 50, "bio": "b " * 200, "link": "https://example.org/" + "p" * 80, **rows, **long}),
        (friend, {"display_name": "Not totally", "bio": LONG_WORD[:400], "link": "", **rows, **long}),
    ):
        assert person.post("/accounts/settings/", **fields).status_code == 200
    own.follows(friend.handle)
    friend.follows(own.handle)
    posts = [friend.publishes(text) for text in TEXTS]
    own.publishes("my own words")
    return PageScenario(site, page, own, friend, posts[0])


@pytest.fixture
def scene(site: QuickstartSite, reader: OpenReader, visitor: SignUpVisitor) -> PageScenario:
    own = visitor()
    return prepare_scene(site, reader(own), own, visitor())


@contextmanager
def lasting_scene(site: QuickstartSite, chromium: Browser) -> Iterator[PageScenario]:
    """A scene for all tests of the module. Its pages share the cache of a browser context."""
    own, friend = sign_up_visitor(site), sign_up_visitor(site)
    with open_context(chromium, own) as context:
        page = BrowserPage(context.new_page(), site.url)
        page.sign_in_as(own)
        yield prepare_scene(site, page, own, friend)


@pytest.fixture(scope="module")
def unchanged_scene(site: QuickstartSite, chromium: Browser) -> Iterator[PageScenario]:
    """A scene for pages that no test changes."""
    with lasting_scene(site, chromium) as scene:
        yield scene


@pytest.fixture(scope="module")
def staff_scene(site: QuickstartSite, chromium: Browser) -> Iterator[PageScenario]:
    """A scene whose reader becomes staff."""
    with lasting_scene(site, chromium) as scene:
        yield scene


@contextmanager
def open_page(lasting: PageScenario) -> Iterator[PageScenario]:
    """The scene with a new page, which must not complain."""
    with lasting.reader.context.new_page() as page:
        scene = replace(lasting, reader=BrowserPage(page, lasting.reader.url))
        yield scene
        assert not scene.reader.complaints, "\n".join(scene.reader.complaints)


def healthy(reader: BrowserPage, number: int | None = None) -> None:
    """Check the open page. A page with a number is checked by axe on one device, except at night."""
    axe_viewports = VIEWPORTS if number is None or os.environ.get("NIGHTLY") else [VIEWPORTS[number % 2]]
    complaints = find_page_problems(reader.page, axe_viewports)
    assert not complaints, "\n".join(complaints)


UNCHANGED = {
    "home": goes("/"),
    "home, an older page": goes("/?limit=2&before=9007199254740991"),
    "public": goes("/public/"),
    "own profile": goes("/@{own}/"),
    "profile": goes("/@{friend}/"),
    "followers": goes("/@{friend}/followers/"),
    "following": goes("/@{friend}/following/"),
    "who to follow": goes("/accounts/suggestions/"),
    "bookmarks, none": goes("/bookmarks/"),
    "tag, empty": goes("/tags/silence/"),
    "lists, empty": goes("/lists/"),
    "search": goes("/search/"),
    "search, nothing": goes("/search/?q=" + "x" * 300),
    "notifications, mentions, none": goes("/notifications/?tab=mentions"),
    "notifications, settings": goes("/accounts/notifications/"),
    "hashtags, none followed": goes("/tags/"),
    "blocked accounts, none": goes("/accounts/blocked/"),
    "requests, none": goes("/accounts/requests/"),
    "preferences": goes("/accounts/preferences/"),
    "settings": goes("/accounts/settings/"),
    "password": goes("/accounts/password/"),
    "mail": goes("/accounts/mail/"),
    "sessions": goes("/accounts/sessions/"),
    "security": goes("/accounts/security/"),
    "second factor, codes": goes("/accounts/factors/totp/"),
    "passkeys": goes("/accounts/passkeys/"),
    "confirmation": goes("/accounts/confirm/?next=/accounts/security/"),
    "archive": goes("/accounts/archive/"),
    "import": goes("/accounts/import/"),
    "consent": people.a_consent,
    "delete": goes("/accounts/delete/"),
    "log out": goes("/accounts/logout/"),
    "about": goes("/about/"),
    "settings, overview": goes("/accounts/"),
    "language and theme": goes("/display/"),
    "block": goes("/@{friend}/block/"),
    "decisions, none": goes("/accounts/sanctions/"),
    "lists with somebody": goes("/@{friend}/lists/"),
    "trending": goes("/tags/trending/"),
    "lists, refused title": fills("/lists/", title="t" * 51),
    "filters, refused": fills("/accounts/filters/", phrase=" "),
    "profile, menu": people.a_profile_with_its_menu,
    "home, keys": home.the_dialog_of_keys,
    "settings, errors": fills("/accounts/settings/", display_name="n" * 99, link="ftp://nowhere"),
    "password, errors": fills("/accounts/password/", old_password="x", new_password1="1"),
    "mail, refused address": fills("/accounts/mail/", address="nobody@nowhere"),
    "delete, wrong password": fills("/accounts/delete/", password="not this"),
    "reports, none": goes("/reports/"),
    "report, sent": goes("/reports/sent/"),
    "report": people.a_report_form,
}
"""Pages that are opened and change nothing, so that one scene serves all of them."""
STAFF = {
    "operations": goes_as_staff("/ops/"),
    "operations, statistics": goes_as_staff("/ops/statistics/?range=1h"),
    "operations, statistics of a week": goes_as_staff("/ops/statistics/?range=7d"),
    "operations, accounts": goes_as_staff("/ops/accounts/"),
    "operations, nobody found": goes_as_staff("/ops/accounts/?q=nobody_by_this"),
    "operations, account": goes_as_staff("/ops/accounts/{friend}/"),
    "operations, own account": goes_as_staff("/ops/accounts/{own}/"),
    "operations, new password": people.a_new_password,
    "operations, dead letters": goes_as_staff("/ops/deadletters/"),
    "operations, trail": goes_as_staff("/ops/trail/"),
    "operations, site": goes_as_staff("/ops/site/"),
    "operations, site, refused": staff.wrong_settings,
    "operations, announcements": staff.announcements,
    "operations, staff": goes_as_staff("/ops/staff/"),
    "operations, applications, none": goes_as_staff("/ops/applications/"),
    "operations, reports, none": goes_as_staff("/ops/reports/?show=mine"),
    "operations, invitations": goes_as_staff("/ops/invitations/{friend}/"),
    "operations, decision": goes_as_staff("/ops/accounts/{friend}/act/?kind=silence"),
}
"""Pages of staff, which one scene serves."""
SIGNED_IN = {
    "home, menu and pill": home.with_everything_open,
    "home, refused text": home.with_a_refused_text,
    "home, note": home.with_a_note,
    "home, new posts": home.with_new_posts_shown,
    "thread": posts.a_thread,
    "thread, gaps": posts.a_thread_with_gaps,
    "home, a place": home.with_a_place,
    "home, far behind": home.far_behind,
    "home, who to follow": home.with_suggestions,
    "home, reactions": home.with_reactions,
    "profile, boosts": posts.own_profile_with_boosts,
    "post, reactions": posts.a_post_with_reactions,
    "bookmarks": posts.bookmarks_with_some,
    "likes": posts.who_reacted("likes"),
    "boosts": posts.who_reacted("boosts"),
    "tag": posts.a_tag,
    "lists": lists.lists_with_one,
    "lists, to make one of": lists.lists_to_make_one_of,
    "lists, a made one refused": lists.a_made_list_that_refuses,
    "list": lists.a_list,
    "list, made of others": lists.a_made_list,
    "list, unknown member": lists.a_list_that_refuses,
    "public list": lists.a_public_list,
    "public list, its people": lists.people_of_a_public_list,
    "tabs of home": lists.tabs,
    "search, found": posts.a_search,
    "notifications": posts.notifications_of_all_kinds,
    "hashtags": posts.followed_hashtags,
    "profile, muted": people.kept_away("mute", "hide-boosts"),
    "profile, blocked": people.kept_away("block"),
    "profile, blocks you": people.blocked_by_a_friend,
    "profile, private": people.a_private_profile,
    "blocked accounts": people.lists_somebody("blocked", "block"),
    "muted accounts": people.lists_somebody("muted", "mute"),
    "requests": people.requests_to_answer,
    "filters": people.filters_with_some,
    "home, folded post": home.with_a_folded_post,
    "home, warned posts": home.with_warned_posts,
    "profile, pinned": posts.own_profile_with_a_pin,
    "redraft": posts.a_redraft,
    "operations, decision refused": people.a_form_of_a_decision,
    "operations, appeals": people.appeals_to_decide,
    "decisions": people.decisions_about_the_own_account,
    "import, preview": people.a_preview_of_an_import,
    "operations, alerts": goes_as_staff("/ops/alerts/"),
    "operations, trends": goes_as_staff("/ops/trends/"),
    "reports, own": people.own_reports,
    "operations, reports": people.the_queue_of_reports,
    "operations, report": people.a_report_that_staff_decides,
    "operations, applications": staff.applications_to_decide,
    "operations, held posts": staff.held_posts,
    "application": staff.an_application,
    "invitations": staff.invitations,
    "rules": staff.the_rules,
    "suspended": staff.a_suspended_account,
}
ANONYMOUS = {
    "welcome": goes("/"),
    "public, signed out": goes("/public/"),
    "profile": goes("/@{friend}/"),
    "followers, signed out": goes("/@{friend}/followers/"),
    "post": lambda scene: scene.reader.go_to(scene.post["url"]),
    "rules": goes("/rules/"),
    "privacy": goes("/privacy/"),
    "terms": goes("/terms/"),
    "sign up": goes("/accounts/signup/"),
    "sign up, errors": fills("/accounts/signup/", handle="No!", password1="1"),
    "log in": goes("/accounts/login/"),
    "forgotten password": goes("/accounts/reset/"),
    "forgotten password, requested": fills("/accounts/reset/", address="nobody@example.org"),
    "log in, wrong": fills("/accounts/login/", username="nobody", password="not this"),
}
REFUSALS = {
    "400, search": (400, goes("/search/?q=a+since:yesterday")),
    "400": (400, goes("/?before=x")),
    "404": (404, goes("/@nobody_by_this_name/")),
    "405": (405, goes("/posts/")),
    "422": (422, submits("/@{own}/follow/")),
}
REFUSALS_THAT_CHANGE = {
    "403": (403, people.csrf_refusal),
    "422, text": (422, fills("/", text="x" * 501)),
    "429": (429, people.too_many_follows),
    "429, text": (429, people.too_many_posts),
}
"""Refusals after which the cookies, the draft or the limits of the reader differ."""


IN_EVERY_RUN = {"home", "settings, errors", "operations", "thread", "sign up, errors", "404"}
"""The pages with most of the elements. `make nightly` checks all pages."""


def states(table: Iterable[str]) -> list[ParameterSet]:
    return [pytest.param(state, marks=[] if state in IN_EVERY_RUN else [pytest.mark.nightly]) for state in table]


@pytest.mark.parametrize("state", states(UNCHANGED))
def test_a_page_that_no_test_changes_is_healthy(unchanged_scene: PageScenario, state: str) -> None:
    with open_page(unchanged_scene) as scene:
        UNCHANGED[state](scene)
        healthy(scene.reader, list(UNCHANGED).index(state))


@pytest.mark.parametrize("state", states(STAFF))
def test_a_page_of_staff_is_healthy(staff_scene: PageScenario, state: str) -> None:
    with open_page(staff_scene) as scene:
        STAFF[state](scene)
        healthy(scene.reader, list(STAFF).index(state))


@pytest.mark.parametrize("state", states(SIGNED_IN))
def test_a_page_of_a_signed_in_reader_is_healthy(scene: PageScenario, state: str) -> None:
    SIGNED_IN[state](scene)
    healthy(scene.reader, list(SIGNED_IN).index(state))


@pytest.mark.parametrize("state", states(ANONYMOUS))
def test_each_state_of_a_page_of_a_visitor_is_healthy(
    unchanged_scene: PageScenario, reader: OpenReader, state: str
) -> None:
    scene = replace(unchanged_scene, reader=reader())
    ANONYMOUS[state](scene)
    healthy(scene.reader, list(ANONYMOUS).index(state))


@pytest.mark.parametrize("state", states(REFUSALS))
def test_the_page_of_a_refusal_is_healthy(unchanged_scene: PageScenario, state: str) -> None:
    with open_page(unchanged_scene) as scene:
        refuses(scene, *REFUSALS[state])
        healthy(scene.reader, list(REFUSALS).index(state))


@pytest.mark.parametrize("state", states(REFUSALS_THAT_CHANGE))
def test_the_page_of_a_refusal_that_changes_the_scene_is_healthy(scene: PageScenario, state: str) -> None:
    refuses(scene, *REFUSALS_THAT_CHANGE[state])
    healthy(scene.reader, list(REFUSALS_THAT_CHANGE).index(state))


def refuses(scene: PageScenario, status: int, act: Callable[[PageScenario], None]) -> None:
    answers: list[int] = []
    scene.reader.page.on(
        "response", lambda answer: answers.append(answer.status) if answer.request.is_navigation_request() else None
    )
    act(scene)
    assert answers[-1] == status


def test_the_home_of_a_new_account_is_healthy(reader: OpenReader, visitor: SignUpVisitor) -> None:
    me = reader(visitor())
    me.go_to("/")
    healthy(me)


def test_the_page_of_an_unreachable_store_is_healthy(scene: PageScenario) -> None:
    pid = scene.site.processes()["redis"]
    scene.reader.go_to("/")
    scene.reader.page.locator("[data-composer] textarea").fill("words in bad times")
    os.kill(pid, signal.SIGSTOP)
    try:
        with scene.reader.page.expect_navigation() as answer:
            scene.reader.page.locator("[data-composer]").evaluate("(form) => form.submit()")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert answer.value
    assert answer.value.status == 503
    expect(scene.reader.page.locator("textarea")).to_have_value("words in bad times")
    healthy(scene.reader)
    scene.reader.wait_for(lambda: scene.site.status() == 200)
    scene.reader.complaints = [text for text in scene.reader.complaints if "response code: 503" not in text]


def test_the_page_of_a_defect_is_healthy(scene: PageScenario) -> None:
    html = render_to_string("errors/500.html", {"site_name": "Socialsite"})
    scene.reader.page.route("**/defect/", lambda route: route.fulfill(status=500, content_type="text/html", body=html))
    scene.reader.go_to("/defect/")
    scene.reader.complaints = [text for text in scene.reader.complaints if "status of 500" not in text]
    healthy(scene.reader)


def test_browsers_parse_pages_without_moving_elements(scene: PageScenario, reader: OpenReader) -> None:
    """No tag is closed out of order, none is implied and no id is used twice, as a validator checks."""
    new = scene.own.post("/lists/", title="Good people").json()
    paths = [
        *("/", "/public/", "/lists/", f"/lists/{new['id']}/", scene.post["url"], "/@nobody_by_this_name/"),
        *(f"/@{scene.own.handle}/", f"/@{scene.friend.handle}/", f"/@{scene.friend.handle}/followers/"),
        *(f"/accounts/{name}/" for name in ("settings", "password", "sessions", "delete", "logout")),
    ]
    signed_in = [(path, scene.own.http.get(path).text) for path in paths]
    visitor = HttpVisitor(scene.site.url)
    public = [*paths[:3], *paths[4:9], "/accounts/signup/", "/accounts/login/"]
    anonymous = [(path, visitor.http.get(path).text) for path in public]
    fields = {"csrfmiddlewaretoken": visitor.http.cookies["csrftoken"], "password1": PASSWORD}
    wrong = visitor.http.post("/accounts/signup/", data={"handle": "No!", **fields}).text
    problems = [
        f"{path}: {problem}"
        for path, html in [*signed_in, *anonymous, ("refused", wrong)]
        for problem in markup_errors(scene.reader.page, html)
    ]
    assert not problems, "\n".join(problems)


def test_the_checks_of_this_file_find_faults(reader: OpenReader) -> None:
    page = reader().page
    html = "<!doctype html><title>x</title><p id=a><div id=a style='width: 2000px'><img src=''></p></div>"
    page.set_content(html)
    problems = "\n".join(find_page_problems(page))
    assert "320 dark: image-alt" in problems
    assert "1280 light: 2008 of 1280 pixels" in problems
    assert len(markup_errors(page, html)) == 4
