"""Limits of reads of one side of edges, passes during new edges, and changes that wait."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

import pytest

from socialsite.ids import AccountId
from socialsite.store import Command, KeyDataShardedConnection, Reply, Store
from socialsite.store.errors import PartitionLayoutChanged, WrongType
from socialsite.store.pair_partitions import partition_of_pair
from timelines import keys
from timelines.graph.edge_list import MEMBERS_PER_FIRST_READ, EdgeList
from timelines.graph.edges import MAX_LAYOUT_CHANGES, PairEdges
from timelines.graph.follow import FIRST_PASS, Follow, PassCursor
from timelines.graph.repository import FOLLOWED_PER_PARTITION, Follows

ALICE, BOB, CAROL = map(AccountId, (1, 2, 3))


class WatchedPairs(KeyDataShardedConnection):
    """A real connection that counts round trips and calls `meanwhile` once after `after` commands."""

    def __init__(
        self, store: Store, partitions: int, meanwhile: Callable[[], Awaitable[object]] | None = None, after: int = 0
    ) -> None:
        super().__init__(store, "follows", partitions)
        self.trips = 0
        self._meanwhile = meanwhile
        self._after = after

    async def execute_all(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        commands = list(commands)
        self.trips += bool(commands)
        if self._meanwhile is None or self._after > len(commands):
            self._after -= len(commands)
            return await super().execute_all(commands, may_lag=may_lag)
        meanwhile, self._meanwhile = self._meanwhile, None
        replies = await super().execute_all(commands[: self._after], may_lag=may_lag)
        await meanwhile()
        return replies + await super().execute_all(commands[self._after :], may_lag=may_lag)


async def read_pass(
    pairs: KeyDataShardedConnection, cursor: PassCursor, limit: int
) -> tuple[list[int], PassCursor | None]:
    page = await EdgeList[int](pairs, keys.followers).next_pass(ALICE, cursor, limit)
    return list(page.ids), page.next


def edges_of(store: Store, partitions: int) -> PairEdges[int, int]:
    return PairEdges(
        store.partitioned_component("follows", partitions), outgoing=keys.following, incoming=keys.followers
    )


def of_partition(number: int, partitions: int, count: int, start: int = 2) -> list[int]:
    """Return the first `count` ids from `start` on with their edge to Alice in partition `number`."""
    ids = [id for id in range(start, start + 500) if partition_of_pair(id, ALICE, partitions) == number]
    return ids[:count]


async def test_reads_of_a_partition_end_at_their_limit(store: Store) -> None:
    edges = edges_of(store, 1)
    await edges.add_many((ALICE, id, 100 + id) for id in range(2, 9))
    side = edges.outgoing
    assert await side.ids(ALICE, 5) == [2, 3, 4, 5, 6]
    assert await side.ids(ALICE, 7) == [2, 3, 4, 5, 6, 7, 8]
    assert await side.first_ids(ALICE, 3) == [2, 3, 4]
    assert await side.times(ALICE, 3) == {2: 102, 3: 103, 4: 104}


async def test_reads_of_several_partitions_end_at_their_limit(store: Store) -> None:
    edges, partitions = edges_of(store, 2), 2
    one, other = (of_partition(number, partitions, 4) for number in range(partitions))
    await edges.add_many((ALICE, id, 1_000 + id) for id in (*one, *other))
    side = edges.outgoing
    assert await side.ids(ALICE, 5) == [*one, other[0]]
    assert await side.first_ids(ALICE, 3) == [*one[:3], *other[:3]]
    assert await side.times(ALICE, 5) == {id: 1_000 + id for id in [*one, other[0]]}


@pytest.mark.parametrize(
    ("cursor", "limit", "ids", "next", "trips"),
    [
        (FIRST_PASS, 2, [2, 3], PassCursor(0, 5, 3), 1),
        (FIRST_PASS, 6, [2, 3, 4, 5, 6, 7], None, 1),
        (PassCursor(0, 5, 2), 1, [3], PassCursor(0, 5, 3), 1),
        (PassCursor(0, 5, 2), 2, [3, 4], PassCursor(0, 5, 4), 1),
        (PassCursor(0, 5, 2), 3, [3, 4, 5], PassCursor(0, 6, 5), 2),
        (PassCursor(0, 5, 2), 4, [3, 4, 5, 6], PassCursor(0, 7, 6), 2),
        (PassCursor(0, 5, 2), 5, [3, 4, 5, 6, 7], None, 1),
        (PassCursor(0, 8, 7), 5, [], None, 1),
    ],
)
async def test_a_pass_reads_again_only_if_ties_change_its_last_follower(
    store: Store, cursor: PassCursor, limit: int, ids: list[int], next: PassCursor | None, trips: int
) -> None:
    await edges_of(store, 1).add_many(
        (id, ALICE, at_ms) for id, at_ms in ((2, 5), (3, 5), (4, 5), (5, 6), (6, 7), (7, 8))
    )
    pairs = WatchedPairs(store, 1)
    assert await read_pass(pairs, cursor, limit) == (ids, next)
    assert pairs.trips == trips


class Growing:
    """Followers of Alice by partition (partition 0 is empty); a pass is read while followers are added."""

    def __init__(self, store: Store, sizes: Sequence[int]) -> None:
        self._store = store
        self._count = len(sizes) + 1
        self.ids = [of_partition(number, self._count, size) for number, size in enumerate(sizes, 1)]
        self._edges = edges_of(store, self._count)

    async def passed(self, limit: int, partition: int, more: int) -> tuple[list[int], PassCursor | None]:
        """Read the first pass; add `more` older edges to the partition between its two reads."""
        await self._edges.add_many((id, ALICE, 1_000 + id) for ids in self.ids for id in ids)
        self.come = of_partition(partition, self._count, more, start=1_000)

        async def come() -> None:
            await self._edges.add_many((id, ALICE, at_ms) for at_ms, id in enumerate(self.come))

        pairs = WatchedPairs(self._store, self._count, come, after=3 + len(self.ids))
        return await read_pass(pairs, FIRST_PASS, limit)


async def test_a_partition_that_no_longer_fits_is_left_to_the_next_pass(store: Store) -> None:
    followers = Growing(store, [2, 2])
    ids, next = await followers.passed(4, partition=1, more=1)
    assert ids == [*followers.come, *followers.ids[0]]
    assert next == PassCursor.start_of(2)


async def test_a_partition_that_grew_during_a_pass_is_left_to_the_next_pass(store: Store) -> None:
    followers = Growing(store, [1, 1, 5])
    ids, next = await followers.passed(4, partition=2, more=3)
    assert ids == followers.ids[0]
    assert next == PassCursor.start_of(2)


async def test_a_first_partition_that_grew_is_read_up_to_the_limit(store: Store) -> None:
    followers = Growing(store, [1])
    ids, next = await followers.passed(2, partition=1, more=2)
    assert ids == followers.come
    assert next == PassCursor.start_of(1)


async def pass_over_four(
    store: Store, partitions: int, after: int, gone: Sequence[int]
) -> tuple[list[int], PassCursor | None]:
    """Read a pass of two over the last partition's four followers; `gone` unfollow after `after` commands."""
    edges = edges_of(store, partitions)
    await edges.add_many((id, ALICE, 100 + id) for id in of_partition(partitions - 1, partitions, 4))

    async def leave() -> None:
        ids = of_partition(partitions - 1, partitions, 4)
        await edges.remove_many((ids[at], ALICE) for at in gone)

    return await read_pass(WatchedPairs(store, partitions, leave, after), FIRST_PASS, 2)


