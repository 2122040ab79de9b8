"""Notifications, lists, filters, search, hashtags, markers and reports in the API."""

import httpx
import pytest

from socialsite.ids import MAX_ID, PostId, id_at
from tests.support.world import Person
from tests.web.api.conftest import OpenApi
from timelines.api.entities.notification import GROUP_MS
from timelines.notifications.notification import Notification
from timelines.posts.post import FOLLOWERS, PostDetails


async def test_notifications_are_single_grouped_and_dismissed(site, world, open_api: OpenApi) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await alice.publishes("hello")
    for other in (bob, carol):
        await site.reactions.like(account_id=other.id, post_id=post.id, now_ms=site.clock.now_ms())
    await bob.publishes("@alice hi")
    await world.deliver_all()
    api = await open_api("alice")
    found = (await api.get("/api/v1/notifications")).json()
    assert [(each["type"], each["account"]["acct"]) for each in found] == [
        ("mention", "bob"), ("favourite", "carol"), ("favourite", "bob"),
    ]  # fmt: skip
    assert found[1]["status"]["id"] == str(post.id)
    assert found[1]["group_key"] == found[2]["group_key"]
    page = await api.get("/api/v1/notifications", limit=1, **{"types[]": "favourite"})
    assert [each["account"]["acct"] for each in page.json()] == ["carol"]
    assert f'max_id={page.json()[0]["id"]}>; rel="next"' in page.headers["Link"]
    above = await api.get("/api/v1/notifications", limit=1, min_id=found[2]["id"])
    assert [each["id"] for each in above.json()] == [found[1]["id"]]
    none = await api.get("/api/v1/notifications", **{"exclude_types[]": ["favourite", "mention"]})
    assert none.json() == []
    assert "Link" not in none.headers
    groups = (await api.get("/api/v2/notifications")).json()
    assert [(each["type"], each["notifications_count"]) for each in groups["notification_groups"]] == [
        ("mention", 1), ("favourite", 2),
    ]  # fmt: skip
    assert {each["acct"] for each in groups["accounts"]} == {"bob", "carol"}
    key = groups["notification_groups"][1]["group_key"]
    assert (await api.get(f"/api/v2/notifications/{key}")).json()["notification_groups"][0]["group_key"] == key
    assert [each["acct"] for each in (await api.get(f"/api/v2/notifications/{key}/accounts")).json()] == [
        "carol",
        "bob",
    ]
    assert (await api.get("/api/v1/notifications/unread_count")).json() == {"count": 3}
    assert (await api.post(f"/api/v2/notifications/{key}/dismiss")).json() == {}
    assert (await api.get(f"/api/v2/notifications/{key}")).status_code == 404
    assert [each["id"] for each in (await api.get("/api/v1/notifications")).json()] == [found[0]["id"]]
    assert (await api.get(f"/api/v1/notifications/{found[0]['id']}")).json() == found[0]
    other = await open_api("bob")
    assert (await other.get(f"/api/v1/notifications/{found[0]['id']}")).status_code == 404
    await api.post("/api/v1/notifications/clear")
    assert (await api.get("/api/v1/notifications")).json() == []


