"""The API shows nobody the private things of another account: every endpoint is requested with Alice's ids.

The addresses come from the URLconf, so that a new endpoint is tested automatically. Alice owns one of each thing.
Bob follows her, Carol has no relation to her, Dave is blocked.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import pytest

from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import ApiClient, create_token
from tests.support.pictures import encode_all, picture, uploaded
from tests.support.routes import Route, api_routes
from tests.support.world import World
from timelines.posts.post import FOLLOWERS

NOBODYS = "8888888888888888"
"""An id that nothing has."""
CANARY = "canary"
OWN_THINGS = ("<id:list_id>", "<id:draft_id>", "<id:media_id>", "<id:number>", "<id:group_id>", "<id:notification_id>")
OTHERS_IDS = ("post_id", "quote_id", "list_id", "draft_id", "media_id", "number", "group_id", "notification_id")
OPEN = ("/api/v1/apps", "/api/v1/accounts")
"""Addresses whose POST needs no scope."""
ROUTES = [route for route in api_routes() if route.path.startswith("/api/")]


@dataclass
class Scenario:
    clients: dict[str, ApiClient]
    ids: dict[str, str]

    def path(self, route: Route, **ids: str) -> str:
        values = {**self.ids, **ids}
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: values.get(found[1], "x"), route.pattern)


@pytest.fixture
async def scenario(site: Services, world: World) -> Scenario:
    alice, bob, _carol, dave = await world.people("alice", "bob", "carol", "dave")
    await bob.follows(alice)
    await alice.blocks(dave)
    clients = {}
    for name in ("alice", "bob", "carol", "dave"):
        clients[name] = ApiClient(application, token=await create_token(site, name))
    clients["visitor"] = ApiClient(application)
    post = await alice.publishes(f"{CANARY} #tea", audience=FOLLOWERS)
    account_list = await alice.makes_list(bob, title=CANARY)
    draft = await clients["alice"].post(
        "/api/v1/statuses", status=CANARY, scheduled_at=_in_an_hour(site), visibility="private"
    )
    row = await site.media.upload(owner_id=AccountId(alice.id), content=uploaded(picture()), alt=CANARY)
    await encode_all(site)
    await bob.publishes(f"@alice {CANARY}", audience=FOLLOWERS)
    await world.deliver_all()
    (notification,) = (await clients["alice"].get("/api/v1/notifications")).json()
    keyword_filter = await site.filters.add(account_id=AccountId(alice.id), phrase=CANARY)
    assert draft.status_code == 200, draft.text
    ids = {
        "post_id": str(post.id), "quote_id": str(post.id),
        "list_id": str(account_list.id), "draft_id": draft.json()["id"],
        "media_id": str(row.id), "account_id": str(alice.id), "tag": "tea",
        "number": str(keyword_filter.id), "group_id": str(keyword_filter.id), "notification_id": notification["id"],
        "key": f"ungrouped-{notification['id']}", "announcement_id": "7",
    }  # fmt: skip
    return Scenario(clients, ids)


def _in_an_hour(site: Services) -> str:
    return datetime.fromtimestamp(site.clock.now_ms() / 1000 + 3_600, UTC).isoformat()


async def ask(client: ApiClient, method: str, path: str) -> httpx.Response:
    return await client.http.request(method, path, json={"status": "taken", "title": "taken"})


async def test_no_answer_of_others_contains_alices_private_things(scenario: Scenario) -> None:
    """Alice herself sees them, and Bob sees the post, which is for followers."""
    for name, client in scenario.clients.items():
        seen = [
            route.pattern
            for route in ROUTES
            if "GET" in route.methods and CANARY in (await client.get(scenario.path(route))).text
        ]
        if name in ("carol", "dave", "visitor"):
            assert seen == [], name
        elif name == "bob":
            assert not any(kind in pattern for kind in OWN_THINGS for pattern in seen), seen
            assert seen
        else:
            assert sum(kind in pattern for kind in OWN_THINGS for pattern in seen) >= 2


@pytest.mark.parametrize("name", ["bob", "carol", "dave", "visitor"])
async def test_the_id_of_anothers_thing_is_answered_like_an_unknown_id(scenario: Scenario, name: str) -> None:
    client, alice, requests = scenario.clients[name], scenario.clients["alice"], 0
    kinds = OWN_THINGS if name == "bob" else (*OWN_THINGS, "<id:post_id>")
    for route in ROUTES:
        if not any(kind in route.pattern for kind in kinds):
            continue
        nobodys = dict.fromkeys(OTHERS_IDS, NOBODYS)
        for method in sorted(route.methods - {"HEAD"}):
            real = await ask(client, method, scenario.path(route))
            none = await ask(client, method, scenario.path(route, **nobodys))
            assert real.status_code in (401, 404), (method, route.pattern, real.text)
            assert (real.status_code, real.content) == (none.status_code, none.content), (method, route.pattern)
            requests += 1
    assert requests >= 7
    kept = await alice.get(f"/api/v1/statuses/{scenario.ids['post_id']}")
    assert (kept.status_code, kept.json()["favourites_count"], kept.json()["reblogs_count"]) == (200, 0, 0)
    assert (await alice.get(f"/api/v1/scheduled_statuses/{scenario.ids['draft_id']}")).status_code == 200
    assert (await alice.get(f"/api/v1/media/{scenario.ids['media_id']}")).status_code == 200


async def test_a_token_without_the_scope_reaches_nothing(scenario: Scenario, site: Services) -> None:
    """A token of `push` may call only what everybody may call."""
    push = ApiClient(application, token=await create_token(site, "alice", "push"))
    everything = scenario.clients["alice"]
    for route in ROUTES:
        for method in sorted(route.methods - {"HEAD"}):
            refused = await ask(push, method, scenario.path(route))
            if refused.status_code != 403:  # the endpoint needs no scope
                assert method == "GET" or "/push/" in route.pattern or route.pattern in OPEN, (
                    method,
                    route.pattern,
                    refused.text,
                )
                allowed = await ask(everything, method, scenario.path(route))
                assert allowed.status_code == refused.status_code, (method, route.pattern)
                assert CANARY not in refused.text, route.pattern


async def test_no_endpoint_fails_for_a_broken_token(scenario: Scenario) -> None:
    broken = ApiClient(application, token="1-" + "a" * 43)
    for route in ROUTES:
        for method in sorted(route.methods - {"HEAD"}):
            answer = await ask(broken, method, scenario.path(route))
            assert answer.status_code < 500, (method, route.pattern)
            assert CANARY not in answer.text
