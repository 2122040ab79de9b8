"""Buffers under random interleavings of writers, readers, and flushers that die between any two steps."""

import asyncio
from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.migration.store_factory import open_store
from socialsite.recipes.buffer import (
    BATCH_LEASE_MS,
    Batch,
    Buffers,
    BufferTotals,
    Entity,
    Flusher,
    FlushResult,
    buffer_key,
    pending_key,
    taken_key,
)
from socialsite.store import Store, StoreUrls
from tests.support.buffering import NOW_MS, POST_ENTITY, read_stored_total, read_total, totals_key, views
from tests.support.models import examples

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
        store = await open_store(redis_urls)
        try:
            flushers = Flushers(store)
            for what, who, which in steps:
                await flushers.step(what, who, flushers.entities[which])
            await flushers.finish()
        finally:
            await store.close()

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