@pytest.mark.parametrize("gone", [(1,), (0, 1, 2, 3)])
async def test_a_pass_is_repeated_if_a_follower_leaves_before_the_last_time_is_read(
    store: Store, gone: Sequence[int]
) -> None:
    """The time would belong to another follower, and followers in between would be skipped."""
    ids, next = await pass_over_four(store, 1, 2, gone)
    assert (ids, next) == (of_partition(0, 1, 2), FIRST_PASS)


@pytest.mark.parametrize("gone", [(0,), (0, 1, 2, 3)])
async def test_a_later_partition_is_read_again_if_a_follower_leaves(store: Store, gone: Sequence[int]) -> None:
    ids, next = await pass_over_four(store, 2, 5, gone)
    assert (ids, next) == (of_partition(1, 2, 2), PassCursor.start_of(1))


class TurningPairs(KeyDataShardedConnection):
    """A real connection that reports `turns` changes of the partition layout before it accepts a write."""

    def __init__(self, store: Store, turns: int) -> None:
        super().__init__(store, "follows", 4)
        self._turns = turns

    async def write_all(self, commands: Sequence[Command]) -> list[Reply]:
        self._turns -= 1
        if self._turns >= 0:
            raise PartitionLayoutChanged("cut anew")
        return await super().write_all(commands)


