"""Author timelines, merged pages, and languages."""

from collections.abc import AsyncIterator

import pytest

from accounts.domain import Preferences
from accounts.errors import AccountNotFound
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Store, StoreUrls
from tests.support.nodes import SerialNode, SingleNodeTopology
from tests.support.notifications import ThreePeople
from tests.support.world import Person, World
from timelines.author_timelines.merging import MAX_TIMELINES_PER_READ
from timelines.graph.follow import Follow, FollowCounts
from timelines.pages.page import MIN_FETCH, PageRequest
from timelines.posts.post import PostDetails
from timelines.profiles.service import ProfilePage
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


async def visited(services: Services, viewer: Person | None, account: Person) -> ProfilePage:
    return await services.profiles.load_page(account.handle, PageRequest(), viewer_id=viewer.id if viewer else None)


async def shown_to(services: Services, viewer: Person | None, account: Person) -> list[int]:
    """Return the post ids that the viewer sees on the profile page."""
    return [entry.id for entry in (await visited(services, viewer, account)).timeline_page.entries]


def known(visit: ProfilePage) -> list[int]:
    return [author.id for author in visit.known_followers]


async def test_known_followers_are_shown(world: World, services: Services) -> None:
    alice, bob, carol, dave, erin = await world.people("alice", "bob", "carol", "dave", "erin")
    for follower, followed in ((alice, carol), (bob, carol), (alice, dave), (dave, bob), (alice, erin)):
        await follower.follows(followed)
    await erin.follows(bob)
    visit = await visited(services, alice, bob)
    assert visit.follow_counts == FollowCounts(followers=2, following=1)
    assert visit.relationship is not None
    assert not visit.relationship.follows
    assert (visit.shared_following_count, known(visit)) == (1, [erin.id, dave.id])
    await services.accounts.suspend(account_id=erin.id)
    assert known(await visited(services, alice, bob)) == [dave.id]


async def test_the_relationship_is_that_of_the_viewer(alice: Person, bob: Person, services: Services) -> None:
    await alice.follows(bob)
    relation = (await visited(services, alice, bob)).relationship
    assert relation is not None
    assert (relation.follows, relation.is_followed) == (True, False)
    relation = (await visited(services, bob, alice)).relationship
    assert relation is not None
    assert (relation.follows, relation.is_followed) == (False, True)


async def test_a_follow_left_by_an_interrupted_block_is_not_shown(world: World, services: Services) -> None:
    """A crash between a block and the end of the follow leaves both; repeating the block repairs it."""
    alice, bob, dave = await world.people("alice", "bob", "dave")
    for fan in (alice, bob):
        await fan.follows(dave)
    await alice.blocks(bob)
    await services.repositories.follows.add(Follow(alice.id, bob.id, 1))
    assert known(await visited(services, alice, dave)) == []


