"""Strangers find a limited account only on its profile, and nobody finds a suspended account.

Every page, endpoint, feed, file and stream is read.

The addresses come from the URLconf, so that a new address is tested automatically. Alice was limited after others saw,
boosted, quoted, answered and listed her posts. Bob follows her, Carol does not.
"""

import re
from dataclasses import dataclass

import pytest

from accounts.profile_texts import ProfileField, encode_fields
from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import ApiClient, create_token
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.pictures import encode_all, picture, uploaded
from tests.support.routes import Route, api_routes, routes
from tests.support.world import World
from tests.web.conftest import OpenBrowser

CANARY = "canary"


@dataclass
class LimitedScenario:
    browsers: dict[str, HttpBrowser]
    clients: dict[str, ApiClient]
    ids: dict[str, str]
    file_path: str

    def path(self, route: Route, **ids: str) -> str:
        values = {**self.ids, **ids}
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: values.get(found[1], "7"), route.pattern)


@pytest.fixture
async def scenario(site: Services, open_browser: OpenBrowser, world: World) -> LimitedScenario:
    site.rules.clear()
    browsers = {name: await open_browser(name) for name in ("alice", "bob", "carol")}
    browsers["visitor"] = await open_browser()
    alice, bob, carol = (browsers[name] for name in ("alice", "bob", "carol"))
    assert (await bob.post_json("/@alice/follow/")).status_code == 200
    row = await site.media.upload(owner_id=AccountId(1), content=uploaded(picture()), alt=CANARY)
    await encode_all(site)
    question = await carol.publish("who has #tea?")
    post = await alice.publish(f"{CANARY} a cup of #tea", media_ids=[str(row.id)])
    await alice.publish(f"{CANARY} an answer", in_reply_to=question["id"])
    await alice.publish(f"@carol {CANARY} a mention")
    quote = await carol.publish("see this", quoted_status_id=post["id"])
    await alice.publish(f"{CANARY} a quote", quoted_status_id=question["id"])
    for browser in (bob, carol):
        await browser.post_json(f"/posts/{post['id']}/boost/")
    for path in (f"/posts/{post['id']}/like/", f"/posts/{post['id']}/bookmark/"):
        await carol.post_json(path)
    for name in ("like", "boost"):
        await alice.post_json(f"/posts/{question['id']}/{name}/")
    made = await carol.post_json("/lists/", title="mine")
    await carol.post_json(f"/lists/{made.json()['id']}/members/", handle="alice")
    await world.deliver_all()
    await site.accounts.restrict(AccountId(1), "limit", 1)
    ids = {
        "handle": "alice", "account_id": "1", "post_id": post["id"], "quote_id": quote["id"], "tag": "tea",
        "list_id": made.json()["id"], "name": row.name, "size": "full", "extension": "jpg", "stream": "x",
    }  # fmt: skip
    clients = {name: ApiClient(application, token=await create_token(site, name)) for name in ("alice", "bob", "carol")}
    clients["visitor"] = ApiClient(application)
    return LimitedScenario(browsers, clients, ids, f"/media/{row.name}/full.jpg")


def is_stream(route: Route) -> bool:
    return "streaming" in route.pattern and not route.pattern.endswith("health")


async def pages_with_the_canary(scenario: LimitedScenario, name: str) -> set[str]:
    """Return the addresses of pages and feeds whose answer contains a text of Alice, for her and for Carol's ids."""
    patterns = set()
    extra = [f"/search/?q={word}" for word in ("cup", "canary", "from%3Aalice")] + ["/?before=9007199254740000"]
    paths = {(route.pattern, scenario.path(route, handle=handle)) for route in routes() if "GET" in route.methods
             for handle in ("alice", "bob", "carol")}  # fmt: skip
    for pattern, path in [*sorted(paths), *((path, path) for path in extra)]:
        for headers in ({}, JSON_HEADERS):
            text = (await scenario.browsers[name].http.get(path, headers=headers)).text
            if CANARY in text.replace('value="canary"', "").replace("q=canary", "").replace("canary&quot;", ""):
                patterns.add(pattern)
    return patterns


async def endpoints_with_the_canary(scenario: LimitedScenario, name: str) -> set[str]:
    client = scenario.clients[name]
    names = {
        scenario.path(route, account_id=account_id): f"{route.pattern} of {account_id}"
        for route in api_routes()
        if "GET" in route.methods and not is_stream(route)
        for account_id in ("3", "2", "1")
    }
    found = {name for path, name in names.items() if CANARY in (await client.get(path)).text}
    for path in ("/api/v2/search?q=cup", "/api/v2/search?q=canary&type=statuses"):
        if '"content"' in (await client.get(path)).text:
            found.add(path)
    return found


async def test_strangers_find_no_text_of_a_limited_account(scenario: LimitedScenario) -> None:
    assert await pages_with_the_canary(scenario, "carol") - {"/search/?q=canary"} == set()
    assert await pages_with_the_canary(scenario, "visitor") - {"/search/?q=canary"} == set()
    assert await endpoints_with_the_canary(scenario, "carol") == set()
    assert await endpoints_with_the_canary(scenario, "visitor") == set()


