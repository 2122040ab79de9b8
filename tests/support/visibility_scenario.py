"""The places where a reader may see another account's posts, and the viewers of open timelines."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self

from accounts.errors import AccountNotFound
from socialsite.container import Services
from tests.support.world import Person, World, ids_on
from timelines.errors import PostNotFound
from timelines.ids import ListId
from timelines.pages.page import PageRequest, TimelinePage
from timelines.posts.post import Post
from timelines.reading.viewer_rights import ViewerContext
from timelines.search.query import parse_query
from timelines.visibility.rights import ViewContext


@dataclass
class VisibilityScenario:
    """A scenario built for one test, which then adds blocks or mutes."""

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
    daves: ListId
    """A public list of Dave's, with Bob."""

    @property
    def now_ms(self) -> int:
        return self.services.clock.now_ms()

    @classmethod
    async def build(cls, world: World) -> Self:
        services = world.services
        alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
        await alice.follows(bob)
        bobs, carols = [(await alice.makes_list(member)).id for member in (bob, carol)]
        daves = (await dave.makes_list(bob)).id
        await services.lists.edit(owner_id=dave.id, list_id=daves, public_ms=services.clock.now_ms())
        question = await alice.publishes("who has something to drink?")
        post = await bob.publishes("a cup of #tea")
        answer = await bob.publishes("I have tea", in_reply_to=question)
        now_ms = services.clock.now_ms()
        await services.reactions.boost(account_id=carol.id, post_id=post.id, now_ms=now_ms)
        await services.reactions.like(account_id=dave.id, post_id=post.id, now_ms=now_ms)
        await world.deliver_all()
        await services.popular.refill()
        return cls(services, world, alice, bob, carol, post, question, answer, bobs, carols, daves)

    def has(self, page: TimelinePage, post: Post | None = None) -> bool:
        return (post or self.post).id in ids_on(page)

    async def shows(self, read: Awaitable[TimelinePage]) -> bool:
        return self.has(await read)


async def on_home(scene: VisibilityScenario) -> bool:
    return scene.has(await scene.alice.home())


async def on_profile(scene: VisibilityScenario) -> bool:
    try:
        await scene.services.accounts.get_by_handle("bob")
    except AccountNotFound:
        return False
    return scene.has(await scene.services.reading.profile(scene.bob.id, viewer_id=scene.alice.id))


async def on_public_list(scene: VisibilityScenario) -> bool:
    lists = scene.services.public_lists
    account_list = await lists.find(scene.daves, scene.alice.id)
    ids = await lists.member_ids(account_list, scene.alice.id)
    return scene.has(await lists.read_timeline(account_list, ids, PageRequest(), scene.alice.id))


async def among_popular(scene: VisibilityScenario) -> bool:
    entries, _ = await scene.services.popular.read(scene.alice.id, (), offset=0, limit=10)
    return scene.post.id in [entry.post.id for entry in entries]


async def in_search(scene: VisibilityScenario) -> bool:
    page = await scene.services.search.search_posts(parse_query("cup tea"), viewer_id=scene.alice.id)
    by_name = await scene.services.autocomplete.complete_accounts("bob", viewer_id=scene.alice.id, limit=5)
    if not page.entries:
        return False
    assert by_name, "whose posts are found is found"
    return scene.has(page)


async def in_thread(scene: VisibilityScenario) -> bool:
    page = await scene.services.threads.load_page(scene.asked, viewer_id=scene.alice.id)
    return scene.answer.id in [each.id for each in page.replies if each.entry is not None]


async def on_its_page(scene: VisibilityScenario) -> bool:
    try:
        return bool(await scene.services.reading.post(scene.post.id, viewer_id=scene.alice.id))
    except PostNotFound:
        return False


async def as_boost_on_list(scene: VisibilityScenario) -> bool:
    page = await scene.services.lists.read_timeline(scene.carols, viewer_id=scene.alice.id)
    return scene.post.id in [entry.post.boost_of for entry in page.entries]


async def in_notifications(scene: VisibilityScenario) -> bool:
    page = await scene.services.notifications.page(scene.alice.id)
    is_notified = any(each.entry is not None and each.entry.post.id == scene.answer.id for each in page.entries)
    assert bool(await scene.services.notifications.unread(scene.alice.id)) is is_notified
    return is_notified


async def in_feed(scene: VisibilityScenario) -> bool:
    """Read Bob's feed without a session."""
    try:
        await scene.services.accounts.get_by_handle("bob")
    except AccountNotFound:
        return False
    return scene.has(await scene.services.reading.feed(scene.bob.id))


Probe = Callable[[VisibilityScenario], Awaitable[bool]]

PROBES: dict[str, Probe] = {  # places where Alice may see Bob's posts
    "home": on_home,
    "profile": on_profile,
    "list": lambda s: s.shows(s.services.lists.read_timeline(s.bobs, viewer_id=s.alice.id)),
    "public list": on_public_list,
    "tag": lambda s: s.shows(s.services.reading.tag("tea", viewer_id=s.alice.id)),
    "public": lambda s: s.shows(s.services.reading.public(viewer_id=s.alice.id)),
    "popular": among_popular,
    "search": in_search,
    "thread": in_thread,
    "post": on_its_page,
    "boost": as_boost_on_list,
    "notification": in_notifications,
    "feed": in_feed,
}


def home_viewer(services: Services, reader: Person) -> ViewerContext:
    return ViewerContext(reader.id, ViewContext.HOME, services.reading.home_rights(reader.id))


async def list_viewer(services: Services, owner: Person, *members: Person) -> ViewerContext:
    """Return the viewer of a new list of these members."""
    rule = await services.lists.rule(await owner.makes_list(*members))
    return ViewerContext(owner.id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights)


async def visible_to(services: Services, post: Post, seats: list[ViewerContext]) -> list[bool]:
    entries = await services.pipeline.read_post_for_viewers(post.id, post.author_id, seats)
    return [entry is not None for entry in entries]
