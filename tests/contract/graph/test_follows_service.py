"""Follows with limits, and accounts that are fanned out on read."""

import asyncio
import random
from dataclasses import replace

import pytest

from accounts.domain import DELETED, SUSPENDED
from accounts.errors import AccountNotFound
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.fakes import FakeAccountDirectory, RecordingTimelineCache
from tests.support.random_tests import mostly_nightly
from tests.support.world import Person, World, ids_on
from timelines.audit import Audit
from timelines.errors import CannotFollowSelf, FollowingCapReached
from timelines.following.service import FollowingService
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import Follow, FollowCounts
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows

ALICE, BOB, CAROL = map(AccountId, (1, 2, 3))

CAP = 5


@pytest.fixture
def homes() -> RecordingTimelineCache:
    return RecordingTimelineCache()


@pytest.fixture
def follows(store: Store) -> Follows:
    return Follows(store, partitions=16, following_cap=CAP)


@pytest.fixture
def service(
    store: Store, follows: Follows, people: FakeAccountDirectory, homes: RecordingTimelineCache
) -> FollowingService:
    return FollowingService(
        follows=follows,
        blocks_and_mutes=BlocksAndMutes(store),
        follow_requests=FollowRequests(store),
        accounts=people,
        homes=homes,
        following_cap=CAP,
    )


async def test_a_follow_returns_whether_it_is_new(service: FollowingService) -> None:
    assert await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)
    assert not await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=2000)
    assert await service.is_following(ALICE, BOB)
    assert await service.counts(BOB) == FollowCounts(followers=1, following=0)


async def test_an_unfollow_returns_whether_a_follow_existed(service: FollowingService) -> None:
    await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)
    assert await service.unfollow(follower_id=ALICE, followed_id=BOB)
    assert not await service.unfollow(follower_id=ALICE, followed_id=BOB)


async def test_an_account_cannot_follow_itself(service: FollowingService) -> None:
    with pytest.raises(CannotFollowSelf):
        await service.follow(follower_id=ALICE, followed_id=ALICE, now_ms=1000)


@pytest.mark.parametrize("state", [SUSPENDED, DELETED])
async def test_only_active_accounts_can_be_followed(
    service: FollowingService, people: FakeAccountDirectory, state: str
) -> None:
    people.states[BOB] = state  # type: ignore[assignment]
    for other in (BOB, AccountId(999)):
        with pytest.raises(AccountNotFound):
            await service.follow(follower_id=ALICE, followed_id=other, now_ms=1000)
    assert await service.counts(ALICE) == FollowCounts(0, 0)


async def test_a_suspended_account_can_be_unfollowed(service: FollowingService, people: FakeAccountDirectory) -> None:
    await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)
    people.states[BOB] = SUSPENDED
    assert await service.unfollow(follower_id=ALICE, followed_id=BOB)


async def test_the_home_timeline_is_invalidated_before_and_after_each_follow(
    service: FollowingService, homes: RecordingTimelineCache
) -> None:
    for _ in range(2):
        await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)
    for _ in range(2):
        await service.unfollow(follower_id=ALICE, followed_id=BOB)
    assert homes.ids == [ALICE] * 8


async def test_a_follow_during_a_deletion_leaves_no_edge(
    service: FollowingService, follows: Follows, people: FakeAccountDirectory
) -> None:
    """Bob is deleted and swept between the check and the write of the edge."""

    async def delete_bob() -> None:
        people.states[BOB] = DELETED
        assert await follows.remove_all(BOB, 100) == 0

    people.after_asking = delete_bob
    with pytest.raises(AccountNotFound):
        await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)
    assert not await follows.is_following(ALICE, BOB)


async def test_an_existing_follow_survives_a_suspension_during_its_repetition(
    service: FollowingService, people: FakeAccountDirectory
) -> None:
    await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)

    async def suspend_bob() -> None:
        people.states[BOB] = SUSPENDED

    people.after_asking = suspend_bob
    assert not await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=2000)
    assert await service.is_following(ALICE, BOB)


