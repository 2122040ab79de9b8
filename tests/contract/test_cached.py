"""Cached timelines, rule by rule (docs/architecture.md): floor, push, trim, late insert, token, margin."""

from collections.abc import Sequence

import pytest

from socialsite.clock import FixedClock
from socialsite.ids import PostId, id_at
from socialsite.store import Node, Reply, Store, StoreUnavailable
from socialsite.store.node import MANY
from timelines import keys
from timelines.repositories.cached import CachedTimelines, part_of
from timelines.repositories.cached_kind import LATE_MS, MARGIN_MS, CachedKind
from timelines.repositories.cached_pushing import pass_payload, shortest_first

NOW_MS = 1_900_000_000_000
CAP = 10
ALICE = 42


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW_MS)


@pytest.fixture
def homes(store: Store, clock: FixedClock) -> CachedTimelines:
    return CachedTimelines(
        store, clock, CachedKind(keys.home_timeline, keys.HOME_PATTERN, CAP, 86_400_000 * 30, ahead=15)
    )


def at(ms_ago: int, low: int = 0) -> PostId:
    return id_at(NOW_MS - ms_ago, low)


async def built(homes: CachedTimelines, ids: list[PostId], floor: int = 0) -> None:
    token = await homes.begin(ALICE)
    assert token is not None
    assert await homes.finish(ALICE, token, ids, floor)


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
    part = await homes.read(ALICE, 5)
    assert part is not None
    assert part.ids == (at(0), at(500))
    assert part.whole


async def test_what_is_no_home_is_dropped_and_keeps_nothing_from_the_others(
    homes: CachedTimelines, store: Store
) -> None:
    await built(homes, [at(500)])
    spoilt = keys.home_timeline(43)
    await store.node(spoilt).execute("SET", spoilt, "by hand")
    await homes.push([43, ALICE], at(0))
    part = await homes.read(ALICE, 5)
    assert part is not None
    assert part.ids == (at(0), at(500))
    assert not await store.node(spoilt).execute("EXISTS", spoilt)


async def test_a_large_pass_reaches_whom_it_names(homes: CachedTimelines) -> None:
    await built(homes, [at(500)])
    await homes.push([*range(1, 3 * MANY)], at(0))
    part = await homes.read(ALICE, 5)
    assert part is not None
    assert part.ids == (at(0), at(500))


async def test_a_late_id_is_inserted_in_its_place_and_only_once(homes: CachedTimelines) -> None:
    await built(homes, [at(3000), at(9000)])
    for _ in range(3):
        await homes.push([ALICE], at(5000))
    part = await homes.read(ALICE, 5)
    assert part is not None
    assert part.ids == (at(3000), at(5000), at(9000))


async def test_a_late_id_older_than_all_stands_before_the_floor(homes: CachedTimelines, store: Store) -> None:
    await built(homes, [at(3000)], floor=at(90_000))
    await homes.push([ALICE], at(80_000))
    assert await elements(store) == [b"%d" % at(3000), b"%d" % at(80_000), b"-%d" % at(90_000)]


async def test_an_id_below_the_floor_is_never_inserted(homes: CachedTimelines) -> None:
    await built(homes, [at(3000)], floor=at(5000))
    await homes.push([ALICE], at(6000))
    await homes.push([ALICE], at(5000))
    part = await homes.read(ALICE, 5)
    assert part is not None
    assert part.ids == (at(3000),)


async def test_trimming_raises_the_floor_to_the_newest_id_that_was_dropped(
    homes: CachedTimelines, store: Store
) -> None:
    await built(homes, [at(1000 + n) for n in range(CAP)])
    for n in range(60):
        await homes.push([ALICE], at(900 - n))
    part = await homes.read_whole(ALICE)
    assert part is not None
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

    async def send_encoded(self, payload: bytes, replies: int, *, confirm: int = 0) -> list[Reply]:
        answers = await super().send_encoded(payload, replies, confirm=confirm)
        if self._lose_reply:
            raise StoreUnavailable("the reply was lost")
        self._slow_clock.advance(LATE_MS + 1)
        return answers


class On:
    def __init__(self, node: Node) -> None:
        self.nodes = (node,)

    def node_for(self, tag: str) -> Node:
        return self.nodes[0]

    width = 1

    def group(self, owners: Sequence[int], key_of: object) -> list[tuple[Node, Sequence[int]]]:
        return [(self.nodes[0], owners)]

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        await self.nodes[0].close()


def node_of_home(store: Store) -> Node:
    """The server of the home; behind a proxy any of them, asked directly."""
    node = store.node(keys.home_timeline(ALICE))
    return node if node in store.nodes else store.nodes[0]


