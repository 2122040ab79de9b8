"""The audience of a post and of its replies, on every page."""

import pytest

from socialsite.container import Services
from socialsite.ids import PostId
from tests.support.visibility_scenario import PROBES
from tests.support.world import Person, World, ids_on
from timelines.errors import PostNotFound
from timelines.posts.post import Post
from timelines.search.query import parse_query

SEEN: dict[int, dict[str, set[str]]] = {
    0: {"author": set(PROBES), "follower": set(PROBES), "other": set(PROBES) - {"home"}},
    1: {
        "author": {"home", "profile", "list", "post"},
        "follower": {"home", "profile", "list", "post"},
        "other": {"profile", "list", "post"},
    },
    2: {"author": {"home", "profile", "list", "post"}, "follower": {"home", "profile", "list", "post"}, "other": set()},
}


@pytest.mark.parametrize("who", ["author", "follower", "other"])
@pytest.mark.parametrize("audience", SEEN)
async def test_a_post_is_shown_only_to_its_audience(world: World, services: Services, audience: int, who: str) -> None:
    author, follower, other = await world.people("author", "follower", "other")
    await follower.follows(author)
    post = await author.publishes("a cup of #tea", audience=audience)
    await world.deliver_all()
    reader = {"author": author, "follower": follower, "other": other}[who]
    list_id = (await reader.makes_list(author)).id
    reading, me = services.reading, reader.id
    pages = {
        "home": await reading.home(me),
        "profile": await reading.profile(author.id, viewer_id=me),
        "list": await services.lists.read_timeline(list_id, viewer_id=me),
        "tag": await reading.tag("tea", viewer_id=me),
        "public": await reading.public(viewer_id=me),
        "search": await services.search.search_posts(parse_query("cup"), viewer_id=me),
        "feed": await reading.feed(author.id),
    }
    places = {place for place, page in pages.items() if post.id in ids_on(page)}
    if await services.pipeline.find_visible(me, post.id):
        places.add("post")
    assert places == SEEN[audience][who] & {*pages, "post"}


async def test_visitors_cannot_see_posts_for_followers(world: World, services: Services) -> None:
    author = await world.person("author")
    posts: list[PostId] = [(await author.publishes("tea", audience=audience)).id for audience in (0, 1, 2)]
    assert await author.profile_ids() == [posts[1], posts[0]]
    assert await world.public_ids() == [posts[0]]
    with pytest.raises(PostNotFound):
        await services.reading.post(posts[2], viewer_id=None)


async def test_a_reply_for_followers_is_visible_to_the_author_of_its_parent(world: World, services: Services) -> None:
    """Otherwise a follower's reply to a post for followers would not be visible to its author."""
    author, follower, other = await world.people("author", "follower", "other")
    await follower.follows(author)
    question = await author.publishes("among us", audience=2)
    answer = await follower.publishes("to you", in_reply_to=question)
    await world.deliver_all()
    assert answer.audience == 2
    assert await met_by(services, author, question, answer) == {"post", "thread", "profile", "notification"}
    assert await met_by(services, other, question, answer) == set()
    await follower.blocks(author)
    assert await met_by(services, author, question, answer) == set()
    await follower.unblocks(author)
    await follower.locks()
    assert await met_by(services, author, question, answer) == set()
    await follower.locks(private=False)
    assert await met_by(services, author, question, answer) == {"post", "thread", "profile", "notification"}


async def met_by(services: Services, reader: Person, asked: Post, answer: Post) -> set[str]:
    """Return the places that show the reply to the reader."""
    thread = await services.threads.load_page(asked, viewer_id=reader.id)
    notices = await services.notifications.page(reader.id)
    places = {
        "post": [answer.id] if await services.pipeline.find_visible(reader.id, answer.id) else [],
        "thread": [each.id for each in thread.replies if each.entry is not None],
        "profile": ids_on(await services.reading.profile(answer.author_id, viewer_id=reader.id)),
        "notification": [each.entry.post.id for each in notices.entries if each.entry is not None],
    }
    return {place for place, ids in places.items() if answer.id in ids}


async def test_the_rebuilt_public_timeline_contains_only_public_posts(world: World, services: Services) -> None:
    author, fan = await world.people("author", "fan")
    listed = await author.publishes("to all")
    for audience in (1, 2):
        await author.publishes("not listed", audience=audience)
    await services.reactions.boost(account_id=fan.id, post_id=listed.id, now_ms=services.clock.now_ms())
    assert await services.rebuilds.rebuild_public([author.id, fan.id]) == 1
    assert await world.public_ids() == [listed.id]
