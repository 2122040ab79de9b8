"""What keeps somebody away, on every path: true from the answer on, and taken back as easily.

Alice reads; Bob wrote `post` ("#tea"), answered Alice, and is on her list; Carol, on another, boosted it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from accounts.errors import AccountNotFound
from socialsite.ids import PostId
from socialsite.services import Services
from tests.support.world import Person, World, ids_on
from timelines.domain.account_list import ListId
from timelines.domain.page import TimelinePage
from timelines.domain.post import Post
from timelines.domain.query import parsed
from timelines.errors import PostNotFound


@dataclass
class Scene:
    services: Services
    world: World
    alice: Person
    bob: Person
    carol: Person
    post: Post
    asked: Post
    answer: Post
    bobs: ListId
    carols: ListId

    @property
    def now_ms(self) -> int:
        return self.services.clock.now_ms()

    def has(self, page: TimelinePage, post: Post | None = None) -> bool:
        return (post or self.post).id in ids_on(page)


@pytest_asyncio.fixture
async def scene(services: Services) -> AsyncIterator[Scene]:
    world = World(services)
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await alice.follows(bob)
    bobs, carols = [await list_of(services, alice, member) for member in (bob, carol)]
    asked = await alice.publishes("who has something to drink?")
    post = await bob.publishes("a cup of #tea")
    answer = await bob.publishes("I have tea", in_reply_to=asked)
    now_ms = services.clock.now_ms()
    await services.reactions.boost(account_id=carol.id, post_id=post.id, now_ms=now_ms)
    await world.work()
    yield Scene(services, world, alice, bob, carol, post, asked, answer, bobs, carols)


async def list_of(services: Services, owner: Person, member: Person) -> ListId:
    now_ms = services.clock.now_ms()
    made = await services.lists.create(owner_id=owner.id, title="List", now_ms=now_ms)
    await services.lists.add_member(owner_id=owner.id, list_id=made.id, account_id=member.id, now_ms=now_ms)
    return made.id


# Where Alice may meet Bob


async def on_home(scene: Scene) -> bool:
    return scene.has(await scene.alice.home())


async def on_profile(scene: Scene) -> bool:
    try:
        await scene.services.accounts.get_by_handle("bob")
    except AccountNotFound:
        return False
    return scene.has(await scene.services.reading.profile(scene.bob.id, viewer_id=scene.alice.id))


async def on_list(scene: Scene) -> bool:
    return scene.has(await scene.services.reading.list_timeline(scene.bobs, viewer_id=scene.alice.id))


async def on_tag(scene: Scene) -> bool:
    return scene.has(await scene.services.reading.tag("tea", viewer_id=scene.alice.id))


async def on_public(scene: Scene) -> bool:
    return scene.has(await scene.services.reading.public(viewer_id=scene.alice.id))


async def in_search(scene: Scene) -> bool:
    found = await scene.services.search.posts(parsed("cup tea"), viewer_id=scene.alice.id)
    by_name = await scene.services.completing.accounts("bob", viewer_id=scene.alice.id, limit=5)
    if not found.entries:
        return False
    assert by_name, "whose posts are found is found"
    return scene.has(found)


async def in_thread(scene: Scene) -> bool:
    page = await scene.services.threads.page(scene.asked, viewer_id=scene.alice.id)
    return scene.answer.id in [each.id for each in page.replies if each.entry is not None]


async def on_its_page(scene: Scene) -> bool:
    try:
        return bool(await scene.services.reading.post(scene.post.id, viewer_id=scene.alice.id))
    except PostNotFound:
        return False


async def boosted(scene: Scene) -> bool:
    page = await scene.services.reading.list_timeline(scene.carols, viewer_id=scene.alice.id)
    return scene.post.id in [entry.post.boost_of for entry in page.entries]


async def in_notifications(scene: Scene) -> bool:
    page = await scene.services.notifications.page(scene.alice.id)
    told = any(each.entry is not None and each.entry.post.id == scene.answer.id for each in page.entries)
    assert bool(await scene.services.notifications.unread(scene.alice.id)) is told
    return told


async def in_feed(scene: Scene) -> bool:
    """Nobody signed in."""
    try:
        await scene.services.accounts.get_by_handle("bob")
    except AccountNotFound:
        return False
    return scene.has(await scene.services.reading.feed(scene.bob.id))


Probe = Callable[[Scene], Awaitable[bool]]
PLACES: dict[str, Probe] = {
    "home": on_home,
    "profile": on_profile,
    "list": on_list,
    "tag": on_tag,
    "public": on_public,
    "search": in_search,
    "thread": in_thread,
    "post": on_its_page,
    "boost": boosted,
    "notification": in_notifications,
    "feed": in_feed,
}


# What keeps Bob away, and how it is taken back


Act = Callable[[Scene], Awaitable[object]]


@dataclass(frozen=True)
class Action:
    """`hides`: where Alice does not meet Bob any more."""

    do: Act
    undo: Act | None
    hides: frozenset[str]


async def follow_again(scene: Scene) -> None:
    """A block ends follows for good; taking it back is no wish to follow."""
    assert not await on_home(scene)
    await scene.alice.follows(scene.bob)


async def unblock(scene: Scene) -> None:
    await scene.alice.unblocks(scene.bob)
    await follow_again(scene)


async def unblocked(scene: Scene) -> None:
    await scene.bob.unblocks(scene.alice)
    await follow_again(scene)


async def locked_out(scene: Scene) -> None:
    await scene.alice.unfollows(scene.bob)
    await scene.bob.locks()


async def let_in(scene: Scene) -> None:
    await scene.alice.follows(scene.bob)
    await scene.services.requests.accept(
        account_id=scene.bob.id, requester_id=scene.alice.id, now_ms=scene.now_ms
    )
    await scene.bob.locks(private=False)


async def quiet(scene: Scene) -> None:
    await scene.services.relations.quiet(
        account_id=scene.alice.id, other_id=scene.carol.id, now_ms=scene.now_ms
    )


async def unquiet(scene: Scene) -> None:
    await scene.services.relations.unquiet(account_id=scene.alice.id, other_id=scene.carol.id)


async def hide_word(scene: Scene) -> None:
    await scene.services.filters.add(account_id=scene.alice.id, phrase="Tea", action="hide")


async def show_word(scene: Scene) -> None:
    for each in await scene.services.filters.all(scene.alice.id):
        await scene.services.filters.delete(account_id=scene.alice.id, number=each.id)


async def mute_booster(scene: Scene) -> None:
    await scene.alice.mutes(scene.carol)


EVERYWHERE = frozenset(PLACES)
AMONG_STRANGERS = frozenset({"tag", "public", "search"})
SOUGHT = frozenset({"profile", "post"})
OF_READER = EVERYWHERE - {"feed"}  # what one reader decides is nothing to others
ACTIONS: dict[str, Action] = {
    "block": Action(lambda s: s.alice.blocks(s.bob), unblock, OF_READER),
    "be blocked": Action(lambda s: s.bob.blocks(s.alice), unblocked, OF_READER),
    "mute": Action(lambda s: s.alice.mutes(s.bob), lambda s: s.alice.unmutes(s.bob), OF_READER - SOUGHT),
    "mute for an hour": Action(
        lambda s: s.alice.mutes(s.bob, s.now_ms + 3_600_000),
        lambda s: s.alice.mutes(s.bob, s.now_ms),
        OF_READER - SOUGHT,
    ),
    "suspend": Action(
        lambda s: s.services.accounts.suspend(account_id=s.bob.id),
        lambda s: s.services.accounts.reinstate(account_id=s.bob.id),
        EVERYWHERE,
    ),
    "delete": Action(
        lambda s: s.services.accounts.delete(account_id=s.bob.id, now_ms=s.now_ms), None, EVERYWHERE
    ),
    "lock, to a follower": Action(
        lambda s: s.bob.locks(), lambda s: s.bob.locks(private=False), AMONG_STRANGERS | {"feed"}
    ),
    "lock, to others": Action(locked_out, let_in, EVERYWHERE),
    "unfollow": Action(
        lambda s: s.alice.unfollows(s.bob), lambda s: s.alice.follows(s.bob), frozenset({"home"})
    ),
    "hide boosts": Action(quiet, unquiet, frozenset({"boost"})),
    "mute the booster": Action(mute_booster, lambda s: s.alice.unmutes(s.carol), frozenset({"boost"})),
    "filter": Action(hide_word, show_word, OF_READER - SOUGHT - {"notification"}),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("action", ACTIONS)
async def test_it_holds_from_the_answer_on_and_is_taken_back(scene: Scene, action: str, place: str) -> None:
    act, probe = ACTIONS[action], PLACES[place]
    assert await probe(scene), "met before"
    await act.do(scene)
    assert await probe(scene) is (place not in act.hides)
    await act.do(scene)  # again, as after a lost answer
    assert await probe(scene) is (place not in act.hides)
    if act.undo is not None:
        await act.undo(scene)
        assert await probe(scene), "met again"


@pytest.mark.parametrize("action", ["block", "be blocked", "mute", "suspend", "lock, to others", "unfollow"])
async def test_it_holds_for_what_is_published_and_delivered_later(scene: Scene, action: str) -> None:
    act = ACTIONS[action]
    await act.do(scene)
    later = await scene.bob.publishes("later tea") if action != "suspend" else None
    await scene.world.work()
    assert later is None or later.id not in await scene.alice.home_ids()
    assert act.undo is not None
    await act.undo(scene)
    assert later is None or later.id in await scene.alice.home_ids()


async def test_somebody_muted_is_met_on_no_profile_but_their_own(scene: Scene) -> None:
    """Unlike a block a mute leaves their own profile; what others boosted of theirs is no part of it."""

    async def boosted_on(person: Person) -> bool:
        page = await scene.services.reading.profile(person.id, viewer_id=scene.alice.id)
        return scene.post.id in [entry.post.boost_of for entry in page.entries]

    for person in (scene.alice, scene.bob):
        await scene.services.reactions.boost(account_id=person.id, post_id=scene.post.id, now_ms=scene.now_ms)
    everybody = (scene.alice, scene.bob, scene.carol)
    assert [await boosted_on(person) for person in everybody] == [True, True, True]
    await scene.alice.mutes(scene.bob)
    assert [await boosted_on(person) for person in everybody] == [True, True, False]
    await scene.alice.unmutes(scene.bob)
    assert [await boosted_on(person) for person in everybody] == [True, True, True]


async def test_a_lost_home_is_rebuilt_without_those_kept_away(scene: Scene) -> None:
    await scene.alice.mutes(scene.bob)
    await scene.services.repositories.homes.forget(scene.alice.id)
    assert not await on_home(scene)
    await scene.alice.unmutes(scene.bob)
    assert await on_home(scene)


# Whom a post is for


SEEN: dict[int, dict[str, set[str]]] = {
    0: {"author": set(PLACES), "follower": set(PLACES), "other": set(PLACES) - {"home"}},
    1: {
        "author": {"home", "profile", "list", "post"},
        "follower": {"home", "profile", "list", "post"},
        "other": {"profile", "list", "post"},
    },
    2: {
        "author": {"home", "profile", "list", "post"},
        "follower": {"home", "profile", "list", "post"},
        "other": set(),
    },
}


@pytest.mark.parametrize("who", ["author", "follower", "other"])
@pytest.mark.parametrize("audience", SEEN)
async def test_a_post_is_shown_to_whom_it_is_for(
    world: World, services: Services, audience: int, who: str
) -> None:
    author, follower, other = await world.people("author", "follower", "other")
    await follower.follows(author)
    post = await author.publishes("a cup of #tea", audience=audience)
    await world.work()
    reader = {"author": author, "follower": follower, "other": other}[who]
    list_id = await list_of(services, reader, author)
    reading, me = services.reading, reader.id
    pages = {
        "home": await reading.home(me),
        "profile": await reading.profile(author.id, viewer_id=me),
        "list": await reading.list_timeline(list_id, viewer_id=me),
        "tag": await reading.tag("tea", viewer_id=me),
        "public": await reading.public(viewer_id=me),
        "search": await services.search.posts(parsed("cup"), viewer_id=me),
        "feed": await reading.feed(author.id),
    }
    met = {place for place, page in pages.items() if post.id in ids_on(page)}
    if await services.hydrator.sees(me, post.id):
        met.add("post")
    assert met == SEEN[audience][who] & {*pages, "post"}


async def test_visitors_see_no_post_for_followers(world: World, services: Services) -> None:
    author = await world.person("author")
    posts: list[PostId] = [(await author.publishes("tea", audience=audience)).id for audience in (0, 1, 2)]
    assert await author.profile_ids() == [posts[1], posts[0]]
    assert await world.public_ids() == [posts[0]]
    with pytest.raises(PostNotFound):
        await services.reading.post(posts[2], viewer_id=None)


async def test_an_answer_for_followers_is_for_whom_it_answers_too(world: World, services: Services) -> None:
    """Without that a follower's answer to a post for followers would reach everybody but its author."""
    author, follower, other = await world.people("author", "follower", "other")
    await follower.follows(author)
    asked = await author.publishes("among us", audience=2)
    answer = await follower.publishes("to you", in_reply_to=asked)
    await world.work()
    assert answer.audience == 2
    assert await met_by(services, author, asked, answer) == {"post", "thread", "profile", "notification"}
    assert await met_by(services, other, asked, answer) == set()
    await follower.blocks(author)
    assert await met_by(services, author, asked, answer) == set()
    await follower.unblocks(author)
    await follower.locks()
    assert await met_by(services, author, asked, answer) == set()
    await follower.locks(private=False)
    assert await met_by(services, author, asked, answer) == {"post", "thread", "profile", "notification"}


async def met_by(services: Services, reader: Person, asked: Post, answer: Post) -> set[str]:
    """Where the reader meets the answer."""
    thread = await services.threads.page(asked, viewer_id=reader.id)
    notices = await services.notifications.page(reader.id)
    places = {
        "post": [answer.id] if await services.hydrator.sees(reader.id, answer.id) else [],
        "thread": [each.id for each in thread.replies if each.entry is not None],
        "profile": ids_on(await services.reading.profile(answer.author_id, viewer_id=reader.id)),
        "notification": [each.entry.post.id for each in notices.entries if each.entry is not None],
    }
    return {place for place, ids in places.items() if answer.id in ids}


async def test_the_rebuilt_public_timeline_holds_only_what_is_listed(
    world: World, services: Services
) -> None:
    author, fan = await world.people("author", "fan")
    listed = await author.publishes("to all")
    for audience in (1, 2):
        await author.publishes("not listed", audience=audience)
    await services.reactions.boost(account_id=fan.id, post_id=listed.id, now_ms=services.clock.now_ms())
    assert await services.rebuilding.rebuild_public([author.id, fan.id]) == 1
    assert await world.public_ids() == [listed.id]
