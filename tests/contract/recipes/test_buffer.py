"""The buffer of counters, by cases and against a model."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.migration.store_factory import open_store
from socialsite.recipes.buffer import (
    BATCH_LEASE_MS,
    PARTITION_COUNT,
    Batch,
    Buffers,
    BufferTotals,
    Change,
    Entity,
    Flusher,
    FlushResult,
    TimestampedValue,
    buffer_key,
    pending_key,
    taken_key,
)
from socialsite.store import Key, Store, StoreUrls, WrongType
from tests.support.buffer import NOW_MS, POST_ENTITY, read_stored_total, read_total, totals_key, views
from tests.support.random_tests import examples
from tests.support.stores import opened_store
from tests.support.topologies import Deployment

OTHER = Entity("post", 8)


@pytest.fixture
def buffers(store: Store) -> Buffers:
    return Buffers(store)


@pytest.fixture
def totals(store: Store) -> BufferTotals:
    return BufferTotals(store, {"post": totals_key})


@pytest.fixture
def flusher(store: Store, totals: BufferTotals) -> Flusher:
    return Flusher(store, totals.apply)


async def test_readers_see_counts_before_they_are_flushed(buffers: Buffers, totals: BufferTotals) -> None:
    await buffers.add({POST_ENTITY: views(3), OTHER: views()}, NOW_MS)
    assert (await read_total(totals), await read_total(totals, OTHER)) == (3, 1)


async def test_a_flush_moves_counts_to_their_totals(
    store: Store, buffers: Buffers, totals: BufferTotals, flusher: Flusher
) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    await buffers.add({POST_ENTITY: views(2)}, NOW_MS + 1)
    assert (await flusher.flush(NOW_MS + 2)).applied == 1
    assert (await read_stored_total(store), await read_total(totals)) == (5, 5)
    assert await buffers.count_waiting() == 0


async def test_a_flush_leaves_only_totals_and_batch_ids(
    buffers: Buffers, flusher: Flusher, deployment: Deployment
) -> None:
    await buffers.add({Entity("post", n): views() for n in range(100)}, NOW_MS)
    await flusher.flush(NOW_MS)
    assert {key.split("}:")[1] for key in deployment.all_keys()} == {"totals", "batches"}


async def test_the_value_with_the_later_timestamp_wins_in_any_order(
    buffers: Buffers, totals: BufferTotals, flusher: Flusher
) -> None:
    for at_ms in (NOW_MS + 5, NOW_MS, NOW_MS + 3):
        await buffers.add({POST_ENTITY: Change(values={"seen": TimestampedValue(at_ms, str(at_ms))})}, NOW_MS)
    await flusher.flush(NOW_MS)
    await buffers.add({POST_ENTITY: Change(values={"seen": TimestampedValue(NOW_MS + 1, "late")})}, NOW_MS)
    assert (await totals.read([POST_ENTITY]))[0].values["seen"] == TimestampedValue(NOW_MS + 5, str(NOW_MS + 5))
    await flusher.flush(NOW_MS)
    assert (await totals.read([POST_ENTITY]))[0].values["seen"] == TimestampedValue(NOW_MS + 5, str(NOW_MS + 5))


async def test_the_oldest_buffers_of_a_partition_are_flushed_first(
    store: Store, buffers: Buffers, totals: BufferTotals
) -> None:
    same = [e for e in (Entity("post", n) for n in range(3000)) if e.tag == "b9"][:10]
    for age, entity in enumerate(reversed(same)):
        await buffers.add({entity: views()}, NOW_MS + age)
    await buffers.add({same[-1]: views()}, NOW_MS + 100)  # a second change does not reset the age
    flusher = Flusher(store, totals.apply, entities_per_round=3)
    assert await flusher.find_due(NOW_MS + 200, FlushResult()) == same[:-4:-1]


async def test_a_flush_stops_at_its_limit(buffers: Buffers, flusher: Flusher) -> None:
    await buffers.add({Entity("post", n): views() for n in range(300)}, NOW_MS)
    assert (await flusher.flush(NOW_MS, limit=100)).applied == 100
    assert await buffers.count_waiting() == 200
    assert (await flusher.flush(NOW_MS)).applied == 200


async def test_a_flush_of_several_rounds_stops_at_its_limit(
    store: Store, buffers: Buffers, totals: BufferTotals
) -> None:
    await buffers.add({Entity("post", n): views() for n in range(400)}, NOW_MS)
    in_rounds = Flusher(store, totals.apply, entities_per_round=1)
    assert (await in_rounds.flush(NOW_MS, limit=PARTITION_COUNT + 3)).applied == PARTITION_COUNT + 3
    assert await buffers.count_waiting() == 400 - PARTITION_COUNT - 3


@pytest.mark.parametrize("spoilt", [pending_key(POST_ENTITY.tag), buffer_key(POST_ENTITY)])
async def test_a_flush_reports_errors_of_pending_sets_and_buffers(
    store: Store, buffers: Buffers, flusher: Flusher, spoilt: Key
) -> None:
    await buffers.add({POST_ENTITY: views()}, NOW_MS)
    await store.node(spoilt).execute("SET", spoilt, "neither")
    flushed = await flusher.flush(NOW_MS)
    assert (flushed.applied, type(flushed.error)) == (0, WrongType)


async def test_two_concurrent_flushers_share_the_work(store: Store, buffers: Buffers, totals: BufferTotals) -> None:
    await buffers.add({Entity("post", n): views(n + 1) for n in range(200)}, NOW_MS)
    flushed = await asyncio.gather(*(Flusher(store, totals.apply).flush(NOW_MS) for _ in range(4)))
    assert sum(each.applied for each in flushed) == 200
    assert [await read_stored_total(store, Entity("post", n)) for n in range(200)] == list(range(1, 201))


async def test_another_flusher_takes_a_batch_after_its_flusher_died(
    store: Store, buffers: Buffers, totals: BufferTotals, flusher: Flusher
) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    assert await flusher.take_batches([POST_ENTITY], NOW_MS, FlushResult())  # and dies
    await buffers.add({POST_ENTITY: views(1)}, NOW_MS + 1)
    assert (await flusher.flush(NOW_MS + BATCH_LEASE_MS - 1)).applied == 0
    assert await read_total(totals) == 4
    assert (await flusher.flush(NOW_MS + BATCH_LEASE_MS)).applied == 2  # the abandoned batch, then the newer batch
    assert await read_stored_total(store) == 4


async def test_a_batch_that_a_dead_flusher_applied_is_not_added_again(
    store: Store, buffers: Buffers, totals: BufferTotals, flusher: Flusher
) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    await totals.apply(await flusher.take_batches([POST_ENTITY], NOW_MS, FlushResult()))  # and dies
    assert await read_total(totals) == 3
    await flusher.flush(NOW_MS + BATCH_LEASE_MS)
    assert (await read_stored_total(store), await buffers.count_waiting()) == (3, 0)


async def test_a_paused_flusher_changes_nothing_when_it_continues(
    store: Store, buffers: Buffers, totals: BufferTotals, flusher: Flusher
) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    asleep = await flusher.take_batches([POST_ENTITY], NOW_MS, FlushResult())
    await flusher.flush(NOW_MS + BATCH_LEASE_MS)
    await buffers.add({POST_ENTITY: views(4)}, NOW_MS + BATCH_LEASE_MS)
    (young,) = await flusher.take_batches([POST_ENTITY], NOW_MS + BATCH_LEASE_MS + 1, FlushResult())
    await totals.apply(asleep)
    await flusher.finish_batches(asleep, FlushResult())
    assert await read_total(totals) == 7
    await totals.apply([young])
    await flusher.finish_batches([young], FlushResult())
    assert (await read_stored_total(store), await buffers.count_waiting()) == (7, 0)


async def test_batch_ids_increase_after_the_last_id_was_lost(store: Store, buffers: Buffers, flusher: Flusher) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    await flusher.flush(NOW_MS)
    key = Key("series", tag=POST_ENTITY.tag, name="batches")
    await store.node(key).execute("DEL", key)
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS + 1)
    await flusher.flush(NOW_MS + 1)
    assert await read_stored_total(store) == 6


async def test_a_batch_that_cannot_be_applied_delays_no_other_batch(
    store: Store, buffers: Buffers, totals: BufferTotals
) -> None:
    async def half(batches: list[Batch]) -> list[Batch]:
        return await totals.apply([each for each in batches if each.entity != POST_ENTITY])

    await buffers.add({POST_ENTITY: views(), OTHER: views()}, NOW_MS)
    flushed = await Flusher(store, half).flush(NOW_MS)
    assert (flushed.applied, flushed.remaining) == (1, 1)
    assert (await read_total(totals), await read_stored_total(store, OTHER)) == (1, 1)
    await Flusher(store, totals.apply).flush(NOW_MS + BATCH_LEASE_MS)
    assert await read_stored_total(store) == 1


async def test_buffers_are_flushed_while_memory_is_full(
    store: Store, buffers: Buffers, flusher: Flusher, deployment: Deployment
) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    with deployment.configured("maxmemory", 1, usual=0):
        assert (await flusher.flush(NOW_MS)).applied == 1
    assert await read_stored_total(store) == 3


def test_entities_spread_over_all_partitions() -> None:
    tags = Counter(Entity("post", n).tag for n in range(64_000))
    assert len(tags) == PARTITION_COUNT
    assert max(tags.values()) < 1_300


async def test_totals_start_at_zero_after_they_were_deleted(
    store: Store, buffers: Buffers, totals: BufferTotals, flusher: Flusher
) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    await flusher.flush(NOW_MS)
    await totals.delete(POST_ENTITY)
    assert (await read_stored_total(store), await read_total(totals)) == (0, 0)


async def test_the_lease_of_a_batch_expires_after_a_minute(buffers: Buffers, flusher: Flusher) -> None:
    await buffers.add({POST_ENTITY: views(3)}, NOW_MS)
    assert await flusher.find_due(NOW_MS, FlushResult()) == [POST_ENTITY]
    await flusher.take_batches([POST_ENTITY], NOW_MS, FlushResult())
    assert await flusher.find_due(NOW_MS + BATCH_LEASE_MS - 1, FlushResult()) == []
    assert await flusher.find_due(NOW_MS + BATCH_LEASE_MS, FlushResult()) == [POST_ENTITY]


async def test_unflushed_changes_of_an_entity_are_its_buffer_then_its_batch(buffers: Buffers, flusher: Flusher) -> None:
    entities = [Entity("post", n) for n in range(4)]
    await buffers.add({each: views(10 + each.id) for each in entities[::2]}, NOW_MS)
    await flusher.take_batches(entities[::2], NOW_MS, FlushResult())
    await buffers.add({each: views(20 + each.id) for each in entities[:3]}, NOW_MS)
    unflushed = await buffers.read_unflushed(entities)
    assert [[each.change.counts["views"] for each in some] for some in unflushed] == [[20, 10], [21], [22, 12], []]


def test_of_two_values_with_equal_timestamps_the_added_value_wins() -> None:
    assert TimestampedValue(5, "new").latest_of(TimestampedValue(5, "old")) == TimestampedValue(5, "new")


STEPS = ("add", "add", "take", "apply", "forget", "die", "read", "wait", "flush")

play = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=60)

numbers = iter(range(1_000, 10_000_000))


class Flushers:
    """Three concurrent flushers of two entities, and the expected totals."""

    def __init__(self, store: Store) -> None:
        self.store, self.buffers = store, Buffers(store)
        self.totals = BufferTotals(store, {"post": totals_key})
        self.flusher = Flusher(store, self.totals.apply)
        self.entities = [Entity("post", next(numbers)) for _ in range(2)]
        self.in_hand: list[list[Batch]] = [[], [], []]
        self.truth: Counter[Entity] = Counter()
        self.now_ms = NOW_MS

    async def step(self, what: str, who: int, entity: Entity) -> None:
        hand = self.in_hand[who]
        if what == "add":
            self.truth[entity] += who + 1
            await self.buffers.add({entity: views(who + 1)}, self.now_ms)
        elif what == "take":
            hand += await self.flusher.take_batches([entity], self.now_ms, FlushResult())
        elif what == "apply":
            await self.totals.apply(hand)
        elif what == "forget":
            applied = await self.totals.apply(hand)  # a flusher drops only applied batches
            await self.flusher.finish_batches(applied, FlushResult())
            self.in_hand[who] = []
        elif what == "die":
            self.in_hand[who] = []
        elif what == "wait":
            self.now_ms += BATCH_LEASE_MS * (who + 1) // 2
        elif what == "flush":
            await self.flusher.flush(self.now_ms)
        assert await read_total(self.totals, entity) == self.truth[entity]

    async def finish(self) -> None:
        await self.flusher.flush(self.now_ms + BATCH_LEASE_MS)
        for entity in self.entities:
            assert await read_stored_total(self.store, entity) == self.truth[entity]
            buffer_keys = [buffer_key(entity), pending_key(entity.tag), taken_key(entity.tag)]
            assert [await self.store.node(key).execute("EXISTS", key) for key in buffer_keys] == [0, 0, 0]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=play)
def test_no_count_is_lost_or_doubled_wherever_flushers_die(
    redis_urls: StoreUrls, steps: list[tuple[str, int, int]]
) -> None:
    async def run() -> None:
        async with opened_store(redis_urls) as store:
            flushers = Flushers(store)
            for what, who, which in steps:
                await flushers.step(what, who, flushers.entities[which])
            await flushers.finish()

    asyncio.run(run())


async def test_readers_never_see_a_count_fall_or_double(redis_urls: StoreUrls) -> None:
    """Each role has its own connection, so that commands interleave on the server."""
    stores = [await open_store(redis_urls) for _ in range(3)]
    writing, flushing, reading = stores
    totals = BufferTotals(reading, {"post": totals_key})
    flusher = Flusher(flushing, BufferTotals(flushing, {"post": totals_key}).apply)
    written = 0

    async def repeat(work: Callable[[], object], times: int) -> None:
        for _ in range(times):
            await work()  # type: ignore[misc]

    async def write() -> None:
        nonlocal written
        await Buffers(writing).add({POST_ENTITY: views()}, NOW_MS)
        written += 1

    async def look() -> None:
        least, seen = written, await read_total(totals)
        assert least <= seen <= written + 1

    await asyncio.gather(
        repeat(write, 600), repeat(lambda: flusher.flush(NOW_MS), 150), *(repeat(look, 200) for _ in range(3))
    )
    for each in stores:
        await each.close()
