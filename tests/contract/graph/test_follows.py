"""Follow edges change on both sides together, also under concurrent changes."""

import asyncio
from collections.abc import Iterable

from socialsite.ids import AccountId
from socialsite.migration.store_factory import open_store
from socialsite.store import Key, Store, StoreUrls
from timelines import keys
from timelines.graph.edges import EDGES_PER_SCRIPT
from timelines.graph.follow import Follow, FollowCounts
from timelines.graph.repository import Follows

PARTITIONS = 16
ALICE, BOB, CAROL = map(AccountId, (1, 2, 3))


async def edges_of(store: Store) -> tuple[set[tuple[int, int, int]], set[tuple[int, int, int]]]:
    """Return all (follower, followed, ms) of the following sides, and of the followers sides."""
    outgoing, incoming = set(), set()
    key_names = [key for node in store.nodes for key in await node.execute("KEYS", "follows:*")]
    for key in [Key.parse(each.decode()) for each in key_names]:
        _, tag, side, owner = key.split(":")
        reply = await store.node(key).execute("ZRANGE", key, 0, -1, "WITHSCORES")
        for other, at_ms in zip(map(int, reply[::2]), map(int, reply[1::2]), strict=True):
            partition = store.partitioned_component("follows", PARTITIONS)[int(owner), other]
            assert tag == f"{{{partition.tag}}}"
            if side == "following":
                outgoing.add((int(owner), other, at_ms))
            else:
                incoming.add((other, int(owner), at_ms))
    return outgoing, incoming


async def test_a_follow_is_stored_on_both_sides(store: Store, follows: Follows) -> None:
    assert await follows.add(Follow(ALICE, BOB, 1000))
    assert await edges_of(store) == ({(ALICE, BOB, 1000)}, {(ALICE, BOB, 1000)})
    assert await follows.is_following(ALICE, BOB)
    assert not await follows.is_following(BOB, ALICE)


async def test_a_second_follow_changes_nothing(store: Store, follows: Follows) -> None:
    await follows.add(Follow(ALICE, BOB, 1000))
    assert not await follows.add(Follow(ALICE, BOB, 2000))
    assert (await edges_of(store))[0] == {(ALICE, BOB, 1000)}


async def test_an_unfollow_removes_both_sides(store: Store, follows: Follows) -> None:
    await follows.add(Follow(ALICE, BOB, 1000))
    assert await follows.remove(ALICE, BOB)
    assert not await follows.remove(ALICE, BOB)
    assert await edges_of(store) == (set(), set())


async def test_following_each_other_is_two_edges(follows: Follows) -> None:
    await follows.add(Follow(ALICE, BOB, 1000))
    await follows.add(Follow(BOB, ALICE, 1001))
    await follows.remove(ALICE, BOB)
    assert await follows.is_following(BOB, ALICE)
    assert await follows.counts(ALICE) == FollowCounts(followers=1, following=0)


async def test_an_edge_at_time_zero_is_an_edge(follows: Follows) -> None:
    assert await follows.add(Follow(ALICE, BOB, 0))
    assert not await follows.add(Follow(ALICE, BOB, 5))
    assert await follows.is_following(ALICE, BOB)


async def test_one_of_fifty_concurrent_follows_is_new(store: Store, follows: Follows) -> None:
    answers = await asyncio.gather(*(follows.add(Follow(ALICE, BOB, 1000 + n)) for n in range(50)))
    assert sum(answers) == 1
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming
    assert len(outgoing) == 1


async def test_concurrent_follows_and_unfollows_keep_both_sides_equal(store: Store, redis_urls: StoreUrls) -> None:
    stores = [await open_store(redis_urls) for _ in range(5)]
    try:
        many = [Follows(each, partitions=PARTITIONS, following_cap=5_000) for each in stores]
        changes = []
        for n in range(50):
            for other in (BOB, CAROL):
                changes.append(many[n % 5].add(Follow(ALICE, other, 1000 + n)))
                changes.append(many[(n + 1) % 5].remove(ALICE, other))
        answers = await asyncio.gather(*changes)
    finally:
        for each in stores:
            await each.close()
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming
    assert sum(answers[::2]) - sum(answers[1::2]) == len(outgoing)


async def test_counts_are_summed_over_all_partitions(follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(n), ALICE, n) for n in range(100, 300))
    await follows.add_many(Follow(ALICE, AccountId(n), n) for n in range(300, 400))
    assert await follows.counts(ALICE) == FollowCounts(followers=200, following=100)
    assert await follows.following_count(ALICE) == 100
    assert await follows.counts(BOB) == FollowCounts(followers=0, following=0)