async def test_the_cap_refuses_a_new_follow_but_no_repetition(service: FollowingService) -> None:
    for id in range(10, 10 + CAP):
        await service.follow(follower_id=ALICE, followed_id=AccountId(id), now_ms=1000)
    with pytest.raises(FollowingCapReached):
        await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)
    assert not await service.follow(follower_id=ALICE, followed_id=AccountId(10), now_ms=1000)
    await service.unfollow(follower_id=ALICE, followed_id=AccountId(10))
    assert await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1000)


async def test_concurrent_follows_exceed_the_cap_at_most_by_their_number(service: FollowingService) -> None:
    for id in range(10, 9 + CAP):
        await service.follow(follower_id=ALICE, followed_id=AccountId(id), now_ms=1000)
    answers = await asyncio.gather(
        *(service.follow(follower_id=ALICE, followed_id=AccountId(id), now_ms=1) for id in range(50, 60)),
        return_exceptions=True,
    )
    refused = sum(isinstance(answer, FollowingCapReached) for answer in answers)
    assert (await service.counts(ALICE)).following == CAP - 1 + 10 - refused <= CAP + 10 - 1
    with pytest.raises(FollowingCapReached):
        await service.follow(follower_id=ALICE, followed_id=BOB, now_ms=1)


async def test_pages_are_full_without_suspended_accounts(
    service: FollowingService, follows: Follows, people: FakeAccountDirectory
) -> None:
    await follows.add_many(Follow(AccountId(id), ALICE, id) for id in range(2, 42))
    for id in range(2, 42):
        if id % 4:
            people.states[AccountId(id)] = SUSPENDED
    first = await service.followers(ALICE, limit=6)
    second = await service.followers(ALICE, cursor=first.next, limit=6)
    assert first.account_ids == (40, 36, 32, 28, 24, 20)
    assert second.account_ids == (16, 12, 8, 4)
    assert second.next is None


async def test_a_page_of_many_suspended_accounts_ends_in_bounded_time(
    service: FollowingService, follows: Follows, people: FakeAccountDirectory
) -> None:
    await follows.add_many(Follow(AccountId(id), ALICE, id) for id in range(2, 102))
    for id in range(2, 102):
        people.states[AccountId(id)] = SUSPENDED
    people.asked = 0
    page = await service.followers(ALICE, limit=1)
    assert page.account_ids == ()
    assert page.next is not None
    assert people.asked == 20


SMALL = ServiceConfig(home_cap=8, posts_per_pass=1, time_slice_ms=0, read_ahead=1, pull_grace_ms=3_000)

PULLING = replace(SMALL, pull_threshold=1)

PEOPLE, STEPS = 5, 120


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(1_900_000_000_000)


@pytest.fixture
def pulling(store: Store, clock: FixedClock) -> World:
    """Return a site that uses fan-out on read from two followers on."""
    return World(Services(store, clock, PULLING))


async def popular_author(world: World, clock: FixedClock) -> tuple[Person, Person, Person]:
    """Return an author in the fan-out-on-read set and two readers with cached home timelines."""
    author, one, other = await world.people("author", "one", "other")
    for reader in (one, other):
        await reader.follows(author)
        await reader.home()
    await author.publishes("the post that makes it known")
    await world.deliver_all()
    clock.advance(PULLING.pull_grace_ms + 1)
    return author, one, other


async def cached_ids(services: Services, person: Person) -> list[PostId]:
    part = await services.repositories.homes.read_whole(person.id)
    return list(part.ids) if part is not None else []


async def test_a_much_followed_author_is_read_from_the_profile(pulling: World, clock: FixedClock) -> None:
    author, one, _other = await popular_author(pulling, clock)
    post = await author.publishes("hello")
    await pulling.deliver_all()
    assert post.id not in await cached_ids(pulling.services, one)
    assert (await one.home_ids())[0] == post.id


