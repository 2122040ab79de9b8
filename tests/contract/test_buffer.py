"""Buffers on a real server: counts and marks on their way to totals, wherever a flusher dies."""

import asyncio
from collections import Counter

import pytest

from socialsite.recipes.buffer import (
    LEASE_MS,
    PARTITIONS,
    Batch,
    Buffers,
    Change,
    Entity,
    Mark,
    buffer,
    pending,
)
from socialsite.recipes.buffer_flush import Flushed, Flusher
from socialsite.recipes.buffer_totals import Totals
from socialsite.store import Key, Store, WrongType
from tests.support.buffering import NOW, POST, read, stored, totals_key, views
from tests.support.topologies import Deployment

OTHER = Entity("post", 8)


@pytest.fixture
def buffers(store: Store) -> Buffers:
    return Buffers(store)


@pytest.fixture
def totals(store: Store) -> Totals:
    return Totals(store, {"post": totals_key})


@pytest.fixture
def flusher(store: Store, totals: Totals) -> Flusher:
    return Flusher(store, totals.apply)


async def test_readers_see_counts_before_they_are_flushed(buffers: Buffers, totals: Totals) -> None:
    await buffers.add({POST: views(3), OTHER: views()}, NOW)
    assert (await read(totals), await read(totals, OTHER)) == (3, 1)


