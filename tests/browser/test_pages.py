"""Every page in every state: no barrier that axe finds, no sideways scrolling, no word in the console.

Each is looked at as a dark phone of 320 pixels and as a light laptop; EVERY_LOOK=1 adds the other two.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import expect

from tests.browser.conftest import NewVisitor, OpenReader, numbers
from tests.support.chromium import Reader
from tests.support.page_health import complaints_in_every_look, malformed
from tests.support.site import Site
from tests.support.visitor import PASSWORD, Answer, Visitor

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenfabrikantenversammlung" * 3
TEXTS = (
    "plain words, and a link to https://example.org/a/path?with=a&query=of#some-length",
    LONG_WORD,
    "two\n\nlines, and\nmore",
    "שלום, this goes both ways",
    "\N{GRINNING FACE}" * 60,
    "https://example.org/" + "x" * 300,
)
SUBMIT = (
    "(path) => { const form = document.getElementById('post-actions'); form.action = path; form.submit(); }"
)


@dataclass
class Scene:
    """A reader, signed in as `own`, who follows `friend`; everybody has said something."""

    site: Site
    reader: Reader
    own: Visitor
    friend: Visitor
    post: Answer


@pytest.fixture
def scene(site: Site, reader: OpenReader, visitor: NewVisitor) -> Scene:
    own, friend = visitor(), visitor()
    own.post(
        "/accounts/settings/", display_name="W" * 50, bio="b " * 200, link="https://example.org/" + "p" * 80
    )
    friend.post("/accounts/settings/", display_name="\u202eYllatot Ton", bio=LONG_WORD, link="")
    own.follows(friend.handle)
    friend.follows(own.handle)
    posts = [friend.publishes(text) for text in TEXTS]
    own.publishes("my own words")
    return Scene(site, reader(own), own, friend, posts[0])


def healthy(reader: Reader) -> None:
    complaints = complaints_in_every_look(reader.page)
    assert not complaints, "\n".join(complaints)


def goes(path: str) -> Callable[[Scene], None]:
    return lambda scene: scene.reader.goes(path.format(own=scene.own.handle, friend=scene.friend.handle))


def fills(path: str, **fields: str) -> Callable[[Scene], None]:
    """Sends the first form of a page with these values, past the browser's own checks."""

    def act(scene: Scene) -> None:
        page = scene.reader.page
        scene.reader.goes(path)
        for name, value in fields.items():
            page.locator(f"main [name={name}]").first.fill(value)
        with page.expect_navigation():
            page.locator("main form").first.evaluate("(form) => form.submit()")

    return act


def submits(path: str) -> Callable[[Scene], None]:
    def act(scene: Scene) -> None:
        scene.reader.goes("/public/")
        with scene.reader.page.expect_navigation():
            scene.reader.page.evaluate(SUBMIT, path.format(own=scene.own.handle, friend=scene.friend.handle))

    return act


def home_with_everything_open(scene: Scene) -> None:
    scene.reader.goes_live("/")
    scene.reader.page.locator("details.menu > summary").first.click()
    scene.friend.publishes("one more")
    expect(scene.reader.pill).to_be_visible()


def home_with_a_refused_text(scene: Scene) -> None:
    scene.reader.goes("/")
    scene.reader.publishes(" ")
    expect(scene.reader.page.locator("#composer-error")).to_be_visible()


def home_with_a_note(scene: Scene) -> None:
    scene.reader.goes("/")
    scene.reader.publishes("a note follows")
    expect(scene.reader.page.locator(".toast")).to_be_visible()


def home_with_new_posts_shown(scene: Scene) -> None:
    home_with_everything_open(scene)
    scene.reader.page.keyboard.press("Escape")
    scene.reader.pill.click()
    expect(scene.reader.page.locator("li.here")).to_be_visible()


def the_dialog_of_keys(scene: Scene) -> None:
    scene.reader.goes("/")
    scene.reader.page.keyboard.press("?")
    expect(scene.reader.page.locator("#shortcuts")).to_be_visible()


