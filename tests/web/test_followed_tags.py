"""Following hashtags and what is talked about, over HTTP and on the socket."""

from socialsite.services import Services
from tests.support.browser import Browser
from tests.support.sockets import Daphne, client, signed_in
from tests.support.world import World


async def test_a_followed_hashtag_is_on_its_page(alice: Browser, bob: Browser) -> None:
    post = await bob.publishes("a #Word of mine")
    assert 'formaction="/tags/word/follow/"' in (await alice.get("/tags/word/")).text
    answer = await alice.post("/tags/Word/follow/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/tags/word/")
    assert 'formaction="/tags/word/unfollow/"' in (await alice.get("/tags/word/")).text
    page = (await alice.get_json("/tags/")).json()
    assert page["tags"] == [{"name": "word", "url": "/tags/word/"}]
    assert [each["id"] for each in page["posts"]] == [post["id"]]
    assert 'data-timeline="tags"' in (await alice.get("/tags/")).text
    assert (await alice.post_json("/tags/word/unfollow/")).json() == {"following": False}
    assert (await alice.get_json("/tags/")).json()["posts"] == []


async def test_only_somebody_signed_in_follows_what_is_a_hashtag(alice: Browser, visitor: Browser) -> None:
    assert (await visitor.post_json("/tags/word/follow/")).status_code == 401
    assert (await visitor.get("/tags/")).status_code == 303
    assert (await alice.post_json("/tags/no-tag/follow/")).status_code == 404
    assert "/follow/" not in (await visitor.get("/tags/word/")).text


async def test_what_is_talked_about_is_told(
    alice: Browser, bob: Browser, visitor: Browser, world: World, services: Services
) -> None:
    assert "data-trends" not in (await visitor.get("/")).text
    assert (await visitor.get_json("/tags/trending/")).json() == {"tags": []}
    services.trending._kept = (0, ())
    await alice.publishes("about #This")
    await bob.publishes("about #this, too")
    await world.work()
    wanted = [{"name": "this", "url": "/tags/this/", "accounts": 2}]
    assert (await visitor.get_json("/tags/trending/")).json() == {"tags": wanted}
    for path in ("/", "/public/", "/search/"):
        assert '<a href="/tags/this/"><bdi>#this</bdi></a> 2 people' in (await visitor.get(path)).text
    assert "<h1><bdi>#trending</bdi></h1>" in (await visitor.get("/tags/trending/")).text


async def test_their_posts_arrive_once_on_the_socket(
    daphne: Daphne, world: World, services: Services
) -> None:
    alice, bob = await world.people("alice", "bob")
    for tag in ("one", "two"):
        await services.tagging.follow(account_id=alice.id, tag=tag, now_ms=1)
    async with client(daphne, await signed_in(alice)) as own, client(daphne) as visitor:
        await own.subscribe("tags")
        await visitor.say({"type": "subscribe", "timeline": "tags"})
        assert (await visitor.next())["code"] == "signed_out"
        await bob.publishes("#three")
        post = await bob.publishes("#one and #two")
        await own.entry(post.id, "tags")
        await own.silence()
        assert own.entry_ids("tags") == [post.id]
