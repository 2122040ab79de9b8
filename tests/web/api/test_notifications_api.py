"""Notifications in the API: one by one, in groups, and of edits."""

import httpx

from socialsite.ids import MAX_ID, PostId, id_at
from tests.web.api.conftest import OpenApi
from timelines.notifications.groups import GROUP_MS
from timelines.notifications.kinds import LIKE
from timelines.notifications.notification import Notification
from timelines.posts.post import PostDetails


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


def read_groups(response: httpx.Response) -> list[tuple[str, int, int]]:
    """Return the post, the number of notifications and the newest one of each group."""
    groups = response.json()["notification_groups"]
    return [(each["status_id"], each["notifications_count"], each["most_recent_notification_id"]) for each in groups]


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
        like = Notification(id_at(start_ms + delay_ms), LIKE, person.id, post.id)
        await site.notifications.notifications.add(alice.id, like)
        ids.setdefault((post.id, delay_ms < GROUP_MS), []).append(like.id)
    newer, between, earlier = ids[first.id, False], ids[second.id, False], ids[first.id, True]
    api, path = await open_api("alice"), "/api/v2/notifications"
    expected = [(str(first.id), 88, max(newer)), (str(second.id), 3, max(between)), (str(first.id), 2, max(earlier))]

    whole = await api.get(path)
    assert read_groups(whole) == expected
    assert [each["page_min_id"] for each in whole.json()["notification_groups"]] == [
        str(min(ids)) for ids in (newer, between, earlier)
    ]
    page, pages = await api.get(path, limit=2), list[tuple[str, int, int]]()
    assert page.json()["notification_groups"][0]["page_min_id"] > str(max(between))  # clients page by this id, too
    while groups := read_groups(page):
        pages += groups
        page = await api.http.get(page.links["next"]["url"])
    assert pages == expected
    assert read_groups(await api.get(path, since_id=newer[-2])) == expected[:1]
    assert read_groups(await api.get(path, since_id=newer[-1])) == []
    assert read_groups(await api.get(path, min_id=earlier[-1], limit=1)) == expected[1:2]
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


async def test_boosters_and_quoters_are_notified_of_edits(site, world, open_api: OpenApi) -> None:
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
