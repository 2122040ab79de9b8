"""Blocks and mutes are consistent on both sides after races, interruptions and repetitions."""

import asyncio

import pytest

from accounts.errors import AccountNotFound
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.relating import follow_request_sides, read_relation, service_with_cap_of_one
from tests.support.world import World
from timelines import keys
from timelines.errors import (
    BlocksAndMutesCapReached,
    CannotBlockOrMuteSelf,
    CannotFollowSelf,
    PostInvalid,
    PostNotFound,
)
from timelines.following.service import FollowingService
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import FollowCursor

HOUR_MS = 3_600_000


# Blocks


async def test_a_block_ends_follows_and_requests_both_ways(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    await bob.locks()
    await alice.follows(bob)
    assert await alice.blocks(bob)
    seen, met = await read_relation(services, alice, bob), await read_relation(services, bob, alice)
    assert (seen.blocks, seen.is_blocked, seen.follows, seen.is_followed, seen.requested) == (
        True, False, False, False, False,
    )  # fmt: skip
    assert (met.blocks, met.is_blocked, met.follows, met.is_followed) == (False, True, False, False)
    assert await follow_request_sides(services, alice, bob) == (False, False)


async def test_a_repeated_block_changes_nothing_and_a_block_can_be_undone(world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    assert await alice.blocks(bob)
    assert not await alice.blocks(bob)
    assert await alice.unblocks(bob)
    assert not await alice.unblocks(bob)
    assert await bob.follows(alice)


@pytest.mark.parametrize("blocker", ["alice", "bob"])
async def test_neither_side_of_a_block_follows_the_other(world: World, blocker: str) -> None:
    alice, bob = await world.people("alice", "bob")
    await (alice.blocks(bob) if blocker == "alice" else bob.blocks(alice))
    for one, other in ((alice, bob), (bob, alice)):
        with pytest.raises(AccountNotFound):
            await one.follows(other)


async def test_an_account_cannot_block_or_mute_itself(world: World, services: Services) -> None:
    alice = await world.person("alice")
    now_ms = services.clock.now_ms()
    with pytest.raises(CannotBlockOrMuteSelf):
        await alice.blocks(alice)
    with pytest.raises(CannotBlockOrMuteSelf):
        await alice.mutes(alice)
    with pytest.raises(CannotBlockOrMuteSelf):
        await services.blocks_and_mutes.hide_boosts(account_id=alice.id, other_id=alice.id, now_ms=now_ms)
    with pytest.raises(CannotFollowSelf):
        await alice.follows(alice)


async def test_a_block_ends_a_concurrent_follow(world: World, services: Services, relations: BlocksAndMutes) -> None:
    """The block is complete between the check of the follow and the write of its edge."""
    alice, bob = await world.people("alice", "bob")

    class Late(BlocksAndMutes):
        looks = 0

        async def blocked_either_way(self, account_id: AccountId, others) -> set[AccountId]:
            blocked_ids = await super().blocked_either_way(account_id, others)
            self.looks += 1
            if self.looks == 1:
                await bob.blocks(alice)
            return blocked_ids

    at, late = services.repositories, Late(services.store)
    following = FollowingService(
        follows=at.follows, blocks_and_mutes=late, follow_requests=at.follow_requests, accounts=services.accounts,
        homes=at.homes, following_cap=10,
    )  # fmt: skip
    with pytest.raises(AccountNotFound):
        await following.follow(follower_id=alice.id, followed_id=bob.id, now_ms=services.clock.now_ms())
    assert not await services.following.is_following(alice.id, bob.id)
    assert late.looks == 2


async def test_concurrent_follows_and_blocks_leave_no_edge(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    for _ in range(20):
        await asyncio.gather(alice.follows(bob), bob.blocks(alice), return_exceptions=True)
        assert not await services.following.is_following(alice.id, bob.id)
        await bob.unblocks(alice)
        await alice.unfollows(bob)


@pytest.mark.parametrize("lost", [keys.blocks, keys.blocked_by])
async def test_repeating_a_block_repairs_a_side_missing_after_a_crash(world: World, services: Services, lost) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.blocks(bob)
    key = lost(alice.id if lost is keys.blocks else bob.id)
    await services.store.node(key).execute("DEL", key)
    await alice.blocks(bob)
    assert (await read_relation(services, alice, bob)).blocks
    assert (await read_relation(services, bob, alice)).is_blocked
    await services.store.node(key).execute("DEL", key)
    await alice.unblocks(bob)
    assert not (await read_relation(services, bob, alice)).is_blocked_either_way


async def test_blocked_accounts_with_equal_times_are_listed_in_pages(
    world: World, services: Services, relations: BlocksAndMutes
) -> None:
    alice = await world.person("alice")
    others = [(await world.person(f"p{number}")).id for number in range(9)]
    for other in others:
        await relations.block(alice.id, other, 1_000)
    account_ids: list[AccountId] = []
    cursor: FollowCursor | None = None
    for _ in range(5):
        page = await services.blocks_and_mutes.blocked(alice.id, cursor, 2)
        account_ids += page.account_ids
        cursor = page.next
    assert cursor is None
    assert sorted(account_ids) == sorted(others)
    assert len(set(account_ids)) == 9


async def test_a_suspended_account_is_hidden_from_pages_until_it_is_reinstated(
    world: World, services: Services
) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.blocks(bob)
    await services.accounts.suspend(account_id=bob.id)
    assert (await services.blocks_and_mutes.blocked(alice.id)).account_ids == ()
    await services.accounts.reinstate(account_id=bob.id)
    assert (await services.blocks_and_mutes.blocked(alice.id)).account_ids == (bob.id,)


async def test_blocked_accounts_are_on_no_page_of_followers(world: World, services: Services) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for fan in (alice, bob, carol):
        await fan.follows(dave)
    await alice.blocks(bob)
    seen = await services.following.followers(dave.id, viewer_id=alice.id)
    assert set(seen.account_ids) == {alice.id, carol.id}
    assert bob.id in (await services.following.followers(dave.id, viewer_id=carol.id)).account_ids


async def test_a_block_above_the_cap_is_refused(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    capped, now_ms = service_with_cap_of_one(services), services.clock.now_ms()
    for act in (capped.block, capped.mute, capped.hide_boosts):
        await act(account_id=alice.id, other_id=bob.id, now_ms=now_ms)
        with pytest.raises(BlocksAndMutesCapReached):
            await act(account_id=alice.id, other_id=carol.id, now_ms=now_ms)
        assert not await act(account_id=alice.id, other_id=bob.id, now_ms=now_ms)  # a repetition adds none


@pytest.mark.parametrize("verb", ["block", "mute", "hide_boosts"])
async def test_deleted_accounts_do_not_count_towards_the_cap(world: World, services: Services, verb: str) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    capped, now_ms = service_with_cap_of_one(services), services.clock.now_ms()
    act = getattr(capped, verb)
    await act(account_id=alice.id, other_id=bob.id, now_ms=now_ms)
    await services.accounts.suspend(account_id=bob.id)
    with pytest.raises(BlocksAndMutesCapReached):  # it may be reinstated
        await act(account_id=alice.id, other_id=carol.id, now_ms=now_ms)
    await services.accounts.delete(account_id=bob.id)
    assert await act(account_id=alice.id, other_id=carol.id, now_ms=now_ms)
    with pytest.raises(BlocksAndMutesCapReached):
        await act(account_id=alice.id, other_id=dave.id, now_ms=now_ms)


# Actions that a block refuses


@pytest.mark.parametrize("blocker", ["alice", "bob"])
async def test_a_block_refuses_replies_likes_and_boosts(world: World, services: Services, blocker: str) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await bob.publishes("hello")
    await (alice.blocks(bob) if blocker == "alice" else bob.blocks(alice))
    now_ms = services.clock.now_ms()
    with pytest.raises(PostInvalid):
        await alice.publishes("an answer", in_reply_to=post)
    for act in (services.reactions.like, services.reactions.boost, services.reactions.bookmark):
        with pytest.raises(PostNotFound):
            await act(account_id=alice.id, post_id=post.id, now_ms=now_ms)
    assert not await services.blocks_and_mutes.may_interact(alice.id, bob.id)


async def test_a_reply_to_a_post_for_followers_is_for_followers(world: World) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await alice.follows(bob)
    post = await bob.publishes("among us", audience=2)
    with pytest.raises(PostInvalid):
        await carol.publishes("I cannot see this", in_reply_to=post)
    assert (await alice.publishes("an answer", in_reply_to=post)).audience == 2
    assert (await alice.publishes("to all", in_reply_to=post, audience=0)).audience == 0


# Deletion of an account


async def test_a_deleted_account_leaves_no_block_or_mute(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await alice.blocks(bob)
    await carol.blocks(alice)
    await alice.mutes(carol)
    await bob.locks()
    await alice.unblocks(bob)
    await alice.follows(bob)
    await services.blocks_and_mutes.hide_boosts(account_id=alice.id, other_id=carol.id, now_ms=1)
    await services.filters.add(account_id=alice.id, phrase="tea")
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    of_all = (
        keys.blocks,
        keys.blocked_by,
        keys.mutes,
        keys.boosts_hidden,
        keys.follow_requests,
        keys.sent_follow_requests,
        keys.keyword_filters,
    )
    for person in (alice, bob, carol):
        for build in of_all:
            key = build(person.id)
            assert not await services.store.node(key).execute("EXISTS", key), key
