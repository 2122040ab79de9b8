"""Blocks and mutes, and how they are stored."""

import asyncio

import pytest

from accounts.errors import AccountNotFound
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.store import Key, Store
from tests.support.graph import follow_request_sides, read_relation, service_with_cap_of_one
from tests.support.nodes import run_command
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import (
    BlocksAndMutesCapReached,
    CannotBlockOrMuteSelf,
    CannotFollowSelf,
    PostInvalid,
    PostNotFound,
)
from timelines.following.service import FollowingService
from timelines.graph.blocks_and_mutes_repository import CAPPED_KEYS, PRUNE_BATCH, BlocksAndMutes
from timelines.graph.follow import FollowCursor, Relationship

HOUR_MS = 3_600_000

# Blocks


async def test_a_block_ends_follows_and_requests_both_ways(alice: Person, bob: Person, services: Services) -> None:
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


async def test_a_repeated_block_changes_nothing_and_a_block_can_be_undone(alice: Person, bob: Person) -> None:
    assert await alice.blocks(bob)
    assert not await alice.blocks(bob)
    assert await alice.unblocks(bob)
    assert not await alice.unblocks(bob)
    assert await bob.follows(alice)


@pytest.mark.parametrize("blocker", ["alice", "bob"])
async def test_neither_side_of_a_block_follows_the_other(alice: Person, bob: Person, blocker: str) -> None:
    await (alice.blocks(bob) if blocker == "alice" else bob.blocks(alice))
    for one, other in ((alice, bob), (bob, alice)):
        with pytest.raises(AccountNotFound):
            await one.follows(other)


async def test_an_account_cannot_block_or_mute_itself(alice: Person, services: Services) -> None:
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


async def test_concurrent_follows_and_blocks_leave_no_edge(alice: Person, bob: Person, services: Services) -> None:
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
    world: World, alice: Person, services: Services, relations: BlocksAndMutes
) -> None:
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
    alice: Person, bob: Person, services: Services
) -> None:
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


async def test_a_block_above_the_cap_is_refused(alice: Person, bob: Person, carol: Person, services: Services) -> None:
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
    with pytest.raises(BlocksAndMutesCapReached):  # bob may be reinstated
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


async def test_a_reply_to_a_post_for_followers_is_for_followers(alice: Person, bob: Person, carol: Person) -> None:
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


ALICE, BOB, CAROL = AccountId(7), AccountId(8), AccountId(9)


async def at(store: Store, key: Key) -> list[bytes]:
    """Return the members with their times."""
    members: list[bytes] = await run_command(store, "ZRANGE", key, 0, -1, "WITHSCORES")
    return members


async def related(store: Store, now_ms: int) -> Relationship:
    """Return Alice's relationship to Bob."""
    relationship = await BlocksAndMutes(store).relationship(ALICE, BOB, now_ms)
    assert isinstance(relationship, Relationship)
    return relationship


async def test_a_block_keeps_its_time_on_both_sides(store: Store, relations: BlocksAndMutes) -> None:
    assert await relations.block(ALICE, BOB, 100) is True
    assert await relations.block(ALICE, BOB, 200) is False
    assert await at(store, keys.blocks(ALICE)) == [b"8", b"100"]
    assert await at(store, keys.blocked_by(BOB)) == [b"7", b"100"]
    assert await relations.blocked_either_way(ALICE, [BOB, CAROL]) == {BOB}
    assert await relations.blocked_either_way(BOB, [ALICE, CAROL]) == {ALICE}
    assert await relations.unblock(ALICE, BOB) is True
    assert await relations.unblock(ALICE, BOB) is False
    assert await at(store, keys.blocked_by(BOB)) == []


async def test_a_mute_is_new_if_its_end_changes(store: Store, relations: BlocksAndMutes) -> None:
    assert await relations.mute(ALICE, BOB, 500, 100) is True
    assert await relations.mute(ALICE, BOB, 500, 100) is False
    assert await relations.mute(ALICE, BOB, 600, 100) is True
    assert await relations.muted_until(ALICE, [CAROL, BOB]) == {BOB: 600}
    assert await relations.mute(ALICE, CAROL, 900, 599) is True
    assert await at(store, keys.mutes(ALICE)) == [b"8", b"600", b"9", b"900"]
    assert await relations.mute(ALICE, CAROL, 900, 600) is False
    assert await at(store, keys.mutes(ALICE)) == [b"9", b"900"]
    assert await relations.unmute(ALICE, CAROL) is True
    assert await relations.unmute(ALICE, CAROL) is False


