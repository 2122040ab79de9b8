"""Rules of cached timelines (docs/reference/architecture.md): floor, push, trim, late insert, token, margin."""

import pytest

from socialsite.clock import DAY_MS, FixedClock
from socialsite.ids import PostId, id_at
from socialsite.store import Node, Reply, Store, StoreUnavailable
from socialsite.store.node import BULK_MIN_COMMANDS
from tests.support.nodes import SingleNodeTopology
from timelines import keys
from timelines.cached_timelines.delivery import ENCODED_DELETIONS_MIN
from timelines.cached_timelines.repository import CachedHead, CachedTimelines
from timelines.cached_timelines.spec import LATE_MS, TimelineCacheSpec

NOW_MS = 1_900_000_000_000
CAP = 10
HOMES = TimelineCacheSpec(keys.home_timeline, keys.HOME_TIMELINE_KEY_PATTERN, CAP, 30 * DAY_MS, read_ahead=15)
ALICE = 42


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW_MS)


@pytest.fixture
def homes(store: Store, clock: FixedClock) -> CachedTimelines:
    return CachedTimelines(store, clock, HOMES)


def at(ms_ago: int, low: int = 0) -> PostId:
    return id_at(NOW_MS - ms_ago, low)


async def built(homes: CachedTimelines, ids: list[PostId], floor: int = 0) -> None:
    token = await homes.begin_build(ALICE)
    assert token is not None
    assert await homes.finish_build(ALICE, token, ids, floor)


async def head(homes: CachedTimelines) -> CachedHead:
    """Return the first five entries as a reader gets them."""
    part = await homes.read(ALICE, 5)
    assert part is not None
    return part


async def whole(homes: CachedTimelines) -> CachedHead:
    part = await homes.read_whole(ALICE)
    assert part is not None
    return part


async def elements(store: Store) -> list[bytes]:
    key = keys.home_timeline(ALICE)
    elements: list[bytes] = await store.node(key).execute("LRANGE", key, 0, 100)
    return elements


async def test_a_push_never_creates_a_timeline(homes: CachedTimelines, store: Store) -> None:
    await homes.push([ALICE], at(0))
    assert await elements(store) == []
    assert await homes.read(ALICE, 5) is None


async def test_a_push_adds_the_id_at_the_head(homes: CachedTimelines) -> None:
    await built(homes, [at(500)])
    await homes.push([ALICE, 43, 44], at(0))
    part = await head(homes)
    assert part.ids == (at(0), at(500))
    assert part.is_whole


async def test_a_key_of_another_type_is_dropped_and_other_homes_receive_the_push(
    homes: CachedTimelines, store: Store
) -> None:
    await built(homes, [at(500)])
    spoilt = keys.home_timeline(43)
    await store.node(spoilt).execute("SET", spoilt, "by hand")
    await homes.push([43, ALICE], at(0))
    assert (await head(homes)).ids == (at(0), at(500))
    assert not await store.node(spoilt).execute("EXISTS", spoilt)


async def test_a_large_pass_reaches_all_its_owners(homes: CachedTimelines) -> None:
    await built(homes, [at(500)])
    await homes.push([*range(1, 3 * BULK_MIN_COMMANDS)], at(0))
    assert (await head(homes)).ids == (at(0), at(500))


async def test_a_late_id_is_inserted_in_order_and_once(homes: CachedTimelines) -> None:
    await built(homes, [at(3000), at(9000)])
    for _ in range(3):
        await homes.push([ALICE], at(5000))
    assert (await head(homes)).ids == (at(3000), at(5000), at(9000))


async def test_a_late_id_older_than_all_entries_is_inserted_before_the_floor(
    homes: CachedTimelines, store: Store
) -> None:
    await built(homes, [at(3000)], floor=at(90_000))
    await homes.push([ALICE], at(80_000))
    assert await elements(store) == [b"%d" % at(3000), b"%d" % at(80_000), b"-%d" % at(90_000)]


async def test_an_id_below_the_floor_is_never_inserted(homes: CachedTimelines) -> None:
    await built(homes, [at(3000)], floor=at(5000))
    await homes.push([ALICE], at(6000))
    await homes.push([ALICE], at(5000))
    assert (await head(homes)).ids == (at(3000),)


