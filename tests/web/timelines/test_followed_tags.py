"""Followed and trending hashtags, over HTTP and on the socket."""

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.daphnes import DaphneProcess
from tests.support.sockets import open_socket, sign_in_cookie
from tests.support.world import World


async def test_a_followed_hashtag_is_on_the_page_of_followed_hashtags(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await bob.publish("a #Word of mine")
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


async def test_only_a_signed_in_reader_follows_a_valid_hashtag(alice: HttpBrowser, visitor: HttpBrowser) -> None:
    assert (await visitor.post_json("/tags/word/follow/")).status_code == 401
    assert (await visitor.get("/tags/")).status_code == 303
    assert (await alice.post_json("/tags/no-tag/follow/")).status_code == 404
    assert "/follow/" not in (await visitor.get("/tags/word/")).text


async def test_trending_hashtags_are_listed(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, world: World, services: Services
) -> None:
    assert "data-trends" not in (await visitor.get("/")).text
    assert (await visitor.get_json("/tags/trending/")).json() == {"tags": []}
    services.trends._cache = (0, ())
    await alice.publish("about #This")
    await bob.publish("about #this, too")
    await world.deliver_all()
    expected_tags = [{"name": "this", "url": "/tags/this/", "accounts": 2}]
    assert (await visitor.get_json("/tags/trending/")).json() == {"tags": expected_tags}
    for path in ("/", "/public/", "/search/"):
        assert '<a href="/tags/this/"><bdi>#this</bdi></a> 2 people' in (await visitor.get(path)).text
    page = (await visitor.get("/tags/trending/")).text
    assert "<h1>Trending</h1>" in page
    assert '<a class="row" href="/tags/this/">' in page


async def test_posts_of_followed_hashtags_arrive_once_on_the_socket(
    daphne: DaphneProcess, world: World, services: Services
) -> None:
    alice, bob = await world.people("alice", "bob")
    for tag in ("one", "two"):
        await services.followed_hashtags.follow(account_id=alice.id, tag=tag, now_ms=1)
    async with open_socket(daphne, await sign_in_cookie(alice)) as own, open_socket(daphne) as visitor:
        await own.subscribe("tags")
        await visitor.send({"type": "subscribe", "timeline": "tags"})
        assert (await visitor.receive())["code"] == "signed_out"
        await bob.publishes("#three")
        post = await bob.publishes("#one and #two")
        await own.receive_entry(post.id, "tags")
        await own.collect_for()
        assert own.entry_ids("tags") == [post.id]