def star(size: int) -> Iterable[Follow]:
    return (Follow(AccountId(n), ALICE, 7) for n in range(10, 10 + size))


async def test_an_import_adds_all_its_edges_on_both_sides(store: Store, follows: Follows) -> None:
    size = PARTITIONS * EDGES_PER_SCRIPT * 2 + 1
    assert await follows.add_many(star(size)) == size
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming
    assert len(outgoing) == size


async def test_a_repeated_import_adds_missing_edges(store: Store, follows: Follows) -> None:
    await follows.add_many(star(100))
    assert await follows.add_many(Follow(each.follower_id, ALICE, 9) for each in star(150)) == 50
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming
    assert sum(at_ms == 7 for _, _, at_ms in outgoing) == 100


async def test_a_duplicate_edge_in_an_import_counts_once(store: Store, follows: Follows) -> None:
    assert await follows.add_many([Follow(ALICE, BOB, 1), Follow(ALICE, BOB, 2)]) == 1
    assert await edges_of(store) == ({(ALICE, BOB, 1)}, {(ALICE, BOB, 1)})


async def test_an_empty_import_adds_no_edge(follows: Follows) -> None:
    assert await follows.add_many([]) == 0


async def test_following_ids_are_complete(follows: Follows) -> None:
    await follows.add_many(Follow(ALICE, AccountId(n), 5) for n in range(10, 2_010))
    assert sorted(await follows.following_ids(ALICE)) == list(range(10, 2_010))


async def test_following_ids_are_bounded_after_an_import_above_the_cap(store: Store) -> None:
    follows = Follows(store, partitions=PARTITIONS, following_cap=10)
    await follows.add_many(Follow(ALICE, AccountId(n), 5) for n in range(10, 3_010))
    assert len(await follows.following_ids(ALICE)) == 1_010


async def test_followed_among_returns_the_accounts_that_the_viewer_follows(follows: Follows) -> None:
    await follows.add_many(Follow(ALICE, AccountId(n), 5) for n in range(10, 100, 2))
    ids = [AccountId(n) for n in range(10, 100)]
    assert await follows.followed_among(ALICE, ids) == set(range(10, 100, 2))
    assert await follows.followed_among(ALICE, []) == set()
    assert await follows.followed_among(BOB, ids) == set()
    assert set(await follows.followers_among(AccountId(10), [ALICE, BOB])) == {ALICE}


async def test_two_accounts_can_follow_each_other(store: Store, follows: Follows) -> None:
    await follows.add(Follow(ALICE, BOB, 5))
    for one, other, answer in (
        (ALICE, BOB, (True, False)), (BOB, ALICE, (False, True)), (ALICE, CAROL, (False, False)),
    ):  # fmt: skip
        assert await follows.follows_between(one, other) == list(answer)
    assert await follows.followed_among(ALICE, [BOB, CAROL]) == {BOB}
    assert await follows.followers_among(BOB, [ALICE, CAROL]) == {ALICE: 5}


async def test_a_deleted_accounts_edges_are_removed_in_bounded_rounds(store: Store, follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(n), ALICE, n) for n in range(100, 400))
    await follows.add_many(Follow(ALICE, AccountId(n), n) for n in range(200, 300))
    await follows.add(Follow(BOB, CAROL, 1))
    rounds = []
    while met := await follows.remove_all(ALICE, 150):
        rounds.append(met)
    assert rounds == [150, 150, 100]
    assert await edges_of(store) == ({(BOB, CAROL, 1)}, {(BOB, CAROL, 1)})


async def test_two_concurrent_sweeps_remove_all_edges(store: Store, follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(n), ALICE, n) for n in range(100, 400))

    async def sweep() -> None:
        while await follows.remove_all(ALICE, 20):
            pass

    await asyncio.gather(sweep(), sweep())
    assert await edges_of(store) == (set(), set())


async def test_the_next_follow_repairs_a_lost_side(store: Store, follows: Follows) -> None:
    await follows.add(Follow(ALICE, BOB, 1))
    tag = store.partitioned_component("follows", PARTITIONS)[ALICE, BOB].tag
    lost = keys.followers(tag, BOB)
    await store.node(lost).execute("DEL", lost)
    await follows.add(Follow(ALICE, BOB, 1))
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming


async def test_a_round_of_removal_removes_at_most_its_limit(follows: Follows) -> None:
    for number in range(10, 15):
        await follows.add(Follow(ALICE, AccountId(number), 1))
        await follows.add(Follow(AccountId(number), ALICE, 1))
    assert [await follows.remove_all(ALICE, 4) for _ in range(4)] == [4, 4, 2, 0]