async def test_posts_are_pushed_until_the_grace_period_ends(pulling: World, clock: FixedClock) -> None:
    author, one, _other = await popular_author(pulling, clock)
    clock.advance(-PULLING.pull_grace_ms)
    post = await author.publishes("in the grace time")
    await pulling.deliver_all()
    assert post.id in await cached_ids(pulling.services, one)


async def test_an_unfollowed_popular_author_leaves_the_home_timeline(pulling: World, clock: FixedClock) -> None:
    author, one, _other = await popular_author(pulling, clock)
    post = await author.publishes("hello")
    await one.unfollows(author)
    assert post.id not in await one.home_ids()


async def test_the_audit_accepts_home_timelines_without_posts_of_popular_authors(
    pulling: World, clock: FixedClock
) -> None:
    author, _one, _other = await popular_author(pulling, clock)
    await author.publishes("hello")
    await pulling.deliver_all()
    clock.advance(60_000)
    assert not (await Audit(pulling.services.audit_context, second_check_after_s=0).run()).discrepancies


async def test_no_post_is_missing_after_fan_out_on_read_is_disabled(
    pulling: World, store: Store, clock: FixedClock
) -> None:
    author, one, _other = await popular_author(pulling, clock)
    pulled = await author.publishes("pulled")
    await pulling.deliver_all()
    clock.advance(1)
    off = World(Services(store, clock, SMALL))
    pushed = await off.services.publishing.publish(author_id=author.id, text="pushed", now_ms=clock.now_ms())
    await off.deliver_all()
    assert ids_on(await off.services.reading.home(one.id))[:2] == [pushed.id, pulled.id]
    assert pushed.id in await cached_ids(off.services, one)


@pytest.mark.parametrize("seed", mostly_nightly(range(6), 2))
async def test_pages_are_equal_with_fan_out_on_write_and_on_read(store: Store, clock: FixedClock, seed: int) -> None:
    """After random actions every home timeline equals the merged author timelines, in both directions."""
    chance = random.Random(seed)
    world = World(Services(store, clock, PULLING))
    people = [*await world.people(*(f"p{number}" for number in range(PEOPLE)))]
    follows: set[tuple[int, int]] = set()
    posts: dict[int, int] = {}
    for _ in range(STEPS):
        one, other = chance.choice(people), chance.choice(people)
        clock.advance(chance.choice((1, 50, 1_500, 4_000)))
        match chance.choice(("post", "post", "follow", "follow", "unfollow", "read", "delete")):
            case "post":
                posts[(await one.publishes("text")).id] = one.id
            case "follow" if one is not other:
                await one.follows(other)
                follows.add((one.id, other.id))
            case "unfollow":
                await one.unfollows(other)
                follows.discard((one.id, other.id))
            case "read":
                await one.home()
            case "delete" if posts:
                post_id = PostId(chance.choice(list(posts)))
                author = AccountId(posts.pop(post_id))
                await world.services.publishing.delete(account_id=author, post_id=post_id)
        if chance.random() < 0.6:
            await world.deliver_all()
    await world.deliver_all()
    for reader in people:
        seen = {reader.id, *(followed for follower, followed in follows if follower == reader.id)}
        expected = sorted((id for id, author in posts.items() if author in seen), reverse=True)
        assert await walk(reader, down=True) == expected
        assert await walk(reader, down=False) == expected[::-1]


async def walk(reader: Person, *, down: bool) -> list[PostId]:
    """Return the post ids of all pages of a home timeline."""
    post_ids: list[PostId] = []
    cut: dict[str, int] = {} if down else {"after": 0}
    while True:
        page = await reader.home(limit=3, **cut)
        ids = ids_on(page)
        post_ids += ids if down else ids[::-1]
        cursor = page.next_before if down else page.previous_after
        if cursor is None or not ids:
            return post_ids
        cut = {"before": cursor} if down else {"after": cursor}