async def test_a_text_of_a_suspended_account_is_found_nowhere(scenario: LimitedScenario, site: Services) -> None:
    """Its followers find no text either, also if the limit is undone meanwhile."""
    await site.accounts.restrict(AccountId(1), "limit", 0)
    fields = encode_fields([ProfileField(CANARY, CANARY)])
    await site.accounts.edit_profile(account_id=AccountId(1), display_name=CANARY, bio=CANARY, fields=fields)
    await site.accounts.suspend(account_id=AccountId(1))
    for name in ("carol", "bob", "visitor"):
        assert await pages_with_the_canary(scenario, name) - {"/search/?q=canary"} == set(), name
        assert await endpoints_with_the_canary(scenario, name) == set(), name
        assert (await scenario.browsers[name].get(scenario.file_path)).status_code == 404, name
    alice = scenario.clients["alice"]
    answers = {(await alice.get(route.path)).status_code for route in api_routes() if "/home" in route.pattern}
    assert answers == {401}, "its tokens are ended"


@pytest.mark.nightly
async def test_followers_and_the_account_see_its_posts(scenario: LimitedScenario) -> None:
    followed = await pages_with_the_canary(scenario, "bob")
    assert {"/", "/@<handle:handle>/", "/@<handle:handle>/<id:post_id>/"} <= followed
    assert {"/tags/<str:tag>/", "/@<handle:handle>/feed.atom"} & followed == set()
    own = await pages_with_the_canary(scenario, "alice")
    assert {"/", "/public/", "/tags/<str:tag>/", "/search/?q=cup", "/@<handle:handle>/"} <= own
    assert "/api/v1/timelines/home of 1" in await endpoints_with_the_canary(scenario, "bob")
    path = f"/api/v1/statuses/{scenario.ids['post_id']}"
    seen_as = {name: (await scenario.clients[name].get(path)).json()["visibility"] for name in ("alice", "bob")}
    assert seen_as == {"alice": "public", "bob": "private"}


async def test_strangers_do_not_hear_of_a_limited_account(scenario: LimitedScenario, site: Services) -> None:
    """No notification, suggestion, directory or autocomplete names it, and its picture is not served."""
    for name in ("carol", "visitor"):
        client, browser = scenario.clients[name], scenario.browsers[name]
        for path in ("/api/v1/notifications", "/api/v2/notifications", "/api/v2/suggestions", "/api/v1/directory"):
            assert '"alice"' not in (await client.get(path)).text, path
        for path in ("/accounts/suggestions/", "/search/complete/?q=ali", "/search/?q=ali", "/notifications/"):
            assert '"alice"' not in (await browser.get_json(path)).text, path
        assert (await browser.get(scenario.file_path)).status_code == 404
        profile = await browser.get("/@alice/")
        assert profile.status_code == 200
        assert "data-limited" in profile.text
    assert '"alice"' in (await scenario.browsers["bob"].get_json("/search/?q=ali")).text
    assert (await scenario.browsers["bob"].get(scenario.file_path)).status_code == 200
    assert (await scenario.clients["carol"].get("/api/v1/accounts/1")).json()["limited"] is True
    assert await site.notifications.unread(AccountId(3)) == 0


@pytest.mark.nightly
async def test_a_limit_ends_for_everybody_at_once(scenario: LimitedScenario, site: Services) -> None:
    await site.accounts.restrict(AccountId(1), "limit", 0)
    seen = await pages_with_the_canary(scenario, "carol")
    assert {"/public/", "/tags/<str:tag>/", "/notifications/", "/@<handle:handle>/feed.atom"} <= seen


async def test_marked_pictures_are_sensitive_everywhere(scenario: LimitedScenario, site: Services) -> None:
    await site.accounts.restrict(AccountId(1), "limit", 0)
    path = f"/@alice/{scenario.ids['post_id']}/"
    carol, post_path = scenario.browsers["carol"], f"/api/v1/statuses/{scenario.ids['post_id']}"
    before = await carol.get(path)
    assert "pictures-cover" not in before.text
    assert re.search(r'og:image" content="[^"]*full.jpg', before.text)
    await site.accounts.restrict(AccountId(1), "mark_pictures", 1)
    for address in (path, "/public/", "/@alice/", f"/@carol/{scenario.ids['quote_id']}/"):
        assert "pictures-cover" in (await carol.get(address)).text, address
    assert not re.search(r'og:image" content="[^"]*full.jpg', (await carol.get(path)).text)
    assert (await scenario.clients["carol"].get(post_path)).json()["sensitive"] is True
    assert '"sensitive":true' in (await carol.get_json(path)).text
    feed = (await carol.get("/@alice/feed.atom")).text
    assert "&lt;img" not in feed
    assert "enclosure" not in feed
    await site.accounts.restrict(AccountId(1), "mark_pictures", 0)
    assert "pictures-cover" not in (await carol.get(path)).text