async def test_posts_and_counts_are_shown_to_permitted_viewers(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(alice)
    post = await alice.publishes("hello")
    for viewer in (None, alice, bob, carol):
        assert await shown_to(services, viewer, alice) == [post.id]
        assert (await visited(services, viewer, alice)).post_count == 1
        assert (await visited(services, viewer, alice)).follow_counts == FollowCounts(1, 0)
    await alice.locks()
    is_shown = {viewer: bool(await shown_to(services, viewer, alice)) for viewer in (None, alice, bob, carol)}
    assert is_shown == {None: False, alice: True, bob: False, carol: True}
    await alice.blocks(carol)
    assert await shown_to(services, carol, alice) == []


async def test_the_profile_of_a_suspended_account_is_not_found(alice: Person, bob: Person, services: Services) -> None:
    await visited(services, bob, alice)
    await services.accounts.suspend(account_id=alice.id)
    for viewer in (None, alice, bob):
        with pytest.raises(AccountNotFound):
            await visited(services, viewer, alice)
    await services.accounts.reinstate(account_id=alice.id)
    assert (await visited(services, bob, alice)).account.id == alice.id


NOW_MS = 1_900_000_000_000

FIRST_FOLLOWED = 10_000

HOME_CAP = 2 * MIN_FETCH


@pytest.fixture
async def limited(redis_urls: StoreUrls) -> AsyncIterator[Services]:
    async with open_services(redis_urls, ServiceConfig(home_cap=HOME_CAP, rate_limits={"merge": 2})) as services:
        yield services


async def follow(services: Services, follower_id: AccountId, count: int) -> None:
    follows = [(follower_id, AccountId(FIRST_FOLLOWED + number), NOW_MS) for number in range(count)]
    await services.repositories.follows.add_many(follows)


async def test_older_pages_of_very_many_authors_are_limited(limited: Services) -> None:
    alice, bob = await World(limited).people("alice", "bob")
    await follow(limited, alice.id, MAX_TIMELINES_PER_READ)
    await follow(limited, bob.id, MAX_TIMELINES_PER_READ - 1)
    world = World(limited)
    for person in (bob, alice):
        ids = [(await person.publishes(f"post {number}")).id for number in range(2 * HOME_CAP)][::-1]
        await world.deliver_all()
        oldest = {"before": ids[-3], "limit": 2}
        assert await person.home_ids(limit=2) == ids[:2]  # merges once to build the home
        assert await person.home_ids(**oldest) == ids[-2:]
        if person is bob:
            assert await person.home_ids(**oldest) == ids[-2:]
    with pytest.raises(RateLimited) as refusal:
        await alice.home_ids(**oldest)
    assert refusal.value.rule == "merge"
    assert await alice.home_ids(limit=2) == ids[:2]


async def test_a_home_with_few_posts_takes_two_round_trips(redis_url: str) -> None:
    """The cached head has all posts, so no author timelines are read: it takes the head, then the posts."""
    node = SerialNode(redis_url)
    services = Services(Store(SingleNodeTopology(node)), FixedClock(NOW_MS), ServiceConfig())
    world = World(services)
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    post = await bob.publishes("the only post")
    await world.deliver_all()
    assert await alice.home_ids() == [post.id]
    start = node.trips
    assert await alice.home_ids() == [post.id]
    assert node.trips - start == 2
    await node.close()


async def test_every_page_of_a_virtual_list_of_very_many_members_is_limited(limited: Services) -> None:
    alice, bob = await World(limited).people("alice", "bob")
    part, other = await alice.makes_list(bob), await alice.makes_list()
    for number in range(MAX_TIMELINES_PER_READ):
        await limited.lists.memberships.add(part.id, AccountId(FIRST_FOLLOWED + number), NOW_MS)
    both = await limited.lists.create(
        owner_id=alice.id, title="Both", now_ms=NOW_MS, operation="union", parts=[part.id, other.id]
    )
    for _ in range(2):
        await limited.lists.read_timeline(both.id, viewer_id=alice.id)
    with pytest.raises(RateLimited):
        await limited.lists.read_timeline(both.id, viewer_id=alice.id)


@pytest.mark.parametrize("context", [ViewContext.PUBLIC, ViewContext.HASHTAG])
async def test_live_entries_have_the_languages_of_each_reader(
    three: ThreePeople, services: Services, context: ViewContext
) -> None:
    author, german, all_languages = three
    await services.accounts.change_preferences(account_id=german.id, change=lambda _: Preferences(languages=("de",)))
    readers = [ViewerContext(id, context) for id in (None, author.id, german.id, all_languages.id)]
    readers.append(ViewerContext(german.id, ViewContext.PROFILE))
    shown = {}
    for language in ("de", "fr", None):
        post = await author.publishes("tea", details=PostDetails(language=language))
        entries = await services.pipeline.read_post_for_viewers(post.id, author.id, readers)
        shown[language] = [entry is not None for entry in entries]
    assert shown == {"de": [True] * 5, "fr": [True, True, False, True, True], None: [True] * 5}