def a_thread(scene: Scene) -> None:
    answer = scene.own.publishes("an answer", in_reply_to=scene.post["id"])
    scene.friend.publishes("and one to that", in_reply_to=answer["id"])
    scene.reader.goes(answer["url"])


def a_thread_with_gaps(scene: Scene) -> None:
    """Deep, with a deleted branch, and more above than is shown."""
    posts = [scene.post]
    for number in range(24):
        posts.append(scene.own.publishes(f"{number} {LONG_WORD}", in_reply_to=posts[-1]["id"]))
    for post in (posts[20], posts[23]):
        scene.own.deletes(post)
    scene.own.publishes("another branch", in_reply_to=posts[22]["id"])
    scene.reader.goes(posts[22]["url"])
    expect(scene.reader.page.locator(".gone")).to_have_count(2)


def much_reacted_to(scene: Scene) -> None:
    """Everything pressed, with numbers that take room; the friend's entry comes as a boost, too."""
    stranger = scene.friend.publishes("said for followers alone", audience="followers")
    shown = scene.friend.get("/public/")["posts"][0]
    for post in (scene.post, shown, stranger):
        for act in ("like", "boost", "bookmark"):
            scene.own.post(f"/posts/{post['id']}/{act}/")
    with scene.site.redis() as client:
        client.set(f"posts:{{{scene.post['id']}}}:counts", "1234567 1234567 1234567")


def home_with_reactions(scene: Scene) -> None:
    much_reacted_to(scene)
    scene.reader.goes("/")
    expect(scene.reader.page.locator('[aria-pressed="true"]').first).to_be_visible()


def own_profile_with_boosts(scene: Scene) -> None:
    much_reacted_to(scene)
    scene.reader.goes(f"/@{scene.own.handle}/")
    expect(scene.reader.page.locator("[data-boost-of]").first).to_be_visible()


def a_post_with_reactions(scene: Scene) -> None:
    much_reacted_to(scene)
    scene.reader.goes(scene.post["url"])


def bookmarks_with_some(scene: Scene) -> None:
    much_reacted_to(scene)
    scene.reader.goes("/bookmarks/")


def who_reacted(kind: str) -> Callable[[Scene], None]:
    def act(scene: Scene) -> None:
        much_reacted_to(scene)
        scene.reader.goes(f"{scene.post['url']}{kind}/")

    return act


def a_tag(scene: Scene) -> None:
    tag = "w" * 100
    scene.friend.publishes(f"#{tag}")
    scene.reader.goes(f"/tags/{tag}/")


def a_search(scene: Scene) -> None:
    tag = f"{LONG_WORD[:80]}{scene.own.handle}"
    scene.friend.publishes(f"#{tag} is what {scene.own.handle} says: {LONG_WORD}")
    path = f"/search/?q=%23{tag}"
    scene.reader.until(lambda: bool(scene.own.get(path)["posts"]))
    scene.reader.goes(path)


def a_list(scene: Scene) -> None:
    answer = scene.own.post("/lists/", title=LONG_WORD[:50]).json()
    scene.own.post(f"/lists/{answer['id']}/members/", handle=scene.friend.handle)
    scene.reader.goes(f"/lists/{answer['id']}/")
    for summary in ("#manage > summary", ".confirm > summary"):
        scene.reader.page.locator(summary).click()


def lists_to_make_one_of(scene: Scene) -> None:
    for title in (LONG_WORD[:50], "Good people"):
        scene.own.post("/lists/", title=title)
    fills("/lists/", title="Neither of them")(scene)
    scene.reader.goes("/lists/")
    scene.reader.page.locator("details.panel > summary").first.click()


def a_made_list_that_refuses(scene: Scene) -> None:
    for title in ("One", "Two"):
        scene.own.post("/lists/", title=title)
    page = scene.reader.page
    scene.reader.goes("/lists/")
    page.locator("details.panel > summary").first.click()
    page.locator("#made-title").fill("Both")
    with page.expect_navigation():
        page.get_by_role("button", name="Create list").last.click()
    expect(page.locator(".error")).to_be_visible()