async def test_trimming_raises_the_floor_to_the_newest_dropped_id(homes: CachedTimelines, store: Store) -> None:
    await built(homes, [at(1000 + n) for n in range(CAP)])
    for n in range(60):
        await homes.push([ALICE], at(900 - n))
    part = await whole(homes)
    assert len(await elements(store)) <= CAP + 2 * (CAP // 20 + 1) + 2
    dropped = [at(900 - n) for n in range(60) if at(900 - n) not in part.ids]
    assert part.floor == max(dropped)
    assert min(part.ids) > part.floor


class SlowNode(Node):
    """A node that advances the clock before it answers a pass, as for a paused worker."""

    def __init__(self, node: Node, clock: FixedClock, *, lose_reply: bool = False) -> None:
        super().__init__(node.address)
        self._slow_clock = clock
        self._lose_reply = lose_reply

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        answers = await super().send_encoded(payload, replies, required_replicas=required_replicas)
        if self._lose_reply:
            raise StoreUnavailable("the reply was lost")
        self._slow_clock.advance(LATE_MS + 1)
        return answers


def node_of_home(store: Store) -> Node:
    """Return the server of the home timeline; behind a proxy return any server, accessed directly."""
    node = store.node(keys.home_timeline(ALICE))
    return node if node in store.nodes else store.nodes[0]


def homes_on(node: Node, clock: FixedClock) -> CachedTimelines:
    return CachedTimelines(Store(SingleNodeTopology(node)), clock, HOMES)


async def test_a_push_with_a_late_reply_deletes_the_home_timeline(store: Store, clock: FixedClock) -> None:
    node = SlowNode(node_of_home(store), clock)
    homes = homes_on(node, clock)
    await built(homes, [at(500)])
    await homes.push([ALICE], at(0))
    assert await elements(store) == []
    await node.close()


async def test_a_push_with_a_lost_reply_deletes_the_home_timeline_and_raises(store: Store, clock: FixedClock) -> None:
    node = SlowNode(node_of_home(store), clock, lose_reply=True)
    homes = homes_on(node, clock)
    await built(homes, [at(500)])
    with pytest.raises(StoreUnavailable):
        await homes.push([ALICE], at(0))
    assert await elements(store) == []
    await node.close()


async def test_ids_pushed_during_a_build_are_merged_without_duplicates(homes: CachedTimelines, store: Store) -> None:
    token = await homes.begin_build(ALICE)
    assert token is not None
    await homes.push([ALICE], at(0))
    await homes.push([ALICE], at(300))
    assert await homes.read(ALICE, 5) is None, "a home being built is read from the profiles"
    assert await homes.finish_build(ALICE, token, [at(300), at(700)], 0)
    assert await elements(store) == [b"%d" % i for i in (at(0), at(300), at(700))] + [b"-0"]


async def test_an_invalidation_cancels_a_build_in_progress(homes: CachedTimelines) -> None:
    token = await homes.begin_build(ALICE)
    assert token is not None
    await homes.invalidate(ALICE)
    assert not await homes.finish_build(ALICE, token, [at(300)], 0)
    assert await homes.read(ALICE, 5) is None


async def test_a_large_invalidation_deletes_its_timelines_and_no_other(homes: CachedTimelines, store: Store) -> None:
    await built(homes, [at(500)])
    others = [*range(ALICE + 1, ALICE + 1 + 3 * BULK_MIN_COMMANDS)]
    await homes.invalidate_many(others)
    assert (await head(homes)).ids == (at(500),)
    await homes.invalidate_many([*others, ALICE])
    assert await elements(store) == []


async def test_an_invalidation_with_a_lost_reply_is_repeated(store: Store, clock: FixedClock) -> None:
    node = SlowNode(node_of_home(store), clock, lose_reply=True)
    homes = homes_on(node, clock)
    await built(homes, [at(500)])
    await homes.invalidate_many([ALICE] * ENCODED_DELETIONS_MIN)
    assert await elements(store) == []
    await node.close()


async def test_a_second_builder_cannot_finish_the_build_of_the_first(homes: CachedTimelines) -> None:
    assert await homes.begin_build(ALICE) is not None
    assert await homes.begin_build(ALICE) is None
    assert not await homes.finish_build(ALICE, "0123456789abcdef", [at(1)], 0)


async def test_a_build_keeps_at_most_the_cap_and_stores_its_floor(homes: CachedTimelines) -> None:
    ids = [at(n) for n in range(CAP + 5)]
    await built(homes, ids)
    part = await whole(homes)
    assert part.ids == tuple(ids[:CAP])
    assert part.floor == ids[CAP]


async def test_an_abandoned_build_and_an_unread_home_timeline_expire(homes: CachedTimelines, store: Store) -> None:
    key = keys.home_timeline(ALICE)
    assert await homes.begin_build(ALICE) is not None
    assert 0 < await store.node(key).execute("PTTL", key) <= 30_000
    await homes.invalidate(ALICE)
    await built(homes, [at(1)])
    assert await store.node(key).execute("PTTL", key) > 29 * DAY_MS


async def test_reading_renews_the_ttl_of_a_home_timeline_at_most_once_a_day(
    homes: CachedTimelines, store: Store
) -> None:
    key = keys.home_timeline(ALICE)
    await built(homes, [at(1)])
    await store.node(key).execute("PEXPIRE", key, 29 * DAY_MS + 1_000_000)
    await homes.read(ALICE, 5)
    assert await store.node(key).execute("PTTL", key) <= 29 * DAY_MS + 1_000_000
    await store.node(key).execute("PEXPIRE", key, 5_000_000)
    await homes.read(ALICE, 5)
    assert await store.node(key).execute("PTTL", key) > 29 * DAY_MS
