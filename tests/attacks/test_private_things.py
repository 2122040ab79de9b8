"""What is one's own is nobody else's: every address with somebody's own ids in it, asked by all the others.

The addresses are those of the URLconf, so that a new one is asked without anybody's doing. Alice owns one of
each thing, marked by a word that stands in it. Bob follows her, Carol is nobody to her, Dave is blocked.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
import pytest_asyncio

from socialsite.container import Services
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.routes import Route, routes
from tests.support.world import World
from tests.web.conftest import OpenBrowser

OTHERS = ("bob", "carol", "dave", "anonymous")
NOBODYS = "8888888888888888"
"""An id of each kind that nothing has."""
OWN = {
    "list": "canarylist",
    "virtual list": "canaryvirtual",
    "filter": "canaryfilter",
    "post": "canaryfollowers",
    "answer": "canaryanswer",
}
OF_FOLLOWERS = {OWN["post"], OWN["answer"]}
CHANGING = re.compile(r"/(accounts/(logout|signup|login)|ops/accounts/\d+/sessions/end)/")
FIELDS = {"title": "taken over", "phrase": "taken", "handle": "carol", "text": "taken"}
"""What every form takes, so that nothing but the owner is in the way."""
OBJECTS = ("<id:list_id>", "<id:number>", "<id:post_id>", "<id:account_id>")


@dataclass
class PrivateDataScenario:
    people: dict[str, HttpBrowser]
    world: World
    ids: dict[str, str]

    def address(self, pattern: str, ids: dict[str, str] | None = None) -> str:
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: (ids or self.ids)[found[1]], pattern)

    async def what_alice_has(self) -> list[object]:
        """Everything of her own, as she sees it; not what time and others do to it."""
        alice = self.people["alice"]
        found: list[object] = []
        for path in (
            "/lists/", f"/lists/{self.ids['list_id']}/", "/accounts/filters/", "/bookmarks/", "/tags/",
            "/accounts/blocked/", "/accounts/muted/", "/accounts/settings/", "/accounts/requests/",
            "/accounts/notifications/", self.ids["post_path"], "/@alice/following/", "/@alice/followers/",
        ):  # fmt: skip
            answer = await alice.get_json(path)
            assert answer.status_code == 200, path
            found.append(answer.json())
        sessions = (await alice.get_json("/accounts/sessions/")).json()
        return [*found, re.findall(r"[0-9a-f]{32,}", str(sessions))]


@pytest_asyncio.fixture
async def scene(site: Services, open_browser: OpenBrowser, world: World) -> PrivateDataScenario:
    people = {name: await open_browser(name) for name in ("alice", "bob", "carol", "dave")}
    people["anonymous"] = await open_browser()
    alice = people["alice"]
    for who, path in (("bob", "/@alice/follow/"), ("alice", "/@dave/block/"), ("alice", "/@carol/mute/")):
        assert (await people[who].post_json(path)).status_code == 200
    made = await alice.post_json("/lists/", title=OWN["list"])
    await alice.post_json(f"/lists/{made.json()['id']}/members/", handle="bob")
    other = await alice.post_json("/lists/", title="Others")
    parts = f"{made.json()['id']} {other.json()['id']}"
    virtual = await alice.post_json("/lists/", title=OWN["virtual list"], operation="union", parts=parts)
    phrase = await alice.post_json("/accounts/filters/", phrase=OWN["filter"])
    post = await alice.publish(f"{OWN['post']} #tea", audience="followers")
    await alice.publish(OWN["answer"], in_reply_to=post["id"])
    await alice.post_json(f"/posts/{post['id']}/bookmark/")
    await alice.post_json("/tags/tea/follow/")
    await world.deliver_all()
    assert virtual.status_code == phrase.status_code == 201, (virtual.text, phrase.text)
    number = (await alice.get_json("/accounts/filters/")).json()["filters"][0]["id"]
    ids = {
        "list_id": made.json()["id"], "virtual_id": virtual.json()["id"], "number": number, "handle": "alice",
        "post_id": post["id"], "account_id": "1", "tag": "tea", "post_path": post["url"],
    }  # fmt: skip
    return PrivateDataScenario(people, world, ids)


def patterns() -> Iterator[tuple[str, Route]]:
    """Each route's address as it stands in the URLconf, and the route."""
    for route in routes():
        if not CHANGING.search(route.path):
            yield route.pattern, route


PATTERNS = list(patterns())
READABLE = [pattern for pattern, route in PATTERNS if "GET" in route.methods]


async def ask(browser: HttpBrowser, method: str, path: str, headers: dict[str, str] = JSON_HEADERS) -> httpx.Response:
    await browser.fetch_csrf_token()
    sent = {**headers, "X-CSRFToken": browser.csrf_token}
    fields = FIELDS if method == "POST" else None
    return await browser.http.request(method, path, json=fields, headers=sent)


async def test_no_page_of_others_holds_what_is_alices_own(scene: PrivateDataScenario) -> None:
    """Every page, in both shapes; and Alice herself sees each of her things on one of them at least."""
    seen: dict[str, set[str]] = {name: set() for name in scene.people}
    both_lists = [scene.ids, {**scene.ids, "list_id": scene.ids["virtual_id"]}]
    paths = {scene.address(pattern, ids) for pattern in READABLE for ids in both_lists}
    paths |= {f"/search/?q={word}" for word in OWN.values()}
    for name, browser in scene.people.items():
        for path in sorted(paths):
            for headers in ({}, JSON_HEADERS):
                text = (await browser.http.get(path, headers=headers)).text
                asked_for = path.partition("?q=")[2]
                seen[name] |= {word for word in OWN.values() if word in text and word != asked_for}
    assert seen.pop("alice") == set(OWN.values())
    assert seen.pop("bob") == OF_FOLLOWERS
    assert seen == {name: set() for name in seen}


