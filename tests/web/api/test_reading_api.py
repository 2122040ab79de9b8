"""Lists, quotes, search, hashtags, markers, reports and suggestions in the API."""

import pytest

from socialsite.clock import DAY_MS
from tests.web.api.conftest import OpenApi
from timelines.hashtags.trends import TrendService
from timelines.posts.post import FOLLOWERS, PostDetails


async def test_lists_are_made_filled_and_deleted(site, world, open_api: OpenApi) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for person in (bob, carol):
        await alice.follows(person)
    api, other = await open_api("alice"), await open_api("bob")
    made = (await api.post("/api/v1/lists", title="Friends", replies_policy="none", exclusive=True)).json()
    assert made == {"id": made["id"], "title": "Friends", "replies_policy": "none", "exclusive": True}
    url = f"/api/v1/lists/{made['id']}"
    added = await api.http.post(f"{url}/accounts", data={"account_ids[]": [str(bob.id), str(carol.id)]})
    assert added.status_code == 200
    first = await api.get(f"{url}/accounts", limit=1)
    assert [each["acct"] for each in first.json()] == ["carol"]
    second = await api.http.get(first.links["next"]["url"])
    assert [each["acct"] for each in second.json()] == ["bob"]
    assert (await api.get(f"/api/v1/accounts/{bob.id}/lists")).json() == [made]
    await api.http.request("DELETE", f"{url}/accounts", data={"account_ids[]": [str(bob.id)]})
    assert (await api.get(f"/api/v1/accounts/{bob.id}/lists")).json() == []
    edited = await api.http.put(url, data={"title": "Others", "exclusive": "False"})
    assert edited.json() == made | {"title": "Others", "exclusive": False}
    assert (await api.http.put(url, json={"replies_policy": "odd"})).status_code == 422
    for path in (url, f"{url}/accounts"):
        assert (await other.get(path)).status_code == 404
    assert (await other.http.delete(url)).status_code == 404
    assert (await api.http.delete(url)).json() == {}
    assert (await api.get("/api/v1/lists")).json() == []


async def test_a_list_takes_accounts_that_are_followed(site, world, open_api: OpenApi) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    await alice.follows(bob)
    await carol.locks()
    await alice.follows(carol)
    api = await open_api("alice")
    url = f"/api/v1/lists/{(await api.post('/api/v1/lists', title='Friends')).json()['id']}/accounts"
    refused = await api.post(url, account_ids=[str(bob.id), str(dave.id)])
    assert (refused.status_code, refused.json()) == (404, {"error": "Record not found"})
    assert (await api.get(url)).json() == []
    assert (await api.post(url, account_ids=[str(each.id) for each in (alice, bob, carol)])).json() == {}
    assert {each["acct"] for each in (await api.get(url)).json()} == {"alice", "bob", "carol"}


@pytest.mark.parametrize(
    ("method", "path", "name", "most"),
    [
        ("GET", "/api/v1/statuses", "id", 20),
        ("GET", "/api/v1/accounts", "id", 40),
        ("GET", "/api/v1/accounts/relationships", "id", 80),
        ("GET", "/api/v1/accounts/familiar_followers", "id", 40),
        ("POST", "/api/v1/lists/{list}/accounts", "account_ids", 80),
        ("DELETE", "/api/v1/lists/{list}/accounts", "account_ids", 80),
        ("POST", "/api/v1/reports", "status_ids", 50),
        ("POST", "/api/v1/reports", "rule_ids", 50),
    ],
)
async def test_more_ids_than_a_request_may_have_are_refused(
    world, open_api: OpenApi, method: str, path: str, name: str, most: int
) -> None:
    """An app takes posts and accounts that an answer leaves out for deleted ones (mastodon/mastodon#27871)."""
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    api = await open_api("alice")
    url = path.format(list=(await api.post("/api/v1/lists", title="Friends")).json()["id"])
    others = {"account_id": str(bob.id)} if url.endswith("reports") else {}
    ids = [str(id) for id in range(1, most + 2)]
    accepted = await api.http.request(method, url, json={name: [*ids[:-1], ids[0]], **others})
    refused = await api.http.request(method, url, json={name: ids, **others})
    assert accepted.status_code in (200, 404)  # a list takes only accounts that are followed
    assert (refused.status_code, list(refused.json()["details"])) == (422, [name])