def a_made_list(scene: Scene) -> None:
    made = [scene.own.post("/lists/", title=title).json()["id"] for title in ("One", LONG_WORD[:50])]
    scene.own.post(f"/lists/{made[0]}/members/", handle=scene.friend.handle)
    both = scene.own.post("/lists/", title="Both", operation="union", parts=" ".join(made)).json()
    scene.own.post(f"/lists/{made[1]}/delete/")
    scene.reader.goes(f"/lists/{both['id']}/")
    scene.reader.page.locator("#manage > summary").click()


def home_with_a_place(scene: Scene) -> None:
    posts = scene.own.timeline("/")
    scene.own.post("/positions/", timeline="home", post=posts[2]["id"])
    scene.reader.goes("/")
    scene.reader.page.locator("details.panel > summary").click()
    expect(scene.reader.page.locator("li.here")).to_be_visible()


def home_far_behind(scene: Scene) -> None:
    posts = scene.own.timeline("/")
    scene.own.post("/positions/", timeline="home", post=posts[-1]["id"])
    scene.reader.goes("/?limit=2")


def home_with_suggestions(scene: Scene) -> None:
    with Visitor(scene.site.url, f"third{next(numbers)}") as third:
        third.sign_up()
    scene.friend.follows(third.handle)
    scene.reader.goes("/")
    expect(scene.reader.page.get_by_role("heading", name="Who to follow")).to_be_visible()


def a_list_that_refuses(scene: Scene) -> None:
    answer = scene.own.post("/lists/", title="Good people").json()
    fills(f"/lists/{answer['id']}/", handle="nobody_by_this_name")(scene)


def lists_with_one(scene: Scene) -> None:
    scene.own.post("/lists/", title=LONG_WORD[:50])
    scene.reader.goes("/lists/")


def notifications_of_all_kinds(scene: Scene) -> None:
    mine = scene.own.publishes(f"what is told of: {LONG_WORD}")
    scene.friend.publishes(f"@{scene.own.handle} {LONG_WORD}")
    scene.friend.publishes("an answer", in_reply_to=mine["id"])
    for action in ("like", "boost"):
        scene.friend.post(f"/posts/{mine['id']}/{action}/")
    scene.reader.until(lambda: len(scene.own.get("/notifications/")["notifications"]) == 5)
    scene.reader.goes("/notifications/")


def followed_hashtags(scene: Scene) -> None:
    tag = f"{LONG_WORD[:60]}{scene.own.handle}"
    scene.friend.publishes(f"#{tag} is what I follow")
    scene.own.post(f"/tags/{tag}/follow/")
    scene.reader.goes("/tags/")
    scene.reader.page.locator("details.panel > summary").first.click()


def a_profile_with_its_menu(scene: Scene) -> None:
    scene.reader.goes(f"/@{scene.friend.handle}/")
    scene.reader.page.locator(".relation-menu > summary").click()


def kept_away(*acts: str) -> Callable[[Scene], None]:
    """The friend's profile after these actions."""

    def act(scene: Scene) -> None:
        for each in acts:
            scene.own.post(f"/@{scene.friend.handle}/{each}/")
        scene.reader.goes(f"/@{scene.friend.handle}/")
        scene.reader.page.locator(".relation-menu > summary").click()

    return act


def blocked_by_a_friend(scene: Scene) -> None:
    scene.friend.post(f"/@{scene.own.handle}/block/")
    scene.reader.goes(f"/@{scene.friend.handle}/")


def a_private_profile(scene: Scene) -> None:
    scene.own.post(f"/@{scene.friend.handle}/unfollow/")
    scene.friend.post("/accounts/settings/", display_name="Private", private="1")
    scene.own.post(f"/@{scene.friend.handle}/follow/")
    scene.reader.goes(f"/@{scene.friend.handle}/")


