"""Stored blocks, mutes and hidden boosts: exact times, return values and bounded rounds."""

import pytest

from socialsite.ids import AccountId
from socialsite.store import Key, Store
from tests.support.scripting import run_command
from timelines import keys
from timelines.graph.blocks_and_mutes_repository import CAPPED_KEYS, PRUNE_BATCH, BlocksAndMutes
from timelines.graph.follow import Relationship

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
    assert await relations.counts(ALICE, 1) == (0, 0, 0)
    assert await run_command(store, "ZCARD", keys.blocked_by(AccountId(15))) == 0
    assert await run_command(store, "ZCARD", keys.blocks(AccountId(23))) == 0


async def test_a_round_continues_while_accounts_block_a_deleted_account(
    store: Store, relations: BlocksAndMutes
) -> None:
    await relations.block(BOB, ALICE, 1)
    assert await relations.purge(ALICE, 2) is True
    assert await relations.purge(ALICE, 2) is False


async def test_no_accounts_have_no_end_of_a_mute(relations: BlocksAndMutes) -> None:
    assert await relations.muted_until(ALICE, []) == {}
    assert await relations.blocked_either_way(ALICE, []) == set()