async def test_hidden_boosts_keep_their_time(store: Store, relations: BlocksAndMutes) -> None:
    assert await relations.hide_boosts(ALICE, BOB, 100) is True
    assert await relations.hide_boosts(ALICE, BOB, 200) is False
    assert await at(store, keys.boosts_hidden(ALICE)) == [b"8", b"100"]
    assert await relations.show_boosts(ALICE, BOB) is True
    assert await relations.show_boosts(ALICE, BOB) is False


async def test_each_field_of_the_relationship_is_independent(store: Store, relations: BlocksAndMutes) -> None:
    assert await related(store, 100) == Relationship()
    await relations.block(ALICE, BOB, 1)
    assert await related(store, 100) == Relationship(blocks=True)
    await relations.unblock(ALICE, BOB)
    await relations.block(BOB, ALICE, 1)
    assert await related(store, 100) == Relationship(is_blocked=True)
    await relations.unblock(BOB, ALICE)
    await relations.mute(ALICE, BOB, 100, 1)
    assert await related(store, 99) == Relationship(muted_until_ms=100)
    assert await related(store, 100) == Relationship()
    await relations.hide_boosts(ALICE, BOB, 1)
    assert await related(store, 100) == Relationship(hides_boosts=True)
    await run_command(store, "ZADD", keys.sent_follow_requests(ALICE), 1, BOB)
    assert await related(store, 99) == Relationship(requested=True, hides_boosts=True, muted_until_ms=100)


async def test_expired_mutes_are_not_counted(relations: BlocksAndMutes) -> None:
    await relations.block(ALICE, BOB, 1)
    await relations.block(ALICE, CAROL, 1)
    await relations.mute(ALICE, BOB, 100, 1)
    await relations.mute(ALICE, CAROL, 101, 1)
    assert await relations.counts(ALICE, 99) == (2, 2, 0)
    assert await relations.counts(ALICE, 100) == (2, 1, 0)
    await relations.hide_boosts(ALICE, BOB, 1)
    assert await relations.counts(ALICE, 101) == (2, 0, 1)


@pytest.mark.parametrize("which", range(3))
async def test_deleted_members_are_pruned_in_batches(store: Store, relations: BlocksAndMutes, which: int) -> None:
    key, members, parts = CAPPED_KEYS[which](ALICE), range(1, 2 * PRUNE_BATCH + 2), []
    await run_command(store, "ZADD", key, *(part for member in members for part in (member, member)))
    dead: set[int] = set()

    async def gone(some: list[AccountId]) -> list[AccountId]:
        parts.append(some)
        return [member for member in some if member in dead]

    assert await relations.prune(ALICE, which, gone) == 0
    assert parts == [list(members[:PRUNE_BATCH]), list(members[PRUNE_BATCH:-1]), list(members[-1:])]
    parts.clear()
    dead |= {PRUNE_BATCH + 1, 2 * PRUNE_BATCH}
    assert await relations.prune(ALICE, which, gone) == 2
    assert parts == [list(members[:PRUNE_BATCH]), list(members[PRUNE_BATCH:-1])]
    assert await run_command(store, "ZCARD", key) == len(members) - 2
    assert await run_command(store, "ZMSCORE", key, *sorted(dead)) == [None, None]


async def test_a_deleted_account_is_removed_from_both_sides_in_bounded_rounds(
    store: Store, relations: BlocksAndMutes
) -> None:
    for other in range(11, 16):
        await relations.block(ALICE, AccountId(other), other)
    for other in range(21, 24):
        await relations.block(AccountId(other), ALICE, other)
    await relations.mute(ALICE, BOB, 100, 1)
    await relations.hide_boosts(ALICE, BOB, 1)
    own, mirror, left = keys.blocks(ALICE), keys.blocked_by(ALICE), []
    while await relations.purge(ALICE, 2):
        left.append((await run_command(store, "ZCARD", own), await run_command(store, "ZCARD", mirror)))
        assert await relations.counts(ALICE, 1) == (left[-1][0], 1, 1)
    assert left == [(3, 1), (1, 0), (0, 0)]
    assert await relations.counts(ALICE, 1) == (0, 1, 1), "AccountPurge deletes the private keys"
    assert await run_command(store, "ZCARD", keys.blocked_by(AccountId(15))) == 0
    assert await run_command(store, "ZCARD", keys.blocks(AccountId(23))) == 0


async def test_a_round_continues_while_accounts_block_a_deleted_account(
    store: Store, relations: BlocksAndMutes
) -> None:
    await relations.block(BOB, ALICE, 1)
    assert await relations.purge(ALICE, 2) is True
    assert await relations.purge(ALICE, 2) is False


async def test_reads_of_no_accounts_return_nothing(relations: BlocksAndMutes) -> None:
    assert await relations.muted_until(ALICE, []) == {}
    assert await relations.blocked_either_way(ALICE, []) == set()