def lists_somebody(kind: str, *acts: str) -> Callable[[Scene], None]:
    def act(scene: Scene) -> None:
        for each in acts:
            scene.own.post(f"/@{scene.friend.handle}/{each}/", duration="3600")
        scene.reader.goes(f"/accounts/{kind}/")

    return act


def requests_to_answer(scene: Scene) -> None:
    scene.own.post("/accounts/settings/", display_name="Private", private="1")
    scene.friend.post(f"/@{scene.own.handle}/unfollow/")
    scene.friend.follows(scene.own.handle)
    scene.reader.goes("/accounts/requests/")


def filters_with_some(scene: Scene) -> None:
    scene.own.post("/accounts/filters/", phrase="w" * 100, action="hide", expires_in="3600")
    scene.own.post("/accounts/filters/", phrase="two words")
    scene.reader.goes("/accounts/filters/")
    for summary in scene.reader.page.locator("details.panel > summary").all():
        summary.click()


def home_with_a_folded_post(scene: Scene) -> None:
    scene.friend.publishes("what nobody wants to read")
    scene.own.post("/accounts/filters/", phrase="nobody wants")
    scene.reader.until(lambda: "filtered" in scene.own.get("/")["posts"][0])
    scene.reader.goes("/")
    scene.reader.page.locator("[data-filtered] > summary").first.click()


def csrf_refusal(scene: Scene) -> None:
    scene.reader.goes("/")
    scene.reader.page.locator("#composer-text").fill("an old page")
    scene.reader.context.clear_cookies(name="csrftoken")
    with scene.reader.page.expect_navigation():
        scene.reader.page.locator("[data-composer]").evaluate("(form) => form.submit()")


def too_many_follows(scene: Scene) -> None:
    while scene.own.post(f"/@{scene.friend.handle}/follow/").status_code == 200:
        pass
    submits("/@{friend}/follow/")(scene)


def too_many_posts(scene: Scene) -> None:
    while scene.own.post("/posts/", text="words").status_code == 201:
        pass
    fills("/", text="words that are kept")(scene)


def goes_as_staff(path: str) -> Callable[[Scene], None]:
    """With everything that staff may find: a dead letter, a trail, posts on their way."""

    def act(scene: Scene) -> None:
        own, friend = (
            scene.own.get(f"/@{each.handle}/")["account"]["id"] for each in (scene.own, scene.friend)
        )
        with scene.site.redis() as client:
            client.hset(f"accounts:{{{own}}}:account", "staff", "1")
            client.xadd(
                "jobs:{outbox}:dead", {"payload": b"x", "reason": LONG_WORD, "tries": 5, "job": "1-1"}
            )
        scene.own.post(f"/ops/accounts/{friend}/sessions/end/")
        scene.reader.goes(path.format(friend=friend, own=own))
        for summary in scene.reader.page.locator(".ops details > summary").all():
            summary.click()

    return act


def a_new_password(scene: Scene) -> None:
    goes_as_staff("/ops/accounts/{friend}/")(scene)
    with scene.reader.page.expect_navigation():
        scene.reader.page.locator("form[action$='/password/'] button").click()


