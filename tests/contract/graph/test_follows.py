"""Follows, and the pages of followers and of accounts."""

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.ids import AccountId
from socialsite.migration.store_factory import open_store
from socialsite.store import Key, Store, StoreUrls
from tests.support.graph import ALICE, IDS, ON_ONE_SERVER, newest_first, read_by_pages, read_by_passes
from tests.support.topologies import Deployment
from timelines import keys
from timelines.graph.edges import EDGES_PER_SCRIPT
from timelines.graph.follow import FIRST_PASS, Follow, FollowCounts, FollowCursor
from timelines.graph.repository import Follows
from timelines.graph.zset_page import read_account_page
from timelines.reading.fan_out_on_read import FAN_OUT_ON_READ_CAP, FanOutOnReadAuthors

PARTITIONS = 16

FOLLOWER, BOB, CAROL = map(AccountId, (1, 2, 3))


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
    assert await follows.add(Follow(FOLLOWER, BOB, 1000))
    assert await edges_of(store) == ({(FOLLOWER, BOB, 1000)}, {(FOLLOWER, BOB, 1000)})
    assert await follows.is_following(FOLLOWER, BOB)
    assert not await follows.is_following(BOB, FOLLOWER)


async def test_a_second_follow_changes_nothing(store: Store, follows: Follows) -> None:
    await follows.add(Follow(FOLLOWER, BOB, 1000))
    assert not await follows.add(Follow(FOLLOWER, BOB, 2000))
    assert (await edges_of(store))[0] == {(FOLLOWER, BOB, 1000)}


async def test_an_unfollow_removes_both_sides(store: Store, follows: Follows) -> None:
    await follows.add(Follow(FOLLOWER, BOB, 1000))
    assert await follows.remove(FOLLOWER, BOB)
    assert not await follows.remove(FOLLOWER, BOB)
    assert await edges_of(store) == (set(), set())


async def test_following_each_other_is_two_edges(follows: Follows) -> None:
    await follows.add(Follow(FOLLOWER, BOB, 1000))
    await follows.add(Follow(BOB, FOLLOWER, 1001))
    await follows.remove(FOLLOWER, BOB)
    assert await follows.is_following(BOB, FOLLOWER)
    assert await follows.counts(FOLLOWER) == FollowCounts(followers=1, following=0)


async def test_an_edge_at_time_zero_is_an_edge(follows: Follows) -> None:
    assert await follows.add(Follow(FOLLOWER, BOB, 0))
    assert not await follows.add(Follow(FOLLOWER, BOB, 5))
    assert await follows.is_following(FOLLOWER, BOB)


async def test_one_of_fifty_concurrent_follows_is_new(store: Store, follows: Follows) -> None:
    answers = await asyncio.gather(*(follows.add(Follow(FOLLOWER, BOB, 1000 + n)) for n in range(50)))
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
                changes.append(many[n % 5].add(Follow(FOLLOWER, other, 1000 + n)))
                changes.append(many[(n + 1) % 5].remove(FOLLOWER, other))
        answers = await asyncio.gather(*changes)
    finally:
        for each in stores:
            await each.close()
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming
    assert sum(answers[::2]) - sum(answers[1::2]) == len(outgoing)


async def test_counts_are_summed_over_all_partitions(follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(n), FOLLOWER, n) for n in range(100, 300))
    await follows.add_many(Follow(FOLLOWER, AccountId(n), n) for n in range(300, 400))
    assert await follows.counts(FOLLOWER) == FollowCounts(followers=200, following=100)
    assert await follows.following_count(FOLLOWER) == 100
    assert await follows.counts(BOB) == FollowCounts(followers=0, following=0)


def star(size: int) -> Iterable[Follow]:
    return (Follow(AccountId(n), FOLLOWER, 7) for n in range(10, 10 + size))


async def test_an_import_adds_all_its_edges_on_both_sides(store: Store, follows: Follows) -> None:
    size = PARTITIONS * EDGES_PER_SCRIPT * 2 + 1
    assert await follows.add_many(star(size)) == size
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming
    assert len(outgoing) == size


async def test_a_repeated_import_adds_missing_edges(store: Store, follows: Follows) -> None:
    await follows.add_many(star(100))
    assert await follows.add_many(Follow(each.follower_id, FOLLOWER, 9) for each in star(150)) == 50
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming
    assert sum(at_ms == 7 for _, _, at_ms in outgoing) == 100


async def test_a_duplicate_edge_in_an_import_counts_once(store: Store, follows: Follows) -> None:
    assert await follows.add_many([Follow(FOLLOWER, BOB, 1), Follow(FOLLOWER, BOB, 2)]) == 1
    assert await edges_of(store) == ({(FOLLOWER, BOB, 1)}, {(FOLLOWER, BOB, 1)})