async def test_a_hidden_quote_names_the_filter_or_mute_that_hides_it(world, open_api: OpenApi) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await bob.publishes("hello")
    quote = await carol.publishes("look", details=PostDetails(quote_of=post.id))
    secret = await bob.publishes("secret", audience=FOLLOWERS)
    quotes_secret = await bob.publishes("look", details=PostDetails(quote_of=secret.id))
    api = await open_api("alice")

    async def seen(of=quote) -> tuple[str, str | None]:
        data = (await api.get(f"/api/v1/statuses/{of.id}")).json()["quote"]
        return data["state"], data["quoted_status"] and data["quoted_status"]["id"]

    assert await seen() == ("accepted", str(post.id))
    assert await seen(quotes_secret) == ("unauthorized", None)
    await alice.mutes(bob)
    assert await seen() == ("muted_account", str(post.id))
    assert await seen(quotes_secret) == ("unauthorized", None)
    await alice.blocks(bob)
    assert await seen() == ("blocked_account", str(post.id))
    await bob.blocks(alice)
    assert await seen() == ("unauthorized", None)


async def test_a_quoted_post_names_the_post_that_it_quotes(site, world, open_api: OpenApi) -> None:
    """Mastodon's ShallowQuote, two levels deep only."""
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await alice.follows(carol)
    posts = [await bob.publishes("first")]
    for author in (alice, carol, bob):
        posts.append(await author.publishes("look", details=PostDetails(quote_of=posts[-1].id)))
    api, visitor = await open_api("alice"), await open_api()
    await site.reactions.boost(account_id=carol.id, post_id=posts[3].id, now_ms=site.clock.now_ms())
    await world.deliver_all()
    urls = [f"/api/v1/statuses/{each.id}" for each in posts]
    inner = {"state": "accepted", "quoted_status_id": str(posts[1].id)}
    for client in (visitor, api, api):
        quoted = (await client.get(urls[3])).json()["quote"]["quoted_status"]
        assert (quoted["id"], quoted["quote"]) == (str(posts[2].id), inner)
        quotes = [(await client.get(url)).json()["quote"] for url in urls[:3]]
        assert quotes[0] is quotes[1]["quoted_status"]["quote"] is None
        assert quotes[2]["quoted_status"]["quote"] == {"state": "accepted", "quoted_status_id": str(posts[0].id)}
    together = (await api.get("/api/v1/statuses?" + "&".join(f"id[]={each.id}" for each in posts))).json()
    assert next(each for each in together if each["id"] == str(posts[3].id))["quote"]["quoted_status"]["quote"] == inner
    (boost,) = [each for each in (await api.get("/api/v1/timelines/home")).json() if each["reblog"]]
    assert boost["reblog"]["quote"]["quoted_status"]["quote"] == inner
    await bob.edits(posts[3], "look here")
    shown = (await api.get(urls[3])).json()["quote"]
    assert [each["quote"] for each in (await api.get(f"{urls[3]}/history")).json()] == [shown, shown]
    await alice.deletes(posts[1])
    quoted = (await visitor.get(urls[3])).json()["quote"]["quoted_status"]
    assert quoted["quote"] == {"state": "deleted", "quoted_status_id": None}