async def test_a_change_is_repeated_after_changes_of_the_partition_layout(store: Store) -> None:
    pairs = TurningPairs(store, MAX_LAYOUT_CHANGES)
    edges = PairEdges(pairs, outgoing=keys.following, incoming=keys.followers)
    assert await edges.add(ALICE, BOB, 5)
    assert await edges.has(ALICE, BOB)


async def test_a_change_is_repeated_a_limited_number_of_times(store: Store) -> None:
    pairs = TurningPairs(store, MAX_LAYOUT_CHANGES + 1)
    edges = PairEdges(pairs, outgoing=keys.following, incoming=keys.followers)
    with pytest.raises(PartitionLayoutChanged):
        await edges.add(ALICE, BOB, 5)
    assert not await edges.has(ALICE, BOB)


async def test_many_owners_are_read_in_one_round_trip_and_long_lists_in_further_passes(store: Store) -> None:
    pairs = WatchedPairs(store, 2)
    edges = edges_of(store, 2)
    followers = EdgeList[int](pairs, keys.followers)
    await edges.add_many([(30, ALICE, 1), (30, BOB, 1), (31, BOB, 2), (32, CAROL, 3)])
    assert await followers.ids_of_many([ALICE, BOB]) == {30, 31}
    assert pairs.trips == 1
    many = range(100, 100 + 3 * MEMBERS_PER_FIRST_READ)
    await edges.add_many([(source, ALICE, 5) for source in many])
    assert await followers.ids_of_many([ALICE, BOB]) == {30, 31, *many}
    assert pairs.trips > 2


async def test_the_most_recent_follows_of_each_account_are_returned(store: Store) -> None:
    follows = Follows(store, partitions=1, following_cap=10)
    await follows.add_many(Follow(ALICE, AccountId(id), id) for id in range(10, 17))
    await follows.add_many(Follow(BOB, AccountId(id), id) for id in range(20, 23))
    assert await follows.recently_followed_by_each([], 5) == {}
    assert await follows.recently_followed_by_each([ALICE], 5) == {ALICE: [16, 15, 14, 13, 12]}
    followed_ids = await follows.recently_followed_by_each([CAROL, BOB, ALICE], 2)
    assert followed_ids == {CAROL: [], BOB: [22, 21], ALICE: [16, 15]}


@pytest.mark.parametrize(("most", "each"), [(1, (1, 0)), (2, (1, 1)), (3, (1, 1)), (5, (2, 2)), (6, (3, 3))])
async def test_each_partition_returns_its_share_of_recent_follows(
    store: Store, most: int, each: tuple[int, int]
) -> None:
    follows = Follows(store, partitions=2, following_cap=10)
    parts = [of_partition(number, 2, 5) for number in range(2)]
    await follows.add_many(Follow(ALICE, AccountId(id), id) for part in parts for id in part)
    expected = [id for part, share in zip(parts, each, strict=True) for id in part[::-1][:share]]
    assert await follows.recently_followed_by_each([ALICE], most) == {ALICE: expected}


@pytest.mark.parametrize(
    ("count", "is_complete"),
    [(FOLLOWED_PER_PARTITION - 1, True), (FOLLOWED_PER_PARTITION, False), (FOLLOWED_PER_PARTITION + 1, False)],
)
async def test_the_viewer_graph_contains_the_first_follows_of_a_partition(
    store: Store, count: int, is_complete: bool
) -> None:
    follows = Follows(store, partitions=1, following_cap=100)
    await follows.add_many(Follow(ALICE, AccountId(id), id) for id in range(10, 10 + count))
    graph = await follows.viewer_graph(ALICE, BOB)
    assert graph.followed_ids == tuple(range(10, 10 + min(count, FOLLOWED_PER_PARTITION)))
    assert graph.is_complete == is_complete


async def test_a_refused_script_ends_the_other_scripts_of_its_change(store: Store) -> None:
    """A task that is left running would write edges during a repetition, or after the error was reported."""
    edges = edges_of(store, 1)
    partition = store.partitioned_component("follows", 1).partition(0)
    await partition.node.execute("SET", keys.following(partition.tag, ALICE), "not a sorted set")
    with pytest.raises(WrongType):
        await edges.add_many((source, target, 1) for source in range(ALICE, 100) for target in range(1_000, 1_250))
    assert {task for task in asyncio.all_tasks() if "PairEdges" in repr(task)} == set()
