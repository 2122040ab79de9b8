"""Cached timelines, rule by rule (docs/reference/architecture.md): floor, push, trim, late insert, token, margin."""

import pytest

from socialsite.clock import DAY_MS, FixedClock
from socialsite.ids import PostId, id_at
from socialsite.store import Node, Reply, Store, StoreUnavailable
from socialsite.store.node import BULK_MIN_COMMANDS
from tests.support.nodes import SingleNodeTopology
from timelines import keys
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
    """The first five, as a reader gets them."""
    part = await homes.read(ALICE, 5)
    assert part is not None
    return part


async def whole(homes: CachedTimelines) -> CachedHead:
    part = await homes.read_whole(ALICE)
    assert part is not None
    return part


async def elements(store: Store) -> list[bytes]:
    key = keys.home_timeline(ALICE)
    found: list[bytes] = await store.node(key).execute("LRANGE", key, 0, 100)
    return found


async def test_a_push_never_creates_a_timeline(homes: CachedTimelines, store: Store) -> None:
    await homes.push([ALICE], at(0))
    assert await elements(store) == []
    assert await homes.read(ALICE, 5) is None


async def test_a_push_goes_in_front(homes: CachedTimelines) -> None:
    await built(homes, [at(500)])
    await homes.push([ALICE, 43, 44], at(0))
    part = await head(homes)
    assert part.ids == (at(0), at(500))
    assert part.is_whole


async def test_what_is_no_home_is_dropped_and_keeps_nothing_from_the_others(
    homes: CachedTimelines, store: Store
) -> None:
    await built(homes, [at(500)])
    spoilt = keys.home_timeline(43)
    await store.node(spoilt).execute("SET", spoilt, "by hand")
    await homes.push([43, ALICE], at(0))
    assert (await head(homes)).ids == (at(0), at(500))
    assert not await store.node(spoilt).execute("EXISTS", spoilt)


async def test_a_large_pass_reaches_whom_it_names(homes: CachedTimelines) -> None:
    await built(homes, [at(500)])
    await homes.push([*range(1, 3 * BULK_MIN_COMMANDS)], at(0))
    assert (await head(homes)).ids == (at(0), at(500))


async def test_a_late_id_is_inserted_in_its_place_and_only_once(homes: CachedTimelines) -> None:
    await built(homes, [at(3000), at(9000)])
    for _ in range(3):
        await homes.push([ALICE], at(5000))
    assert (await head(homes)).ids == (at(3000), at(5000), at(9000))


async def test_a_late_id_older_than_all_stands_before_the_floor(homes: CachedTimelines, store: Store) -> None:
    await built(homes, [at(3000)], floor=at(90_000))
    await homes.push([ALICE], at(80_000))
    assert await elements(store) == [b"%d" % at(3000), b"%d" % at(80_000), b"-%d" % at(90_000)]


async def test_an_id_below_the_floor_is_never_inserted(homes: CachedTimelines) -> None:
    await built(homes, [at(3000)], floor=at(5000))
    await homes.push([ALICE], at(6000))
    await homes.push([ALICE], at(5000))
    assert (await head(homes)).ids == (at(3000),)


async def test_trimming_raises_the_floor_to_the_newest_id_that_was_dropped(
    homes: CachedTimelines, store: Store
) -> None:
    await built(homes, [at(1000 + n) for n in range(CAP)])
    for n in range(60):
        await homes.push([ALICE], at(900 - n))
    part = await whole(homes)
    assert len(await elements(store)) <= CAP + 2 * (CAP // 20 + 1) + 2
    dropped = [at(900 - n) for n in range(60) if at(900 - n) not in part.ids]
    assert part.floor == max(dropped)
    assert min(part.ids) > part.floor


class SlowNode(Node):
    """Answers a pass only after the clock went on: a worker that was stopped between check and push."""

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
    """The server of the home; behind a proxy any of them, asked directly."""
    node = store.node(keys.home_timeline(ALICE))
    return node if node in store.nodes else store.nodes[0]


def homes_on(node: Node, clock: FixedClock) -> CachedTimelines:
    return CachedTimelines(Store(SingleNodeTopology(node)), clock, HOMES)


async def test_a_push_whose_reply_comes_late_deletes_the_home(store: Store, clock: FixedClock) -> None:
    node = SlowNode(node_of_home(store), clock)
    homes = homes_on(node, clock)
    await built(homes, [at(500)])
    await homes.push([ALICE], at(0))
    assert await elements(store) == []
    await node.close()


async def test_a_push_whose_reply_is_lost_deletes_the_home_and_says_so(store: Store, clock: FixedClock) -> None:
    node = SlowNode(node_of_home(store), clock, lose_reply=True)
    homes = homes_on(node, clock)
    await built(homes, [at(500)])
    with pytest.raises(StoreUnavailable):
        await homes.push([ALICE], at(0))
    assert await elements(store) == []
    await node.close()


async def test_what_arrives_during_a_build_is_merged_and_what_both_have_stands_once(
    homes: CachedTimelines, store: Store
) -> None:
    token = await homes.begin_build(ALICE)
    assert token is not None
    await homes.push([ALICE], at(0))
    await homes.push([ALICE], at(300))
    assert await homes.read(ALICE, 5) is None, "a home being built is read from the profiles"
    assert await homes.finish_build(ALICE, token, [at(300), at(700)], 0)
    assert await elements(store) == [b"%d" % i for i in (at(0), at(300), at(700))] + [b"-0"]


async def test_forgetting_defeats_a_build_in_flight(homes: CachedTimelines) -> None:
    token = await homes.begin_build(ALICE)
    assert token is not None
    await homes.invalidate(ALICE)
    assert not await homes.finish_build(ALICE, token, [at(300)], 0)
    assert await homes.read(ALICE, 5) is None


async def test_a_second_builder_stands_back_and_cannot_finish_for_the_first(homes: CachedTimelines) -> None:
    assert await homes.begin_build(ALICE) is not None
    assert await homes.begin_build(ALICE) is None
    assert not await homes.finish_build(ALICE, "0123456789abcdef", [at(1)], 0)


async def test_a_build_keeps_at_most_the_cap_and_says_where_it_stopped(homes: CachedTimelines) -> None:
    ids = [at(n) for n in range(CAP + 5)]
    await built(homes, ids)
    part = await whole(homes)
    assert part.ids == tuple(ids[:CAP])
    assert part.floor == ids[CAP]


async def test_an_abandoned_build_and_an_unread_home_expire(homes: CachedTimelines, store: Store) -> None:
    key = keys.home_timeline(ALICE)
    assert await homes.begin_build(ALICE) is not None
    assert 0 < await store.node(key).execute("PTTL", key) <= 30_000
    await homes.invalidate(ALICE)
    await built(homes, [at(1)])
    assert await store.node(key).execute("PTTL", key) > 29 * DAY_MS


async def test_reading_renews_a_home_at_most_once_a_day(homes: CachedTimelines, store: Store) -> None:
    key = keys.home_timeline(ALICE)
    await built(homes, [at(1)])
    await store.node(key).execute("PEXPIRE", key, 29 * DAY_MS + 1_000_000)
    await homes.read(ALICE, 5)
    assert await store.node(key).execute("PTTL", key) <= 29 * DAY_MS + 1_000_000
    await store.node(key).execute("PEXPIRE", key, 5_000_000)
    await homes.read(ALICE, 5)
    assert await store.node(key).execute("PTTL", key) > 29 * DAY_MS