async def test_an_empty_import_adds_no_edge(follows: Follows) -> None:
    assert await follows.add_many([]) == 0


async def test_following_ids_are_complete(follows: Follows) -> None:
    await follows.add_many(Follow(FOLLOWER, AccountId(n), 5) for n in range(10, 2_010))
    assert sorted(await follows.following_ids(FOLLOWER)) == list(range(10, 2_010))


async def test_following_ids_are_bounded_after_an_import_above_the_cap(store: Store) -> None:
    follows = Follows(store, partitions=PARTITIONS, following_cap=10)
    await follows.add_many(Follow(FOLLOWER, AccountId(n), 5) for n in range(10, 3_010))
    assert len(await follows.following_ids(FOLLOWER)) == 1_010


async def test_followed_among_returns_the_accounts_that_the_viewer_follows(follows: Follows) -> None:
    await follows.add_many(Follow(FOLLOWER, AccountId(n), 5) for n in range(10, 100, 2))
    ids = [AccountId(n) for n in range(10, 100)]
    assert await follows.followed_among(FOLLOWER, ids) == set(range(10, 100, 2))
    assert await follows.followed_among(FOLLOWER, []) == set()
    assert await follows.followed_among(BOB, ids) == set()
    assert set(await follows.followers_among(AccountId(10), [FOLLOWER, BOB])) == {FOLLOWER}


async def test_two_accounts_can_follow_each_other(store: Store, follows: Follows) -> None:
    await follows.add(Follow(FOLLOWER, BOB, 5))
    for one, other, answer in (
        (FOLLOWER, BOB, (True, False)), (BOB, FOLLOWER, (False, True)), (FOLLOWER, CAROL, (False, False)),
    ):  # fmt: skip
        assert await follows.follows_between(one, other) == list(answer)
    assert await follows.followed_among(FOLLOWER, [BOB, CAROL]) == {BOB}
    assert await follows.followers_among(BOB, [FOLLOWER, CAROL]) == {FOLLOWER: 5}


async def test_a_deleted_accounts_edges_are_removed_in_bounded_rounds(store: Store, follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(n), FOLLOWER, n) for n in range(100, 400))
    await follows.add_many(Follow(FOLLOWER, AccountId(n), n) for n in range(200, 300))
    await follows.add(Follow(BOB, CAROL, 1))
    rounds = []
    while met := await follows.remove_all(FOLLOWER, 150):
        rounds.append(met)
    assert rounds == [150, 150, 100]
    assert await edges_of(store) == ({(BOB, CAROL, 1)}, {(BOB, CAROL, 1)})


async def test_two_concurrent_sweeps_remove_all_edges(store: Store, follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(n), FOLLOWER, n) for n in range(100, 400))

    async def sweep() -> None:
        while await follows.remove_all(FOLLOWER, 20):
            pass

    await asyncio.gather(sweep(), sweep())
    assert await edges_of(store) == (set(), set())


async def test_the_next_follow_repairs_a_lost_side(store: Store, follows: Follows) -> None:
    await follows.add(Follow(FOLLOWER, BOB, 1))
    tag = store.partitioned_component("follows", PARTITIONS)[FOLLOWER, BOB].tag
    lost = keys.followers(tag, BOB)
    await store.node(lost).execute("DEL", lost)
    await follows.add(Follow(FOLLOWER, BOB, 1))
    outgoing, incoming = await edges_of(store)
    assert outgoing == incoming


async def test_a_round_of_removal_removes_at_most_its_limit(follows: Follows) -> None:
    for number in range(10, 15):
        await follows.add(Follow(FOLLOWER, AccountId(number), 1))
        await follows.add(Follow(AccountId(number), FOLLOWER, 1))
    assert [await follows.remove_all(FOLLOWER, 4) for _ in range(4)] == [4, 4, 2, 0]


async def test_five_thousand_followers_with_equal_times_are_paged_exactly_once(follows: Follows) -> None:
    times = dict.fromkeys(range(2, 5_002), 1_700_000_000_000)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    assert await read_by_pages(follows, 70) == newest_first(times)
    delivered = await read_by_passes(follows, 1_000)
    assert len(delivered) == 5_000
    assert set(delivered) == set(times)


async def test_five_thousand_followers_of_one_partition_and_time_are_paged_exactly_once(store: Store) -> None:
    follows = Follows(store, partitions=1, following_cap=10)
    times = dict.fromkeys(range(2, 5_002), 5)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    assert await read_by_pages(follows, 99) == newest_first(times)
    assert await read_by_passes(follows, 99) == newest_first(times)[::-1]