async def test_a_group_is_on_one_page_with_all_of_its_notifications(site, world, open_api: OpenApi) -> None:
    alice, *others = await world.people("alice", *(f"fan_{number}" for number in range(90)))
    first, second = [await alice.publishes(text) for text in ("first", "second")]
    start_ms = (site.clock.now_ms() // GROUP_MS - 2) * GROUP_MS
    likes = [(number, person, first) for number, person in enumerate(others[:2])]
    likes += [(GROUP_MS + 2 * number, person, first) for number, person in enumerate(others[2:])]
    likes += [(GROUP_MS + 1 + 2 * number, person, second) for number, person in enumerate(others[:3])]
    ids: dict[tuple[PostId, bool], list[int]] = {}
    for delay_ms, person, post in sorted(likes, key=lambda like: like[0]):  # an id is higher than all earlier ones
        await site.reactions.like(account_id=person.id, post_id=post.id, now_ms=site.clock.now_ms())
        await site.notifications.delete(alice.id, [(await site.notifications.page(alice.id)).entries[0].id])
        like = Notification(id_at(start_ms + delay_ms), "like", person.id, post.id)
        await site.notifications.notifications.add(alice.id, like)
        ids.setdefault((post.id, delay_ms < GROUP_MS), []).append(like.id)
    newer, between, earlier = ids[first.id, False], ids[second.id, False], ids[first.id, True]
    api, path = await open_api("alice"), "/api/v2/notifications"
    expected = [(str(first.id), 88, max(newer)), (str(second.id), 3, max(between)), (str(first.id), 2, max(earlier))]

    def read(response: httpx.Response) -> list[tuple[str, int, int]]:
        groups = response.json()["notification_groups"]
        return [
            (each["status_id"], each["notifications_count"], each["most_recent_notification_id"]) for each in groups
        ]

    whole = await api.get(path)
    assert read(whole) == expected
    assert [each["page_min_id"] for each in whole.json()["notification_groups"]] == [
        str(min(ids)) for ids in (newer, between, earlier)
    ]
    page, pages = await api.get(path, limit=2), list[tuple[str, int, int]]()
    assert page.json()["notification_groups"][0]["page_min_id"] > str(max(between))  # clients page by it, too
    while groups := read(page):
        pages += groups
        page = await api.http.get(page.links["next"]["url"])
    assert pages == expected
    assert read(await api.get(path, since_id=newer[-2])) == expected[:1]
    assert read(await api.get(path, since_id=newer[-1])) == []
    assert read(await api.get(path, min_id=earlier[-1], limit=1)) == expected[1:2]
    key = whole.json()["notification_groups"][0]["group_key"]
    assert len((await api.get(f"{path}/{key}/accounts")).json()) == 88
    fan, mentions = {"account_id": str(others[0].id)}, {"types[]": "mention"}
    for version, fields, count in (
        ("v1", {}, 93), ("v1", {"limit": 5}, 5), ("v1", mentions, 0), ("v1", fan, 2),
        ("v2", {}, 3), ("v2", {"limit": 2}, 2), ("v2", mentions, 0), ("v2", fan, 2),
        ("v2", {"grouped_types[]": "follow"}, 93), ("v2", {"exclude_types[]": "favourite"}, 0),
    ):  # fmt: skip
        unread = await api.get(f"/api/{version}/notifications/unread_count", **fields)
        assert unread.json() == {"count": count}, (version, fields)


async def test_the_policy_drops_notifications_of_accounts_that_are_not_followed(site, world, open_api: OpenApi) -> None:
    _alice, bob = await world.people("alice", "bob")
    api = await open_api("alice")
    assert (await api.get("/api/v2/notifications/policy")).json()["for_not_following"] == "accept"
    dropped = await api.http.patch("/api/v2/notifications/policy", json={"for_not_following": "drop"})
    assert dropped.json()["for_not_following"] == "drop"
    refused = await api.http.patch("/api/v2/notifications/policy", json={"for_new_accounts": "filter"})
    assert refused.status_code == 422
    await bob.publishes("@alice unwanted")
    await world.deliver_all()
    assert (await api.get("/api/v1/notifications")).json() == []


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


async def test_a_filter_has_keywords_contexts_and_an_end(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    api = await open_api("alice")
    made = await api.post(
        "/api/v2/filters",
        title="Noise",
        context=["home"],
        filter_action="warn",
        expires_in=3600,
        keywords_attributes=[{"keyword": "spam", "whole_word": True}, {"keyword": "egg", "whole_word": False}],
    )
    stored = made.json()
    assert (stored["title"], stored["context"], stored["filter_action"]) == ("Noise", ["home"], "warn")
    assert [(each["keyword"], each["whole_word"]) for each in stored["keywords"]] == [("spam", True), ("egg", False)]
    assert stored["expires_at"] is not None
    assert stored["statuses"] == []
    assert (await api.get("/api/v2/filters")).json() == [stored]
    post = await bob.publishes("many eggs")
    await world.deliver_all()
    (status,) = (await api.get("/api/v1/timelines/home")).json()
    (result,) = status["filtered"]
    assert (result["filter"]["id"], result["keyword_matches"]) == (stored["id"], ["egg"])
    (status,) = (await api.get("/api/v1/timelines/public")).json()
    assert (status["id"], status["filtered"]) == (str(post.id), [result]), "the client compares the contexts"


@pytest.mark.parametrize("action", ["warn", "hide"])
@pytest.mark.parametrize("context", ["home", "thread", "notifications", "account"])
async def test_a_post_has_the_same_filters_at_every_address(site, world, open_api: OpenApi, context, action) -> None:
    """A client puts the answer of an action in the place of the post, which must not uncover it."""
    _alice, bob, carol = await world.people("alice", "bob", "carol")
    api = await open_api("alice")
    for title, words in (("Animals", ["tiger", "soup", "lion"]), ("Food", ["soup"])):
        keywords = [{"keyword": word} for word in words]
        fields = {"title": title, "context": [context], "filter_action": action, "keywords_attributes": keywords}
        await api.post("/api/v2/filters", **fields)
    post = await bob.publishes("tiger soup")
    quote = await carol.publishes("look", details=PostDetails(quote_of=post.id))
    await world.deliver_all()
    url = f"/api/v1/statuses/{post.id}"
    actions = ("favourite", "bookmark", "mute", "reblog", "unmute", "unreblog")
    statuses = [(await api.post(f"{url}/{name}")).json() for name in actions]
    statuses += [statuses[3]["reblog"], (await api.get(url)).json()]
    lists = f"/api/v1/statuses?id[]={post.id}", "/api/v1/bookmarks", "/api/v1/favourites", "/api/v1/timelines/public"
    for path in lists:
        statuses += [each for each in (await api.get(path)).json() if each["id"] == str(post.id)]
    seen = (await api.get(f"/api/v1/statuses/{quote.id}")).json()["quote"]
    assert seen["state"] == "accepted"
    statuses.append(seen["quoted_status"])
    assert len(statuses) == 13
    for status in statuses:
        found = {each["filter"]["title"]: each["keyword_matches"] for each in status["filtered"]}
        assert found == {"Animals": ["tiger", "soup"], "Food": ["soup"]}, status
        assert {each["filter"]["filter_action"] for each in status["filtered"]} == {action}


async def test_boosters_and_quoters_hear_of_edits(site, world, open_api: OpenApi) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await alice.publishes("first")
    now_ms = site.clock.now_ms()
    for booster in (alice, bob):
        await site.reactions.boost(account_id=booster.id, post_id=post.id, now_ms=now_ms)
    quotes = [await person.publishes("look", details=PostDetails(quote_of=post.id)) for person in (carol, alice)]
    await world.deliver_all()
    clients = [await open_api(person.handle) for person in (alice, bob, carol)]

    async def heard() -> list[list[tuple[str, str, str]]]:
        found = [(await client.get("/api/v1/notifications")).json() for client in clients]
        return [
            [(each["type"], each["account"]["acct"], each["status"]["id"]) for each in page if "update" in each["type"]]
            for page in found
        ]

    expected = [[], [("update", "alice", str(post.id))], [("quoted_update", "alice", str(quotes[0].id))]]
    for text in ("second", "third"):
        await alice.edits(post, text)
        await world.deliver_all()
        assert await heard() == expected
        unread = "/api/v1/notifications/unread_count"
        assert [(await client.get(unread)).json()["count"] for client in clients[1:]] == [1, 1]
        for person in (bob, carol):
            await site.notifications.mark_read(person.id, PostId(MAX_ID))
    policy = await clients[0].http.put(
        f"/api/v1/statuses/{post.id}/interaction_policy", json={"quote_approval_policy": "nobody"}
    )
    assert policy.status_code == 200
    await site.edits.set_fold(post.id, is_folded=True, warning="by staff", now_ms=site.clock.now_ms())
    await world.deliver_all()
    assert [(await client.get(unread)).json()["count"] for client in clients[1:]] == [0, 0]
    await site.reactions.unboost(account_id=bob.id, post_id=post.id)
    assert await heard() == [[], [], expected[2]]


async def test_a_quote_says_why_the_reader_does_not_want_to_see_it(world, open_api: OpenApi) -> None:
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


async def test_a_filter_is_edited_by_its_owner_only(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    await bob.publishes("many eggs")
    await world.deliver_all()
    api, other = await open_api("alice"), await open_api("bob")
    keywords = [{"keyword": "spam", "whole_word": True}, {"keyword": "egg", "whole_word": False}]
    made = await api.post(
        "/api/v2/filters", title="Noise", context=["home"], expires_in=3600, keywords_attributes=keywords
    )
    stored = made.json()
    url = f"/api/v2/filters/{stored['id']}"
    edited = await api.http.put(
        url,
        data={
            "title": "More noise",
            "filter_action": "hide",
            "keywords_attributes[0][id]": stored["keywords"][0]["id"],
            "keywords_attributes[0][_destroy]": "true",
            "keywords_attributes[1][keyword]": "bacon",
        },
    )
    assert [each["keyword"] for each in edited.json()["keywords"]] == ["egg", "bacon"]
    assert edited.json()["context"] == ["home"]
    assert edited.json()["expires_at"] == stored["expires_at"]
    assert (await api.get("/api/v1/timelines/home")).json() == []
    keyword = (await api.post(f"{url}/keywords", keyword="tofu", whole_word=True)).json()
    keyword_url = f"/api/v2/filters/keywords/{keyword['id']}"
    assert (await api.http.put(keyword_url, json={"keyword": "seitan"})).json() == keyword | {"keyword": "seitan"}
    assert len((await api.get(f"{url}/keywords")).json()) == 3
    assert (await api.http.delete(keyword_url)).json() == {}
    for path in (url, f"{url}/keywords", keyword_url, f"/api/v1/filters/{stored['keywords'][1]['id']}"):
        assert (await other.get(path)).status_code == 404
    assert (await api.post("/api/v2/filters", title="x", context=["moon"])).status_code == 422
    assert (await api.http.delete(url)).json() == {}
    assert (await api.get("/api/v2/filters")).json() == (await api.get("/api/v1/filters")).json() == []


async def test_a_filter_hides_a_single_post_and_its_boosts(site, world, open_api: OpenApi, alice) -> None:
    bob, carol = await world.people("bob", "carol")
    await Person(site, await site.accounts.get_by_handle("alice")).follows(carol)
    post, secret = await bob.publishes("many eggs"), await bob.publishes("hidden", audience=FOLLOWERS)
    await site.reactions.boost(account_id=carol.id, post_id=post.id, now_ms=site.clock.now_ms())
    await world.deliver_all()
    api, other = await open_api("alice"), await open_api("bob")
    keywords = [{"keyword": "spam"}]
    made = (await api.post("/api/v2/filters", title="", context=["home"], keywords_attributes=keywords)).json()
    url = f"/api/v2/filters/{made['id']}"
    added = (await api.post(f"{url}/statuses", status_id=str(post.id))).json()
    assert added["status_id"] == str(post.id)
    assert (await api.post(f"{url}/statuses", status_id=str(post.id))).json() == added, "no second filter of the post"
    for refused, status in ((str(secret.id), 404), ("x", 422), ("", 422)):
        assert (await api.post(f"{url}/statuses", status_id=refused)).status_code == status
    assert (await other.post(f"{url}/statuses", status_id=str(post.id))).status_code == 404
    (boost,) = (await api.get("/api/v1/timelines/home")).json()
    (result,) = boost["filtered"]
    assert (result["filter"]["id"], result["keyword_matches"], result["status_matches"]) == (
        made["id"], None, [str(post.id)],
    )  # fmt: skip
    stored = (await api.get(url)).json()
    assert ([each["keyword"] for each in stored["keywords"]], stored["statuses"]) == (["spam"], [added])
    status_url = f"/api/v2/filters/statuses/{added['id']}"
    assert (await api.get(status_url)).json() == added
    assert (await api.get(f"{url}/statuses")).json() == [added]
    assert (await api.get(f"/api/v2/filters/keywords/{added['id']}")).status_code == 404
    assert len((await api.get("/api/v1/filters")).json()) == 1
    assert (await api.http.put(url, json={"filter_action": "hide", "title": "Eggs"})).json()["statuses"] == [added]
    assert (await api.get("/api/v1/timelines/home")).json() == []
    assert f'href="/@bob/{post.id}/"' in (await alice.get("/accounts/filters/")).text
    assert (await api.http.delete(status_url)).json() == {}
    assert (await api.get(status_url)).status_code == 404
    assert len((await api.get("/api/v1/timelines/home")).json()) == 1


async def test_a_filter_may_begin_without_keywords(site, world, open_api: OpenApi, alice) -> None:
    post = await (await world.person("bob")).publishes("many eggs")
    api = await open_api("alice")
    assert (await api.post("/api/v2/filters", title="", context=["public"])).status_code == 422
    made = (await api.post("/api/v2/filters", title="Later", context=["public"])).json()
    assert (made["title"], made["keywords"], made["statuses"]) == ("Later", [], [])
    (status,) = (await api.get("/api/v1/timelines/public")).json()
    assert status["filtered"] == []
    url = f"/api/v2/filters/{made['id']}"
    await api.post(f"{url}/statuses", status_id=str(post.id))
    await api.post(f"{url}/keywords", keyword="spam")
    stored = (await api.http.put(url, json={"title": "Now"})).json()
    assert [each["keyword"] for each in stored["keywords"]] == ["spam"]
    assert [each["status_id"] for each in stored["statuses"]] == [str(post.id)]
    (status,) = (await api.get("/api/v1/timelines/public")).json()
    assert status["filtered"][0]["filter"]["title"] == "Now"
    assert (await api.get("/api/v1/filters")).json()[0]["phrase"] == "spam"
    assert "Now" in (await alice.get("/accounts/filters/")).text


async def test_a_filter_of_version_one_hides_only_in_its_context(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    await bob.publishes("@alice about anime")
    await world.deliver_all()
    api = await open_api("alice")
    data = {"phrase": "anime", "context[]": "notifications", "irreversible": "True", "whole_word": "False"}
    made = (await api.http.post("/api/v1/filters", data=data)).json()
    assert (made["phrase"], made["context"], made["irreversible"], made["whole_word"]) == (
        "anime", ["notifications"], True, False,
    )  # fmt: skip
    assert len((await api.get("/api/v1/timelines/home")).json()) == 1
    assert (await api.get("/api/v1/notifications")).json() == []
    url = f"/api/v1/filters/{made['id']}"
    changed = (await api.http.put(url, json={"phrase": "manga", "context": ["home"]})).json()
    assert (changed["phrase"], changed["irreversible"]) == ("manga", True)
    assert (await api.http.delete(url)).status_code == 200
    assert (await api.get(url)).status_code == 404


async def test_an_edit_on_the_settings_page_keeps_group_and_contexts(site, world, open_api: OpenApi) -> None:
    alice = await world.person("alice")
    api = await open_api("alice")
    keywords = [{"keyword": "one"}, {"keyword": "two"}]
    made = (await api.post("/api/v2/filters", title="T", context=["thread"], keywords_attributes=keywords)).json()
    number = int(made["keywords"][0]["id"])
    await site.filters.edit(
        account_id=alice.id, number=number, phrase="three", action="warn", until_ms=None, whole_word=False
    )
    stored = (await api.get(f"/api/v2/filters/{made['id']}")).json()
    assert (stored["title"], stored["context"]) == ("T", ["thread"])
    assert [each["keyword"] for each in stored["keywords"]] == ["three", "two"]


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


@pytest.mark.parametrize(
    "path", ["conversations", "domain_blocks", "endorsements", "featured_tags", "notifications/requests"]
)
async def test_what_the_site_does_not_have_is_an_empty_list(site, world, open_api: OpenApi, path) -> None:
    await world.person("alice")
    assert (await (await open_api("alice")).get(f"/api/v1/{path}")).json() == []
    assert (await (await open_api()).get(f"/api/v1/{path}")).status_code == 401
