"""Partial reads: a node in trouble does not delay the replies of other nodes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.recipes.partial import gather_partial, group_by_node
from socialsite.store import Key, Store, StoreFull, StoreUnavailable
from socialsite.store.factory import StoreUrls
from socialsite.store.slots import slot_of_tag
from tests.support.cluster import RedisCluster
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store

HERE = [Key("series", tag=str(number), name="uses") for number in range(3)]
THERE = [Key("limits", tag=str(number), name="uses") for number in range(2)]


@pytest.fixture
def other_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
async def two_nodes(redis_url: str, other_server: RedisServer) -> AsyncIterator[Store]:
    async with opened_store(StoreUrls(redis_url, {"limits": other_server.url})) as store:
        yield store


async def test_replies_come_in_the_order_of_the_commands(two_nodes: Store) -> None:
    keys = [HERE[0], THERE[0], HERE[1], THERE[1], HERE[2]]
    written = await gather_partial(two_nodes, [("SET", key, n) for n, key in enumerate(keys)])
    assert written == [b"OK"] * 5
    assert await gather_partial(two_nodes, [("GET", key) for key in keys]) == [b"0", b"1", b"2", b"3", b"4"]


async def test_an_error_replaces_only_the_replies_of_its_node(two_nodes: Store, other_server: RedisServer) -> None:
    other_server.kill()
    answers = await gather_partial(two_nodes, [("INCR", key) for key in (HERE[0], THERE[0], HERE[0], THERE[1])])
    assert answers[::2] == [1, 2]
    assert all(isinstance(answer, StoreUnavailable) for answer in answers[1::2])


async def test_items_are_grouped_by_node_in_order(two_nodes: Store) -> None:
    things = [HERE[1], THERE[1], HERE[0], THERE[0]]
    groups, homeless = group_by_node(two_nodes, things, lambda key: key)
    assert [found for _, found in groups] == [[HERE[1], HERE[0]], [THERE[1], THERE[0]]]
    assert homeless == []


async def test_an_unreachable_node_does_not_count_as_full(two_nodes: Store, other_server: RedisServer) -> None:
    other_server.kill()
    await MemoryGuard(two_nodes, reserve_bytes=1 << 60).check()


async def test_each_node_needs_the_reserve_and_a_measurement_is_valid_for_a_second(
    two_nodes: Store, other_server: RedisServer
) -> None:
    guard = MemoryGuard(two_nodes, reserve_bytes=1 << 40)
    with other_server.client() as client:
        client.config_set("maxmemory", 1 << 41)
        await guard.check()
        client.config_set("maxmemory", 1 << 40)
        await guard.check()
        with pytest.raises(StoreFull, match=str(other_server.socket)):
            await MemoryGuard(two_nodes, reserve_bytes=1 << 40).check()


async def test_a_slot_without_a_node_does_not_fail_other_commands(cluster: RedisCluster) -> None:
    cluster.flush()
    lost, held = HERE[:2]
    store = await open_store(cluster.url)
    with cluster.without_slot(slot_of_tag(lost.tag)):
        async with asyncio.timeout(10):
            while has_node(store, lost):
                with contextlib.suppress(StoreUnavailable):
                    await store.node(lost).execute("GET", lost)
                await asyncio.sleep(0.05)
        answers = await gather_partial(store, [("INCR", held), ("INCR", lost), ("INCR", held)])
        assert answers[::2] == [1, 2]
        assert isinstance(answers[1], StoreUnavailable)
        groups, homeless = group_by_node(store, [lost, held], lambda key: key)
        assert [found for _, found in groups] == [[held]]
        assert [key for key, _ in homeless] == [lost]
    await store.close()


def has_node(store: Store, key: Key) -> bool:
    try:
        store.node(key)
    except StoreUnavailable:
        return False
    return True
