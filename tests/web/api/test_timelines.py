"""Timelines in the API: their cursors, links and selections."""

from socialsite.container import Services
from socialsite.ids import AccountId, ms_from_id
from tests.support.world import World
from tests.web.api.conftest import OpenApi

STATUSES, HOME, PUBLIC = "/api/v1/statuses", "/api/v1/timelines/home", "/api/v1/timelines/public"


async def test_the_cursors_select_the_same_posts_as_mastodon(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    ids = [(await alice.post(STATUSES, status=f"{number}")).json()["id"] for number in range(6)]

    async def read(**cursor: str) -> list[int]:
        return [ids.index(each["id"]) for each in (await alice.get(HOME, limit=2, **cursor)).json()]

    assert await read() == [5, 4]
    assert await read(max_id=ids[4]) == [3, 2]
    assert await read(since_id=ids[1]) == [5, 4], "the newest above"
    assert await read(min_id=ids[1]) == [3, 2], "the oldest above"
    assert await read(max_id=ids[4], since_id=ids[2]) == [3]
    assert await read(max_id=ids[3], min_id=ids[1]) == [2]
    assert (await alice.get(HOME, max_id="x")).status_code == 422
    now_ms = ms_from_id(int(ids[3]))
    assert await read(max_id=str(now_ms + 60_000 << 16)) == [5, 4], "an id of Mastodon, made from a time"
    assert await read(min_id=str(now_ms + 60_000 << 16)) == []


async def test_links_are_absolute_and_absent_from_an_empty_page(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    assert "link" not in (await alice.get(HOME)).headers
    ids = [(await alice.post(STATUSES, status=f"{number}")).json()["id"] for number in range(3)]
    page = await alice.get(HOME, limit=2)
    assert page.links["next"]["url"] == f"http://testserver{HOME}?limit=2&max_id={ids[1]}"
    assert page.links["prev"]["url"] == f"http://testserver{HOME}?limit=2&min_id={ids[2]}"
    assert [each["id"] for each in (await alice.http.get(page.links["next"]["url"])).json()] == [ids[0]]


async def test_an_account_selects_its_posts(open_api: OpenApi, world: World) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    other_id = (await bob.post(STATUSES, status="of bob")).json()["id"]
    own = (await alice.post(STATUSES, status="plain #cats")).json()
    thread_id = (await alice.post(STATUSES, status="more", in_reply_to_id=own["id"])).json()["id"]
    reply_id = (await alice.post(STATUSES, status="re", in_reply_to_id=other_id)).json()["id"]
    boost_id = (await alice.post(f"{STATUSES}/{other_id}/reblog")).json()["id"]
    await alice.post(f"{STATUSES}/{own['id']}/pin")
    url = f"/api/v1/accounts/{own['account']['id']}/statuses"

    async def read(**fields: str) -> list[str]:
        return [each["id"] for each in (await bob.get(url, **fields)).json()]

    assert await read() == [boost_id, reply_id, thread_id, own["id"]]
    assert await read(exclude_replies="1") == [boost_id, thread_id, own["id"]]
    assert await read(exclude_reblogs="true") == [reply_id, thread_id, own["id"]]
    assert await read(pinned="true") == [own["id"]]
    assert await read(tagged="Cats") == [own["id"]]
    assert await read(only_media="true") == []
    assert [each["pinned"] for each in (await alice.get(url)).json() if "pinned" in each] == [False, False, True]


async def test_a_hashtag_timeline_combines_hashtags(open_api: OpenApi) -> None:
    alice, visitor = await open_api("alice"), await open_api()
    ids = [(await alice.post(STATUSES, status=text)).json()["id"] for text in ("#cats", "#dogs", "#cats #dogs")]

    async def read(tag: str, **fields: str) -> list[int]:
        return [ids.index(each["id"]) for each in (await visitor.get(f"/api/v1/timelines/tag/{tag}", **fields)).json()]

    assert await read("Cats") == [2, 0]
    assert await read("cats", **{"any[]": "dogs"}) == [2, 1, 0]
    assert await read("cats", **{"all[]": "dogs"}) == [2]
    assert await read("cats", **{"none[]": "dogs"}) == [0]
    assert (await visitor.get("/api/v1/timelines/tag/!")).status_code == 404


async def test_visitors_see_public_posts_only(open_api: OpenApi) -> None:
    alice, visitor = await open_api("alice"), await open_api()
    public_id = (await alice.post(STATUSES, status="all")).json()["id"]
    await alice.post(STATUSES, status="some", visibility="private")
    found = (await visitor.get(PUBLIC)).json()
    assert [each["id"] for each in found] == [public_id]
    assert "favourited" not in found[0]
    assert (await visitor.get(PUBLIC, remote="true")).json() == []
    assert (await visitor.get(HOME)).status_code == 401


async def test_a_list_belongs_to_its_owner(open_api: OpenApi, world: World) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    owner, member = await world.people("carol", "dave")
    account_list = await owner.makes_list(member)
    carol = await open_api("carol")
    url = f"/api/v1/timelines/list/{account_list.id}"
    assert (await carol.get(url)).json() == []
    for client in (alice, bob):
        assert (await client.get(url)).status_code == 404


async def test_a_folded_post_names_its_filter(open_api: OpenApi, site: Services) -> None:
    alice = await open_api("alice")
    account_id = AccountId(int((await alice.post(STATUSES, status="rainy weather")).json()["account"]["id"]))
    added = await site.filters.add(account_id=account_id, phrase="weather")
    bob = await open_api("bob")
    await bob.post(STATUSES, status="sunny weather")
    (folded, own) = (await alice.get(PUBLIC)).json()
    (result,) = folded["filtered"]
    assert (result["filter"]["id"], result["filter"]["filter_action"]) == (str(added.id), "warn")
    assert result["keyword_matches"] == ["weather"]
    assert own["filtered"] == []