async def test_a_flush_moves_counts_to_their_totals(
    store: Store, buffers: Buffers, totals: Totals, flusher: Flusher
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    await buffers.add({POST: views(2)}, NOW + 1)
    assert (await flusher.flush(NOW + 2)).applied == 1
    assert (await stored(store), await read(totals)) == (5, 5)
    assert await buffers.waiting() == 0


async def test_a_flush_leaves_only_totals_and_batch_ids(
    buffers: Buffers, flusher: Flusher, deployment: Deployment
) -> None:
    await buffers.add({Entity("post", n): views() for n in range(100)}, NOW)
    await flusher.flush(NOW)
    assert {key.split("}:")[1] for key in deployment.all_keys()} == {"totals", "batches"}


async def test_the_later_mark_wins_whichever_comes_first(
    buffers: Buffers, totals: Totals, flusher: Flusher
) -> None:
    for at_ms in (NOW + 5, NOW, NOW + 3):
        await buffers.add({POST: Change(marks={"seen": Mark(at_ms, str(at_ms))})}, NOW)
    await flusher.flush(NOW)
    await buffers.add({POST: Change(marks={"seen": Mark(NOW + 1, "late")})}, NOW)
    assert (await totals.read([POST]))[0].marks["seen"] == Mark(NOW + 5, str(NOW + 5))
    await flusher.flush(NOW)
    assert (await totals.read([POST]))[0].marks["seen"] == Mark(NOW + 5, str(NOW + 5))


async def test_the_oldest_of_a_partition_go_first(store: Store, buffers: Buffers, totals: Totals) -> None:
    same = [e for e in (Entity("post", n) for n in range(3000)) if e.tag == "b9"][:10]
    for age, entity in enumerate(reversed(same)):
        await buffers.add({entity: views()}, NOW + age)
    await buffers.add({same[-1]: views()}, NOW + 100)  # does not make it any younger
    flusher = Flusher(store, totals.apply, each_round=3)
    assert await flusher.due(NOW + 200, Flushed()) == same[:-4:-1]


async def test_a_flush_stops_at_what_it_may_take(buffers: Buffers, flusher: Flusher) -> None:
    await buffers.add({Entity("post", n): views() for n in range(300)}, NOW)
    assert (await flusher.flush(NOW, at_most=100)).applied == 100
    assert await buffers.waiting() == 200
    assert (await flusher.flush(NOW)).applied == 200


async def test_a_flush_of_several_rounds_stops_there_too(
    store: Store, buffers: Buffers, totals: Totals
) -> None:
    await buffers.add({Entity("post", n): views() for n in range(400)}, NOW)
    in_rounds = Flusher(store, totals.apply, each_round=1)
    assert (await in_rounds.flush(NOW, at_most=PARTITIONS + 3)).applied == PARTITIONS + 3
    assert await buffers.waiting() == 400 - PARTITIONS - 3


@pytest.mark.parametrize("spoilt", [pending(POST.tag), buffer(POST)])
async def test_trouble_with_what_waits_or_with_a_buffer_is_told(
    store: Store, buffers: Buffers, flusher: Flusher, spoilt: Key
) -> None:
    await buffers.add({POST: views()}, NOW)
    await store.node(spoilt).execute("SET", spoilt, "neither")
    flushed = await flusher.flush(NOW)
    assert (flushed.applied, type(flushed.trouble)) == (0, WrongType)


async def test_two_flushers_at_once_share_the_work(store: Store, buffers: Buffers, totals: Totals) -> None:
    await buffers.add({Entity("post", n): views(n + 1) for n in range(200)}, NOW)
    flushed = await asyncio.gather(*(Flusher(store, totals.apply).flush(NOW) for _ in range(4)))
    assert sum(each.applied for each in flushed) == 200
    assert [await stored(store, Entity("post", n)) for n in range(200)] == list(range(1, 201))


async def test_a_batch_whose_flusher_died_is_handed_out_again(
    store: Store, buffers: Buffers, totals: Totals, flusher: Flusher
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    assert await flusher.take([POST], NOW, Flushed())  # and dies
    await buffers.add({POST: views(1)}, NOW + 1)
    assert (await flusher.flush(NOW + LEASE_MS - 1)).applied == 0
    assert await read(totals) == 4
    assert (await flusher.flush(NOW + LEASE_MS)).applied == 2  # the one left behind, then the younger one
    assert await stored(store) == 4


async def test_a_batch_applied_by_one_who_died_is_not_added_again(
    store: Store, buffers: Buffers, totals: Totals, flusher: Flusher
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    await totals.apply(await flusher.take([POST], NOW, Flushed()))  # and dies
    assert await read(totals) == 3
    await flusher.flush(NOW + LEASE_MS)
    assert (await stored(store), await buffers.waiting()) == (3, 0)


async def test_a_flusher_that_wakes_up_late_changes_nothing(
    store: Store, buffers: Buffers, totals: Totals, flusher: Flusher
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    asleep = await flusher.take([POST], NOW, Flushed())
    await flusher.flush(NOW + LEASE_MS)
    await buffers.add({POST: views(4)}, NOW + LEASE_MS)
    (young,) = await flusher.take([POST], NOW + LEASE_MS + 1, Flushed())
    await totals.apply(asleep)
    await flusher.forget(asleep, Flushed())
    assert await read(totals) == 7
    await totals.apply([young])
    await flusher.forget([young], Flushed())
    assert (await stored(store), await buffers.waiting()) == (7, 0)


async def test_ids_rise_though_the_last_one_was_lost(
    store: Store, buffers: Buffers, flusher: Flusher
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    await flusher.flush(NOW)
    key = Key("series", tag=POST.tag, name="batches")
    await store.node(key).execute("DEL", key)
    await buffers.add({POST: views(3)}, NOW + 1)
    await flusher.flush(NOW + 1)
    assert await stored(store) == 6


async def test_what_cannot_be_applied_stays_and_delays_nobody(
    store: Store, buffers: Buffers, totals: Totals
) -> None:
    async def half(batches: list[Batch]) -> list[Batch]:
        return await totals.apply([each for each in batches if each.entity != POST])

    await buffers.add({POST: views(), OTHER: views()}, NOW)
    flushed = await Flusher(store, half).flush(NOW)
    assert (flushed.applied, flushed.left) == (1, 1)
    assert (await read(totals), await stored(store, OTHER)) == (1, 1)
    await Flusher(store, totals.apply).flush(NOW + LEASE_MS)
    assert await stored(store) == 1


async def test_buffers_are_flushed_while_memory_is_full(
    store: Store, buffers: Buffers, flusher: Flusher, deployment: Deployment
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    with deployment.configured("maxmemory", 1, usual=0):
        assert (await flusher.flush(NOW)).applied == 1
    assert await stored(store) == 3


def test_entities_spread_over_all_partitions() -> None:
    tags = Counter(Entity("post", n).tag for n in range(64_000))
    assert len(tags) == PARTITIONS
    assert max(tags.values()) < 1_300


async def test_what_is_forgotten_counts_from_nothing(
    store: Store, buffers: Buffers, totals: Totals, flusher: Flusher
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    await flusher.flush(NOW)
    await totals.forget(POST)
    assert (await stored(store), await read(totals)) == (0, 0)


async def test_a_batch_is_due_again_when_its_flusher_had_it_for_a_minute(
    buffers: Buffers, flusher: Flusher
) -> None:
    await buffers.add({POST: views(3)}, NOW)
    assert await flusher.due(NOW, Flushed()) == [POST]
    await flusher.take([POST], NOW, Flushed())
    assert await flusher.due(NOW + LEASE_MS - 1, Flushed()) == []
    assert await flusher.due(NOW + LEASE_MS, Flushed()) == [POST]


async def test_of_each_entity_what_is_unflushed_comes_the_batch_behind_the_buffer(
    buffers: Buffers, flusher: Flusher
) -> None:
    entities = [Entity("post", n) for n in range(4)]
    await buffers.add({each: views(10 + each.id) for each in entities[::2]}, NOW)
    await flusher.take(entities[::2], NOW, Flushed())
    await buffers.add({each: views(20 + each.id) for each in entities[:3]}, NOW)
    found = await buffers.unflushed(entities)
    assert [[each.change.counts["views"] for each in some] for some in found] == [
        [20, 10],
        [21],
        [22, 12],
        [],
    ]


def test_of_two_marks_of_one_moment_the_one_that_is_added_wins() -> None:
    assert Mark(5, "new").or_later(Mark(5, "old")) == Mark(5, "new")