@ON_ONE_SERVER
@given(times=st.dictionaries(IDS, st.integers(0, 6), max_size=60), limit=st.integers(1, 13))
async def test_pages_and_passes_contain_each_follower_once(
    store: Store, deployment: Deployment, times: dict[int, int], limit: int
) -> None:
    deployment.empty()
    for partitions in (1, 3, 16):
        follows = Follows(store, partitions=partitions, following_cap=10)
        await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
        assert await read_by_pages(follows, limit) == newest_first(times)
        delivered = await read_by_passes(follows, limit)
        assert len(delivered) == len(times)
        assert set(delivered) == set(times)
        deployment.empty()


@pytest.mark.parametrize("limit", [1, 2, 7, 40])
async def test_passes_contain_all_followers_with_equal_times(follows: Follows, limit: int) -> None:
    ids = range(2, 302)
    await follows.add_many(Follow(AccountId(id), ALICE, 1_000 + id % 4) for id in ids)
    assert sorted(await read_by_passes(follows, limit)) == list(ids)


async def test_an_account_without_followers_has_one_empty_page(follows: Follows) -> None:
    assert await read_by_pages(follows, 10) == []
    assert await read_by_passes(follows, 10) == []


async def test_a_page_that_ends_with_the_last_follower_has_no_next(follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(id), ALICE, id) for id in range(2, 12))
    assert (await follows.followers(ALICE, None, 10)).next is None
    assert (await follows.followers_pass(ALICE, FIRST_PASS, 10)).next is None


async def test_a_cursor_without_an_edge_is_valid(follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(id), ALICE, 100 * id) for id in range(2, 12))
    assert (await follows.followers(ALICE, FollowCursor(450, AccountId(999_999)), 10)).account_ids == (4, 3, 2)


async def test_followed_accounts_are_paged_like_followers(follows: Follows) -> None:
    await follows.add_many(Follow(ALICE, AccountId(id), id) for id in range(2, 12))
    first = await follows.following(ALICE, None, 6)
    second = await follows.following(ALICE, first.next, 6)
    assert first.account_ids + second.account_ids == tuple(range(11, 1, -1))
    assert second.next is None


KEY = keys.blocks(1)

ROWS = [(500, 7), (400, 30), (400, 4), (400, 200), (300, 9), (200, 5)]

"""(score, id). Several ids have the score 400: they are ordered by their text, descending."""

NEWEST_FIRST = [7, 4, 30, 200, 9, 5]


async def filled(store: Store) -> None:
    await store.node(KEY).execute("ZADD", KEY, *(part for row in ROWS for part in row))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
async def test_pages_of_any_size_contain_each_account_once(store: Store, limit: int) -> None:
    await filled(store)
    place, account_ids, cursor, pages = store.component("timelines"), list[AccountId](), None, 0
    for _ in range(len(ROWS)):
        page = await read_account_page(place, [KEY], cursor, limit)
        account_ids += page.account_ids
        pages += 1
        cursor = page.next
        if cursor is None:
            break
        assert len(page.account_ids) == limit
        assert cursor == FollowCursor({id: at for at, id in ROWS}[page.account_ids[-1]], page.account_ids[-1])
    assert account_ids == NEWEST_FIRST
    assert cursor is None
    assert pages == -(-len(ROWS) // limit), "a full last page is the last"


async def test_a_page_ends_above_a_score(store: Store) -> None:
    await filled(store)
    page = await read_account_page(store.component("timelines"), [KEY], None, 9, above_ms=300)
    assert page.account_ids == (7, 4, 30, 200)
    assert page.next is None


async def test_a_cursor_of_a_removed_account_is_valid(store: Store) -> None:
    await filled(store)
    page = await read_account_page(store.component("timelines"), [KEY], FollowCursor(400, AccountId(31)), limit=2)
    assert page.account_ids == (30, 200)
    assert page.next == FollowCursor(400, AccountId(200))


async def test_authors_keep_their_first_time_in_the_fan_out_on_read_set(store: Store) -> None:
    pulled = FanOutOnReadAuthors(store)
    for account_id, at_ms in ((5, 100), (6, 200), (5, 300)):
        await pulled.add(AccountId(account_id), at_ms)
    assert await pulled.read_all() == {5: 100, 6: 200}
    await pulled.remove([AccountId(5)])
    assert await pulled.read_all() == {6: 200}


async def test_the_earliest_fan_out_on_read_authors_are_read_up_to_the_cap(store: Store) -> None:
    key = keys.fan_out_on_read_authors()
    rows = [part for number in range(1, FAN_OUT_ON_READ_CAP + 3) for part in (number, number)]
    await store.node(key).execute("ZADD", key, *rows)
    assert list(await FanOutOnReadAuthors(store).read_all()) == list(range(1, FAN_OUT_ON_READ_CAP + 1))