SIGNED_IN = {
    "home": goes("/"),
    "home, menu and pill": home_with_everything_open,
    "home, refused text": home_with_a_refused_text,
    "home, note": home_with_a_note,
    "home, new posts": home_with_new_posts_shown,
    "home, keys": the_dialog_of_keys,
    "home, an older page": goes("/?limit=2&before=9007199254740991"),
    "public": goes("/public/"),
    "own profile": goes("/@{own}/"),
    "profile": goes("/@{friend}/"),
    "followers": goes("/@{friend}/followers/"),
    "following": goes("/@{friend}/following/"),
    "thread": a_thread,
    "thread, gaps": a_thread_with_gaps,
    "home, a place": home_with_a_place,
    "home, far behind": home_far_behind,
    "home, who to follow": home_with_suggestions,
    "who to follow": goes("/accounts/suggestions/"),
    "home, reactions": home_with_reactions,
    "profile, boosts": own_profile_with_boosts,
    "post, reactions": a_post_with_reactions,
    "bookmarks": bookmarks_with_some,
    "bookmarks, none": goes("/bookmarks/"),
    "likes": who_reacted("likes"),
    "boosts": who_reacted("boosts"),
    "tag": a_tag,
    "tag, empty": goes("/tags/silence/"),
    "lists, empty": goes("/lists/"),
    "lists": lists_with_one,
    "lists, refused title": fills("/lists/", title="t" * 51),
    "lists, to make one of": lists_to_make_one_of,
    "lists, a made one refused": a_made_list_that_refuses,
    "list": a_list,
    "list, made of others": a_made_list,
    "list, unknown member": a_list_that_refuses,
    "search": goes("/search/"),
    "search, found": a_search,
    "search, nothing": goes("/search/?q=" + "x" * 300),
    "notifications": notifications_of_all_kinds,
    "notifications, mentions, none": goes("/notifications/?tab=mentions"),
    "notifications, settings": goes("/accounts/notifications/"),
    "hashtags, none followed": goes("/tags/"),
    "hashtags": followed_hashtags,
    "profile, menu": a_profile_with_its_menu,
    "profile, muted": kept_away("mute", "hide-boosts"),
    "profile, blocked": kept_away("block"),
    "profile, blocks you": blocked_by_a_friend,
    "profile, private": a_private_profile,
    "blocked accounts": lists_somebody("blocked", "block"),
    "blocked accounts, none": goes("/accounts/blocked/"),
    "muted accounts": lists_somebody("muted", "mute"),
    "requests": requests_to_answer,
    "requests, none": goes("/accounts/requests/"),
    "filters": filters_with_some,
    "filters, refused": fills("/accounts/filters/", phrase=" "),
    "home, folded post": home_with_a_folded_post,
    "settings": goes("/accounts/settings/"),
    "settings, errors": fills("/accounts/settings/", display_name="n" * 99, link="ftp://nowhere"),
    "password": goes("/accounts/password/"),
    "password, errors": fills("/accounts/password/", old_password="x", new_password1="1", new_password2="2"),
    "sessions": goes("/accounts/sessions/"),
    "delete": goes("/accounts/delete/"),
    "delete, wrong password": fills("/accounts/delete/", password="not this"),
    "log out": goes("/accounts/logout/"),
    "about": goes("/about/"),
    "operations": goes_as_staff("/ops/"),
    "operations, statistics": goes_as_staff("/ops/statistics/?range=7d"),
    "operations, accounts": goes_as_staff("/ops/accounts/"),
    "operations, nobody found": goes_as_staff("/ops/accounts/?q=nobody_by_this"),
    "operations, account": goes_as_staff("/ops/accounts/{friend}/"),
    "operations, own account": goes_as_staff("/ops/accounts/{own}/"),
    "operations, new password": a_new_password,
    "operations, dead letters": goes_as_staff("/ops/deadletters/"),
    "operations, trail": goes_as_staff("/ops/trail/"),
}
ANONYMOUS = {
    "welcome": goes("/"),
    "public": goes("/public/"),
    "profile": goes("/@{friend}/"),
    "followers": goes("/@{friend}/followers/"),
    "post": lambda scene: scene.reader.goes(scene.post["url"]),
    "sign up": goes("/accounts/signup/"),
    "sign up, errors": fills("/accounts/signup/", handle="No!", password1="1", password2="2"),
    "log in": goes("/accounts/login/"),
    "log in, wrong": fills("/accounts/login/", username="nobody", password="not this"),
}
REFUSALS = {
    "400, search": (400, goes("/search/?q=a+since:yesterday")),
    "400": (400, goes("/?before=x")),
    "403": (403, csrf_refusal),
    "404": (404, goes("/@nobody_by_this_name/")),
    "405": (405, goes("/posts/")),
    "422": (422, submits("/@{own}/follow/")),
    "422, text": (422, fills("/", text="x" * 501)),
    "429": (429, too_many_follows),
    "429, text": (429, too_many_posts),
}