@pytest.mark.parametrize("who", OTHERS)
async def test_an_id_of_anothers_thing_answers_as_one_of_nothing_does(scene: PrivateDataScenario, who: str) -> None:
    """Same status, same words, for every method: nobody learns what there is; and nothing of it changes.

    Deleting what is not there is a success of some (filters, which count up by account).
    """
    browser, before = scene.people[who], await scene.what_alice_has()
    strangers = who != "bob"  # whom she lets see the post
    kinds = [kind for kind in OBJECTS if strangers or kind != "<id:post_id>"]
    asked = 0
    for pattern, route in PATTERNS:
        if not any(kind in pattern for kind in kinds):
            continue
        absent = dict.fromkeys(("list_id", "number", "post_id", "account_id"), NOBODYS)
        for method in sorted(route.methods - {"HEAD"}):
            real = await ask(browser, method, scene.address(pattern))
            none = await ask(browser, method, scene.address(pattern, {**scene.ids, **absent}))
            assert (real.status_code, real.content) == (none.status_code, none.content), (method, pattern)
            assert real.status_code in (401, 404) or "delete" in pattern, (method, pattern, real.text)
            asked += 1
    assert asked >= 10
    assert await scene.what_alice_has() == before


@pytest.mark.parametrize("who", OTHERS)
async def test_ids_in_fields_open_nothing_either(scene: PrivateDataScenario, who: str) -> None:
    browser, alice, before = scene.people[who], scene.people["alice"], await scene.what_alice_has()
    sessions = (await alice.get_json("/accounts/sessions/")).json()
    session = re.findall(r"[0-9a-f]{32,}", str(sessions))[0]
    ids = scene.ids
    sent: list[tuple[str, dict[str, str], dict[str, str]]] = [
        ("/accounts/sessions/", {"session": session}, {"session": "f" * len(session)}),
        ("/positions/", {"timeline": f"list:{ids['list_id']}", "post": "7"},
         {"timeline": f"list:{NOBODYS}", "post": "7"}),
        ("/lists/", {"title": "T", "operation": "union", "parts": f"{ids['list_id']} {ids['virtual_id']}"},
         {"title": "T", "operation": "union", "parts": f"{NOBODYS} {int(NOBODYS) - 1}"}),
    ]  # fmt: skip
    if who != "bob":
        answer = {"text": "an answer", "in_reply_to": ids["post_id"]}
        sent.append(("/posts/", answer, {**answer, "in_reply_to": NOBODYS}))
    for path, real, none in sent:
        answers = [await browser.post_json(path, **fields) for fields in (real, none)]
        bodies = [each.text.replace(NOBODYS, ids["list_id"]) for each in answers]
        assert answers[0].status_code == answers[1].status_code, (path, bodies)
        assert bodies[0] == bodies[1], path
        assert who != "anonymous" or answers[0].status_code == 401, path
    assert await scene.what_alice_has() == before
    assert (await alice.get_json("/lists/")).status_code == 200


@pytest.mark.parametrize("who", OTHERS)
async def test_no_act_towards_alice_acts_as_alice(scene: PrivateDataScenario, who: str) -> None:
    """Bob may act towards her, never for her: whom she blocks, mutes, follows, lets in stays hers to say."""
    browser = scene.people[who]
    kept = slice(0, 8)  # all but who asks and who follows, which others may change
    before = (await scene.what_alice_has())[kept]
    for pattern, route in PATTERNS:
        if "<handle:handle>" in pattern and "POST" in route.methods:
            for handle in ("alice", "dave", "carol", "bob"):
                answer = await ask(browser, "POST", scene.address(pattern, {**scene.ids, "handle": handle}))
                assert answer.status_code < 500
    await scene.world.deliver_all()
    assert (await scene.what_alice_has())[kept] == before


@pytest.mark.parametrize("who", [*OTHERS, "alice"])
async def test_the_rooms_of_staff_are_not_there_for_anybody_else(scene: PrivateDataScenario, who: str) -> None:
    browser = scene.people[who]
    for pattern, route in PATTERNS:
        if pattern.startswith("/ops/"):
            for method in sorted(route.methods - {"HEAD"}):
                answer = await ask(browser, method, scene.address(pattern))
                assert answer.status_code == 404, (method, pattern)


async def test_a_stranger_without_a_session_is_asked_to_sign_in_before_any_act(
    scene: PrivateDataScenario,
) -> None:
    """Whether what they name exists or not: the answer is the same."""
    for pattern, route in PATTERNS:
        if "POST" in route.methods and not pattern.startswith(("/clicks/", "/ops/")):
            for ids in (scene.ids, {**scene.ids, "handle": "nobody_here"}):
                answer = await ask(scene.people["anonymous"], "POST", scene.address(pattern, ids))
                assert answer.status_code == 401, (pattern, answer.text)


async def test_looking_changes_nothing(scene: PrivateDataScenario) -> None:
    """Every page there is, by GET and HEAD, leaves all of hers as it was (and it was complete)."""
    before = await scene.what_alice_has()
    for pattern in READABLE:
        for method in ("GET", "HEAD"):
            await scene.people["alice"].http.request(method, scene.address(pattern))
    assert await scene.what_alice_has() == before