async def test_a_search_finds_accounts_hashtags_posts_and_urls(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("the #weather is fine")
    await bob.locks()
    private = await bob.publishes("secret weather")
    await world.deliver_all()
    api = await open_api("alice")
    found = (await api.get("/api/v2/search", q="weather")).json()
    assert [each["id"] for each in found["statuses"]] == [str(post.id)]
    assert [each["name"] for each in found["hashtags"]] == ["weather"]
    only = (await api.get("/api/v2/search", q="ali", type="accounts")).json()
    assert ([each["acct"] for each in only["accounts"]], only["statuses"], only["hashtags"]) == (["alice"], [], [])
    for query in ("@alice@testserver", "http://testserver/@alice"):
        assert [each["acct"] for each in (await api.get("/api/v2/search", q=query)).json()["accounts"]] == ["alice"]
    assert (await api.get("/api/v2/search", q="@alice@elsewhere.example")).json()["accounts"] == []
    await alice.blocks(bob)
    blocked = (await api.get("/api/v2/search", q="bob", type="accounts")).json()["accounts"]
    assert [each["acct"] for each in blocked] == ["bob"]
    url = f"http://testserver/@alice/{post.id}"
    assert [each["id"] for each in (await api.get("/api/v2/search", q=url)).json()["statuses"]] == [str(post.id)]
    hidden = (await api.get("/api/v2/search", q=f"http://testserver/@bob/{private.id}")).json()
    assert hidden == {"accounts": [], "statuses": [], "hashtags": []}
    mine = (await api.get("/api/v2/search", q="from:me", type="statuses")).json()["statuses"]
    assert [each["id"] for each in mine] == [str(post.id)]
    assert (await api.get("/api/v2/search", q="")).json()["statuses"] == []
    for offset in (1, 61, 1_000):  # clients read on until a page is empty
        skipped = await api.get("/api/v2/search", q="ali", offset=offset)
        assert skipped.json() == {"accounts": [], "statuses": [], "hashtags": []}
        assert (await api.get("/api/v1/accounts/search", q="ali", offset=offset)).json() == []


async def test_hashtags_are_followed_and_listed(site, world, open_api: OpenApi) -> None:
    await world.person("alice")
    api = await open_api("alice")
    assert (await api.get("/api/v1/tags/Tea")).json()["following"] is False
    assert (await api.post("/api/v1/tags/Tea/follow")).json()["following"] is True
    (followed,) = (await api.get("/api/v1/followed_tags")).json()
    assert (followed["name"], followed["url"]) == ("tea", "http://testserver/tags/tea/")
    assert (await api.post("/api/v1/tags/tea/unfollow")).json()["following"] is False
    assert (await api.get("/api/v1/tags/no%20tag")).status_code == 404


async def test_markers_move_and_are_read(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("read until here")
    await bob.publishes("@alice hi")
    await world.deliver_all()
    api = await open_api("alice")
    assert (await api.get("/api/v1/markers", **{"timeline[]": ["home", "notifications"]})).json() == {}
    (notification,) = (await api.get("/api/v1/notifications")).json()
    moved = await api.post(
        "/api/v1/markers", home={"last_read_id": str(post.id)}, notifications={"last_read_id": notification["id"]}
    )
    found = (await api.get("/api/v1/markers", **{"timeline[]": ["home", "notifications"]})).json()
    assert found == moved.json()
    assert (found["home"]["last_read_id"], found["notifications"]["last_read_id"]) == (str(post.id), notification["id"])
    assert (await api.get("/api/v1/notifications/unread_count")).json() == {"count": 0}


async def test_a_report_is_stored_with_the_posts_of_its_target(site, world, open_api: OpenApi) -> None:
    _, bob, carol = await world.people("alice", "bob", "carol")
    posts = [await bob.publishes("rude"), await carol.publishes("not by bob")]
    api = await open_api("alice")
    made = await api.post(
        "/api/v1/reports",
        account_id=str(bob.id), comment="please look", category="spam", status_ids=[str(post.id) for post in posts],
    )  # fmt: skip
    assert made.json()["target_account"]["acct"] == "bob"
    assert made.json()["status_ids"] == [str(posts[0].id)]
    (stored,) = await site.repositories.reports.about(bob.id, 10)
    assert (stored.target_id, stored.comment, stored.category) == (bob.id, "please look", "spam")
    assert (await api.post("/api/v1/reports", account_id=str(bob.id), category="odd")).status_code == 422
    assert (await api.post("/api/v1/reports", account_id="999999")).status_code == 404


async def test_suggestions_directory_and_trends_name_public_accounts(site, world, open_api: OpenApi) -> None:
    _alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.locks()
    for person in (bob, carol):
        await person.publishes("here #news")
    await world.deliver_all()
    api = await open_api("alice")
    assert {each["account"]["acct"] for each in (await api.get("/api/v2/suggestions")).json()} == {"bob", "carol"}
    assert {each["acct"] for each in (await api.get("/api/v1/suggestions")).json()} == {"bob", "carol"}
    assert [each["acct"] for each in (await api.get("/api/v1/directory")).json()] == ["bob"]
    assert isinstance((await api.get("/api/v1/trends/tags")).json(), list)


async def test_a_trend_has_the_accounts_of_seven_days(site, world, open_api: OpenApi) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    await dave.publishes("#news")
    await world.deliver_all()
    service, today = site[TrendService], site.clock.now_ms() // DAY_MS
    for account, age in ((bob, 7), (alice, 6), (carol, 1), (alice, 0), (bob, 0)):
        await service.trends.count_uses(account.id, ["news"], (today - age) * DAY_MS)
    (trend,) = (await (await open_api("alice")).get("/api/v1/trends/tags")).json()
    assert [int(each["day"]) * 1000 // DAY_MS for each in trend["history"]] == list(range(today, today - 7, -1))
    assert [each["accounts"] for each in trend["history"]] == ["3", "1", "0", "0", "0", "0", "1"]


@pytest.mark.parametrize(
    "path", ["conversations", "domain_blocks", "endorsements", "featured_tags", "notifications/requests"]
)
async def test_unsupported_collections_are_empty_lists(site, world, open_api: OpenApi, path) -> None:
    await world.person("alice")
    assert (await (await open_api("alice")).get(f"/api/v1/{path}")).json() == []
    assert (await (await open_api()).get(f"/api/v1/{path}")).status_code == 401
