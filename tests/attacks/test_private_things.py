"""Only the owner reads or changes a private thing: every address is requested with Alice's ids.

The addresses come from the URLconf, so that a new address is tested automatically. Alice owns one of each thing,
marked by a word in its text. Bob follows her, Carol has no relation to her, Dave is blocked.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.pictures import encode_all, picture, uploaded
from tests.support.routes import Route, routes
from tests.support.world import World
from tests.web.conftest import OpenBrowser

OTHERS = ("bob", "carol", "dave", "anonymous")
NOBODYS = "8888888888888888"
"""An id that no post, list, filter or session has."""
OWN = {
    "list": "canarylist",
    "virtual list": "canaryvirtual",
    "filter": "canaryfilter",
    "draft": "canarydraft",
    "address": "canaryaddress@example.org",
    "report": "canaryreport",
    "note": "canarynote",
    "post": "canaryfollowers",
    "answer": "canaryanswer",
}
OF_FOLLOWERS = {OWN["post"], OWN["answer"]}
CHANGING = re.compile(
    r"/(accounts/(logout|signup|login|reset|mail/(confirm|unsubscribe))|ops/accounts/\d+/sessions/end)/"
)
FIELDS = {"title": "taken over", "phrase": "taken", "handle": "carol", "text": "taken", "comment": "taken"}
"""The fields of every form, so that only the missing right makes a request fail."""
OBJECTS = (
    "<id:list_id>",
    "<id:number>",
    "<id:post_id>",
    "<id:account_id>",
    "<id:draft_id>",
    "<id:report_id>",
    "<id:transfer_id>",
    "<id:media_id>",
    "<media_name:name>",
)


@dataclass
class PrivateDataScenario:
    people: dict[str, HttpBrowser]
    world: World
    ids: dict[str, str]

    def address(self, pattern: str, ids: dict[str, str] | None = None) -> str:
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: (ids or self.ids)[found[1]], pattern)

    async def what_alice_has(self) -> list[object]:
        """Everything that Alice owns, as she sees it, without fields that time or others change."""
        alice = self.people["alice"]
        answers: list[object] = [(await alice.get_json("/@bob/")).json()["viewer"]["note"]]
        for path in (
            "/lists/", f"/lists/{self.ids['list_id']}/", "/accounts/filters/", "/bookmarks/", "/tags/",
            "/drafts/", "/reports/", "/accounts/archive/", "/accounts/mail/", f"/media/{self.ids['media_id']}/",
            "/accounts/blocked/", "/accounts/muted/", "/accounts/settings/", "/accounts/requests/",
            "/accounts/notifications/", self.ids["post_path"], "/@alice/following/", "/@alice/followers/",
        ):  # fmt: skip
            answer = await alice.get_json(path)
            assert answer.status_code == 200, path
            answers.append(answer.json())
        sessions = (await alice.get_json("/accounts/sessions/")).json()
        return [*answers, re.findall(r"[0-9a-f]{32,}", str(sessions))]


@pytest.fixture
async def scene(site: Services, open_browser: OpenBrowser, world: World) -> PrivateDataScenario:
    people = {name: await open_browser(name) for name in ("alice", "bob", "carol", "dave")}
    people["anonymous"] = await open_browser()
    alice = people["alice"]
    for who, path in (("bob", "/@alice/follow/"), ("alice", "/@dave/block/"), ("alice", "/@carol/mute/")):
        assert (await people[who].post_json(path)).status_code == 200
    made = await alice.post_json("/lists/", title=OWN["list"])
    await alice.post_json(f"/lists/{made.json()['id']}/members/", handle="bob")
    other_list = await alice.post_json("/lists/", title="Others")
    parts = f"{made.json()['id']} {other_list.json()['id']}"
    virtual = await alice.post_json("/lists/", title=OWN["virtual list"], operation="union", parts=parts)
    phrase = await alice.post_json("/accounts/filters/", phrase=OWN["filter"])
    await alice.post_json("/@bob/note/", comment=OWN["note"])
    draft = await alice.post_json("/drafts/", text=OWN["draft"])
    archive = await alice.post_json("/accounts/archive/")
    await alice.post_json("/accounts/mail/", address=OWN["address"])
    row = await site.media.upload(owner_id=AccountId(1), content=uploaded(picture()))
    await encode_all(site)
    post = await alice.publish(f"{OWN['post']} #tea", audience="followers")
    await alice.publish(OWN["answer"], in_reply_to=post["id"])
    await alice.publish("#tea a quote that everybody sees", quoted_status_id=post["id"], audience="public")
    await alice.post_json(f"/posts/{post['id']}/bookmark/")
    await alice.post_json("/tags/tea/follow/")
    report = await alice.post_json("/reports/new/", account="2", category="spam", comment=OWN["report"])
    await world.deliver_all()
    assert virtual.status_code == phrase.status_code == 201, (virtual.text, phrase.text)
    number = (await alice.get_json("/accounts/filters/")).json()["filters"][0]["id"]
    ids = {
        "list_id": made.json()["id"], "virtual_id": virtual.json()["id"], "number": number, "handle": "alice",
        "post_id": post["id"], "account_id": "1", "tag": "tea", "post_path": post["url"],
        "draft_id": draft.json()["id"], "transfer_id": archive.json()["archive"]["id"],
        "report_id": report.json()["id"], "sanction_id": "7",
        "media_id": str(row.id), "name": row.name, "logo": row.name, "size": "small", "extension": "jpg",
        "code": f"1-{'A' * 22}", "colour": "0b57d0", "announcement_id": "7",
    }  # fmt: skip
    return PrivateDataScenario(people, world, ids)


def patterns() -> Iterator[tuple[str, Route]]:
    """Each route's pattern in the URLconf, and the route."""
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