@pytest.mark.parametrize("state", SIGNED_IN)
def test_a_page_of_somebody_signed_in(scene: Scene, state: str) -> None:
    SIGNED_IN[state](scene)
    healthy(scene.reader)


@pytest.mark.parametrize("state", ANONYMOUS)
def test_a_page_of_a_visitor(scene: Scene, reader: OpenReader, state: str) -> None:
    scene.reader = reader()
    ANONYMOUS[state](scene)
    healthy(scene.reader)


@pytest.mark.parametrize("state", REFUSALS)
def test_a_page_of_a_refusal(scene: Scene, state: str) -> None:
    status, act = REFUSALS[state]
    answers: list[int] = []
    scene.reader.page.on(
        "response",
        lambda answer: answers.append(answer.status) if answer.request.is_navigation_request() else None,
    )
    act(scene)
    assert answers[-1] == status
    healthy(scene.reader)


def test_the_home_of_somebody_new(reader: OpenReader, visitor: NewVisitor) -> None:
    me = reader(visitor())
    me.goes("/")
    healthy(me)


def test_the_page_while_the_store_is_away(scene: Scene) -> None:
    pid = scene.site.processes()["redis"]
    scene.reader.goes("/")
    scene.reader.page.locator("#composer-text").fill("words in bad times")
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
    scene.reader.until(lambda: scene.site.status() == 200)


def test_the_page_of_a_defect(scene: Scene) -> None:
    html = render_to_string("errors/500.html", {"site_name": "Socialsite"})
    scene.reader.page.route(
        "**/defect/", lambda route: route.fulfill(status=500, content_type="text/html", body=html)
    )
    scene.reader.goes("/defect/")
    scene.reader.complaints = [text for text in scene.reader.complaints if "status of 500" not in text]
    healthy(scene.reader)


def test_the_markup_of_pages_is_what_browsers_build_from_it(scene: Scene, reader: OpenReader) -> None:
    """No tag is closed out of order, none is guessed, no id stands twice: as a validator would say."""
    new = scene.own.post("/lists/", title="Good people").json()
    paths = [
        *("/", "/public/", "/lists/", f"/lists/{new['id']}/", scene.post["url"], "/@nobody_by_this_name/"),
        *(f"/@{scene.own.handle}/", f"/@{scene.friend.handle}/", f"/@{scene.friend.handle}/followers/"),
        *(f"/accounts/{name}/" for name in ("settings", "password", "sessions", "delete", "logout")),
    ]
    signed_in = [(path, scene.own.http.get(path).text) for path in paths]
    visitor = Visitor(scene.site.url)
    public = [*paths[:3], *paths[4:9], "/accounts/signup/", "/accounts/login/"]
    anonymous = [(path, visitor.http.get(path).text) for path in public]
    fields = {"csrfmiddlewaretoken": visitor.http.cookies["csrftoken"], "password1": PASSWORD}
    wrong = visitor.http.post("/accounts/signup/", data={"handle": "No!", **fields}).text
    problems = [
        f"{path}: {problem}"
        for path, html in [*signed_in, *anonymous, ("refused", wrong)]
        for problem in malformed(scene.reader.page, html)
    ]
    assert not problems, "\n".join(problems)


def test_the_checks_of_this_file_see_what_is_wrong(reader: OpenReader) -> None:
    page = reader().page
    html = "<!doctype html><title>x</title><p id=a><div id=a style='width: 2000px'><img src=''></p></div>"
    page.set_content(html)
    found = "\n".join(complaints_in_every_look(page))
    assert "320 dark: image-alt" in found
    assert "1280 light: 2008 of 1280 pixels" in found
    assert len(malformed(page, html)) == 4