def homes_on(node: Node, clock: FixedClock) -> CachedTimelines:
    kind = CachedKind(keys.home_timeline, keys.HOME_PATTERN, CAP, 86_400_000 * 30, ahead=15)
    return CachedTimelines(Store(On(node)), clock, kind)


async def test_a_push_whose_reply_comes_late_deletes_the_home(store: Store, clock: FixedClock) -> None:
    node = SlowNode(node_of_home(store), clock)
    homes = homes_on(node, clock)
    await built(homes, [at(500)])
    await homes.push([ALICE], at(0))
    assert await elements(store) == []
    await node.close()


async def test_a_push_whose_reply_is_lost_deletes_the_home_and_says_so(
    store: Store, clock: FixedClock
) -> None:
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
    token = await homes.begin(ALICE)
    assert token is not None
    await homes.push([ALICE], at(0))
    await homes.push([ALICE], at(300))
    assert await homes.read(ALICE, 5) is None, "a home being built is read from the profiles"
    assert await homes.finish(ALICE, token, [at(300), at(700)], 0)
    assert await elements(store) == [b"%d" % i for i in (at(0), at(300), at(700))] + [b"-0"]


async def test_forgetting_defeats_a_build_in_flight(homes: CachedTimelines) -> None:
    token = await homes.begin(ALICE)
    assert token is not None
    await homes.forget(ALICE)
    assert not await homes.finish(ALICE, token, [at(300)], 0)
    assert await homes.read(ALICE, 5) is None


async def test_a_second_builder_stands_back_and_cannot_finish_for_the_first(homes: CachedTimelines) -> None:
    assert await homes.begin(ALICE) is not None
    assert await homes.begin(ALICE) is None
    assert not await homes.finish(ALICE, "0123456789abcdef", [at(1)], 0)


async def test_a_build_keeps_at_most_the_cap_and_says_where_it_stopped(homes: CachedTimelines) -> None:
    ids = [at(n) for n in range(CAP + 5)]
    await built(homes, ids)
    part = await homes.read_whole(ALICE)
    assert part is not None
    assert part.ids == tuple(ids[:CAP])
    assert part.floor == ids[CAP]


async def test_an_abandoned_build_and_an_unread_home_expire(homes: CachedTimelines, store: Store) -> None:
    key = keys.home_timeline(ALICE)
    assert await homes.begin(ALICE) is not None
    assert 0 < await store.node(key).execute("PTTL", key) <= 30_000
    await homes.forget(ALICE)
    await built(homes, [at(1)])
    assert await store.node(key).execute("PTTL", key) > 29 * 86_400_000


async def test_reading_renews_a_home_at_most_once_a_day(homes: CachedTimelines, store: Store) -> None:
    key = keys.home_timeline(ALICE)
    await built(homes, [at(1)])
    await store.node(key).execute("PEXPIRE", key, 29 * 86_400_000 + 1_000_000)
    await homes.read(ALICE, 5)
    assert await store.node(key).execute("PTTL", key) <= 29 * 86_400_000 + 1_000_000
    await store.node(key).execute("PEXPIRE", key, 5_000_000)
    await homes.read(ALICE, 5)
    assert await store.node(key).execute("PTTL", key) > 29 * 86_400_000


def test_a_head_is_believed_only_above_the_margin() -> None:
    """Two pushes may stand in the wrong order when their ids are less than 5 s apart."""
    early, late = at(4000), at(1000)
    part = part_of([b"%d" % early, b"%d" % late, b"%d" % at(6000)], b"-0")
    assert part.ids == (late, early, at(6000))
    assert not part.whole
    believed = [post_id for post_id in part.ids if post_id >= part.settled]
    assert believed == [late]
    assert part.settled == at(6000) + (MARGIN_MS << 12)


def test_repeats_and_ids_below_the_floor_are_dropped_by_the_reader() -> None:
    part = part_of([b"9", b"7", b"9", b"3", b"-4"], b"-4")
    assert part.ids == (9, 7)
    assert part.whole


def test_the_patterns_of_passes_are_the_keys() -> None:
    assert keys.home_timeline(42).encode() == keys.HOME_PATTERN % 42
    assert keys.list_timeline(7).encode() == keys.LIST_PATTERN % 7


def test_a_pass_is_encoded_as_the_server_reads_it() -> None:
    payload = pass_payload(keys.HOME_PATTERN, shortest_first([b"7", b"1234", b"8"]), PostId(99))
    first = b"*3\r\n$6\r\nLPUSHX\r\n$18\r\ntimelines:{7}:home\r\n$2\r\n99\r\n"
    second = b"*3\r\n$6\r\nLPUSHX\r\n$21\r\ntimelines:{1234}:home\r\n$2\r\n99\r\n"
    assert payload == first + first.replace(b"{7}", b"{8}") + second