async def test_no_page_of_others_contains_alices_private_things(scene: PrivateDataScenario) -> None:
    """Check every page in HTML and JSON; Alice herself sees each of her things on at least one page."""
    seen: dict[str, set[str]] = {name: set() for name in scene.people}
    both_lists = [scene.ids, {**scene.ids, "list_id": scene.ids["virtual_id"]}]
    paths = {scene.address(pattern, ids) for pattern in READABLE for ids in both_lists}
    paths |= {"/@bob/", *(f"/search/?q={word}" for word in OWN.values())}
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
async def test_the_id_of_anothers_thing_is_answered_like_an_unknown_id(scene: PrivateDataScenario, who: str) -> None:
    """Every method gets the same status and text for both ids, and nothing of Alice's changes.

    A filter deletion is excepted: filters are numbered per account, and deleting a missing filter succeeds.
    """
    browser, before = scene.people[who], await scene.what_alice_has()
    strangers = who != "bob"  # Alice lets Bob see the post
    kinds = [kind for kind in OBJECTS if strangers or kind != "<id:post_id>"]
    requests = 0
    for pattern, route in PATTERNS:
        if not any(kind in pattern for kind in kinds):
            continue
        absent = dict.fromkeys(
            ("list_id", "number", "post_id", "account_id", "draft_id", "media_id", "report_id"), NOBODYS
        )
        absent["name"] = f"8{scene.ids['name'][1:]}"
        for method in sorted(route.methods - {"HEAD"}):
            real = await ask(browser, method, scene.address(pattern))
            none = await ask(browser, method, scene.address(pattern, {**scene.ids, **absent}))
            assert (real.status_code, real.content) == (none.status_code, none.content), (method, pattern)
            assert real.status_code in (401, 404) or re.search("delete|discard", pattern), (method, pattern, real.text)
            requests += 1
    assert requests >= 10
    assert await scene.what_alice_has() == before


@pytest.mark.parametrize("who", OTHERS)
async def test_the_ids_of_anothers_things_in_fields_give_no_access(scene: PrivateDataScenario, who: str) -> None:
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
async def test_an_action_on_alice_never_acts_as_alice(scene: PrivateDataScenario, who: str) -> None:
    """Bob may follow or block Alice, but her own blocks, mutes, follows and acceptances stay as they are."""
    browser = scene.people[who]
    unchanged_part = slice(0, 9)  # without follow requests and followers, which others may change
    before = (await scene.what_alice_has())[unchanged_part]
    for pattern, route in PATTERNS:
        if "<handle:handle>" in pattern and "POST" in route.methods:
            for handle in ("alice", "dave", "carol", "bob"):
                answer = await ask(browser, "POST", scene.address(pattern, {**scene.ids, "handle": handle}))
                assert answer.status_code < 500
    await scene.world.deliver_all()
    assert (await scene.what_alice_has())[unchanged_part] == before


@pytest.mark.parametrize("who", [*OTHERS, "alice"])
async def test_pages_of_staff_are_404_for_everybody_else(scene: PrivateDataScenario, who: str) -> None:
    browser = scene.people[who]
    for pattern, route in PATTERNS:
        if pattern.startswith("/ops/"):
            for method in sorted(route.methods - {"HEAD"}):
                assert (await ask(browser, method, scene.address(pattern))).status_code == 404, (method, pattern)


async def test_a_visitor_is_sent_to_log_in_before_any_action(scene: PrivateDataScenario) -> None:
    """The answer does not depend on whether the named thing exists."""
    for pattern, route in PATTERNS:
        if "POST" in route.methods and not pattern.startswith(("/clicks/", "/display/", "/ops/")):
            for ids in (scene.ids, {**scene.ids, "handle": "nobody_here"}):
                answer = await ask(scene.people["anonymous"], "POST", scene.address(pattern, ids))
                assert answer.status_code == 401, (pattern, answer.text)


async def test_reading_pages_changes_nothing(scene: PrivateDataScenario) -> None:
    """GET and HEAD of every page leave all of Alice's things as they were."""
    before = await scene.what_alice_has()
    for pattern in READABLE:
        for method in ("GET", "HEAD"):
            await scene.people["alice"].http.request(method, scene.address(pattern))
    assert await scene.what_alice_has() == before
