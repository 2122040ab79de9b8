"""The following service: rules, caps, deleted accounts and invalidation of the home timeline."""

import asyncio

import pytest

from accounts.domain import DELETED, SUSPENDED
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from socialsite.store import Store
from tests.support.people import FakeAccountDirectory, RecordingTimelineCache
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
