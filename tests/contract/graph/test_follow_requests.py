"""Follow requests of private accounts: sent, accepted, refused, withdrawn, with races."""

import asyncio

import pytest

from accounts.errors import AccountNotFound
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.graph import follow_request_sides, read_relation
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import FollowRequestsCapReached, RequesterFollowingCapReached
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow_requests_repository import FollowRequests


async def test_a_private_account_receives_and_accepts_a_request(alice: Person, bob: Person, services: Services) -> None:
    await bob.locks()
    post = await bob.publishes("for those I know")
    assert not await alice.follows(bob)
    assert (await read_relation(services, alice, bob)).requested
    assert await alice.home_ids() == []
    assert (await services.follow_requests.page(bob.id)).account_ids == (alice.id,)
    now_ms = services.clock.now_ms()
    assert await services.follow_requests.accept(account_id=bob.id, requester_id=alice.id, now_ms=now_ms)
    assert not await services.follow_requests.accept(account_id=bob.id, requester_id=alice.id, now_ms=now_ms)
    assert await alice.home_ids() == [post.id]
    assert await follow_request_sides(services, alice, bob) == (False, False)
    assert await services.follow_requests.count(bob.id) == 0


async def test_a_request_of_an_account_at_its_following_cap_stays_open(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await bob.locks()
    await alice.follows(bob)
    await alice.follows(carol)
    at, now_ms = services.repositories, services.clock.now_ms()
    requests = FollowRequestService(
        follow_requests=at.follow_requests, blocks_and_mutes=at.blocks_and_mutes, follows=at.follows,
        accounts=services.accounts, homes=at.homes, following_cap=1,
    )  # fmt: skip
    with pytest.raises(RequesterFollowingCapReached):
        await requests.accept(account_id=bob.id, requester_id=alice.id, now_ms=now_ms)
    assert await follow_request_sides(services, alice, bob) == (True, True)
    assert not (await read_relation(services, alice, bob)).follows
    await alice.unfollows(carol)
    assert await requests.accept(account_id=bob.id, requester_id=alice.id, now_ms=now_ms)


async def test_only_an_existing_request_can_be_accepted(alice: Person, bob: Person, services: Services) -> None:
    await bob.locks()
    with pytest.raises(AccountNotFound):
        await services.follow_requests.accept(account_id=bob.id, requester_id=alice.id, now_ms=1)


async def test_a_refused_request_can_be_sent_again(alice: Person, bob: Person, services: Services) -> None:
    await bob.locks()
    await alice.follows(bob)
    assert await services.follow_requests.refuse(account_id=bob.id, requester_id=alice.id)
    assert not await services.follow_requests.refuse(account_id=bob.id, requester_id=alice.id)
    assert await follow_request_sides(services, alice, bob) == (False, False)
    await alice.follows(bob)
    assert await follow_request_sides(services, alice, bob) == (True, True)


async def test_unfollowing_withdraws_a_request(alice: Person, bob: Person, services: Services) -> None:
    await bob.locks()
    await alice.follows(bob)
    await alice.unfollows(bob)
    assert await follow_request_sides(services, alice, bob) == (False, False)


async def test_a_withdrawal_overrides_a_concurrent_acceptance(alice: Person, bob: Person, services: Services) -> None:
    await bob.locks()
    for _ in range(20):
        await alice.follows(bob)
        now_ms = services.clock.now_ms()
        await asyncio.gather(
            services.follow_requests.accept(account_id=bob.id, requester_id=alice.id, now_ms=now_ms),
            alice.unfollows(bob),
            return_exceptions=True,
        )
        assert await follow_request_sides(services, alice, bob) == (False, False)
        assert not (await read_relation(services, alice, bob)).follows
        await alice.unfollows(bob)


async def test_concurrent_acceptances_create_one_follow(alice: Person, bob: Person, services: Services) -> None:
    await bob.locks()
    await alice.follows(bob)
    accept = services.follow_requests.accept
    await asyncio.gather(
        *(accept(account_id=bob.id, requester_id=alice.id, now_ms=1) for _ in range(3)), return_exceptions=True
    )
    assert (await read_relation(services, alice, bob)).follows
    assert await follow_request_sides(services, alice, bob) == (False, False)


async def test_making_an_account_public_accepts_no_request(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    await bob.locks()
    await alice.follows(bob)
    await bob.locks(private=False)
    assert await follow_request_sides(services, alice, bob) == (True, True)
    assert not (await read_relation(services, alice, bob)).follows
    assert (await read_relation(services, carol, bob)).follows  # existing followers remain
    assert await alice.follows(bob)
    assert await follow_request_sides(services, alice, bob) == (False, False)


async def test_a_follow_becomes_a_request_if_the_account_turns_private_meanwhile(
    alice: Person, bob: Person, services: Services
) -> None:
    at, locked = services.repositories, []

    class Locking(FollowRequests):
        async def add(self, *args: int) -> bool:
            locked.append(args)
            return await super().add(*args)  # type: ignore[arg-type]

    class Late(BlocksAndMutes):
        async def blocked_either_way(self, account_id: AccountId, others) -> set[AccountId]:
            await bob.locks()
            return await super().blocked_either_way(account_id, others)

    following = FollowingService(
        follows=at.follows, blocks_and_mutes=Late(services.store), follow_requests=Locking(services.store),
        accounts=services.accounts, homes=at.homes, following_cap=10,
    )  # fmt: skip
    assert not await following.follow(follower_id=alice.id, followed_id=bob.id, now_ms=1)
    assert len(locked) == 1
    assert not await services.following.is_following(alice.id, bob.id)
    assert await follow_request_sides(services, alice, bob) == (True, True)


async def test_more_requests_than_the_cap_are_refused(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    at = services.repositories
    for other in (bob, carol):
        await other.locks()
    following = FollowingService(
        follows=at.follows, blocks_and_mutes=at.blocks_and_mutes, follow_requests=at.follow_requests,
        accounts=services.accounts, homes=at.homes, following_cap=10, open_requests_cap=1,
    )  # fmt: skip
    await following.follow(follower_id=alice.id, followed_id=bob.id, now_ms=1)
    with pytest.raises(FollowRequestsCapReached):
        await following.follow(follower_id=alice.id, followed_id=carol.id, now_ms=1)
    assert not await following.follow(follower_id=alice.id, followed_id=bob.id, now_ms=2)
    assert await follow_request_sides(services, alice, bob) == (True, True)


async def test_a_removed_follower_can_follow_again(alice: Person, bob: Person, services: Services) -> None:
    post = await bob.publishes("hello")
    await alice.follows(bob)
    assert await alice.home_ids() == [post.id]
    assert await services.blocks_and_mutes.remove_follower(account_id=bob.id, follower_id=alice.id)
    assert not await services.blocks_and_mutes.remove_follower(account_id=bob.id, follower_id=alice.id)
    assert await alice.home_ids() == []
    assert await alice.follows(bob)


async def test_a_repeated_request_keeps_its_time_on_both_sides(services: Services) -> None:
    """Repeating a request therefore does not move it to the top of the page."""
    requests, asker, asked = services.repositories.follow_requests, AccountId(1), AccountId(2)
    assert await requests.add(asker, asked, 100)
    assert not await requests.add(asker, asked, 200)
    sides = [("ZSCORE", keys.follow_requests(asked), asker), ("ZSCORE", keys.sent_follow_requests(asker), asked)]
    assert await services.store.execute_all(sides) == [b"100", b"100"]


async def test_a_deleted_account_leaves_no_request_on_either_side(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await bob.locks()
    await carol.locks()
    await alice.follows(bob)
    await bob.follows(carol)
    requests = services.repositories.follow_requests
    assert await requests.purge(bob.id, 10)
    assert not await requests.purge(bob.id, 10)
    assert await follow_request_sides(services, alice, bob) == (False, False)
    assert await follow_request_sides(services, bob, carol) == (False, False)


async def test_a_request_with_one_remaining_side_can_be_withdrawn(services: Services) -> None:
    alice, bob, at = AccountId(1), AccountId(2), services.repositories
    for side in (keys.follow_requests(bob), keys.sent_follow_requests(alice)):
        await at.follow_requests.add(alice, bob, 5)
        await services.store.execute_all([("DEL", side)])
        assert await at.follow_requests.remove(alice, bob)
        assert not await at.follow_requests.remove(alice, bob)


async def test_a_round_of_purging_removes_at_most_its_limit(services: Services) -> None:
    requests, bob = services.repositories.follow_requests, AccountId(9)
    for number in range(1, 4):
        await requests.add(AccountId(number), bob, number)
    left = []
    while await requests.purge(bob, 1):
        left.append(await requests.count(bob))
    assert left == [2, 1, 0]


async def test_reads_of_no_accounts_return_no_requests_and_no_mutes(services: Services) -> None:
    at = services.repositories
    assert await at.follow_requests.requested_among(AccountId(1), []) == set()
    assert await at.blocks_and_mutes.muted_until(AccountId(1), []) == {}
