"""Client-side shards share one map, which they re-read while they run; a lost shard affects only its own keys."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from socialsite.migration.store_factory import open_store
from socialsite.store import Store, StoreUnavailable
from socialsite.store.address import Address
from socialsite.store.partitioners import RangePartitioner, balanced_partitioner
from socialsite.store.slots import SLOT_COUNT, slot_of_tag
from socialsite.store.topology.shard_map import ShardMap, bitmap_key
from socialsite.store.topology.shards import ShardMapChanged, Shards
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer
from tests.support.sharding import SHARD_MAP_KEY, id_on, open_sharded_store, replace_shard_map
from tests.support.topologies import SHARDS, shards_url

# The shard map


@pytest.mark.parametrize("kind", ["hash", "ring", "range", "list"])
async def test_keys_are_stored_on_the_shard_of_the_partitioner(servers: list[RedisServer], kind: str) -> None:
    async with open_sharded_store(servers, kind) as store:
        await store.execute_all([("SET", numbered_key(n), n) for n in range(200)])
        assert await store.execute_all([("GET", numbered_key(n)) for n in range(200)]) == [
            b"%d" % n for n in range(200)
        ]
    partitioner = balanced_partitioner(kind, SHARDS)
    for number, server in enumerate(servers):
        with server.client() as client:
            tags = {int(text.split(b"{")[1].split(b"}")[0]) for text in client.keys("posts:*")}
        assert tags == {n for n in range(200) if partitioner.partition_of(str(n)) == number}
        assert tags


@pytest.mark.parametrize("kind", ["hash", "ring", "range", "list"])
async def test_every_shard_stores_the_map_and_its_number(servers: list[RedisServer], kind: str) -> None:
    async with open_sharded_store(servers, kind):
        pass
    maps = []
    for number, server in enumerate(servers):
        with server.client() as client:
            fields = client.hgetall(SHARD_MAP_KEY)
            maps.append((fields[b"id"], fields[b"checksum"]))
            assert (fields[b"number"], fields[b"count"]) == (b"%d" % number, b"%d" % SHARDS)
            assert (fields[b"partitioner"], fields[b"state"]) == (kind.encode(), b"formed")
            assert fields[b"epoch"] == b"1"
            bitmaps = client.keys("map:{shards}:partition:*")
            assert len(bitmaps) == (SHARDS if kind in ("range", "list") else 0)
    assert len(set(maps)) == 1


async def test_a_server_stores_a_bitmap_of_its_slots(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers, "range"):
        pass
    with servers[0].client() as client:
        for tag in ("42", "p7", "outbox"):
            bits = [client.getbit(bitmap_key(number), slot_of_tag(tag)) for number in range(SHARDS)]
            assert bits.index(1) == RangePartitioner(SHARDS).partition_of(tag)
            assert sum(bits) == 1
        assert sum(client.bitcount(bitmap_key(number)) for number in range(SHARDS)) == SLOT_COUNT


async def test_processes_that_start_concurrently_use_one_map(servers: list[RedisServer]) -> None:
    stores = await asyncio.gather(*(open_store(shards_url(servers, "ring")) for _ in range(8)))
    await stores[0].execute_all([("SET", numbered_key(n), n) for n in range(50)])
    for store in stores:
        assert await store.execute_all([("GET", numbered_key(n)) for n in range(50)]) == [b"%d" % n for n in range(50)]
        await store.close()


async def test_the_next_start_finishes_an_interrupted_start(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers, "list"):
        pass
    for number, server in enumerate(servers):
        with server.client() as client:
            if number < 2:
                client.hset(SHARD_MAP_KEY, "state", "forming")
            else:
                client.flushall()
    async with open_sharded_store(servers, "list") as store:
        await store.execute_all([("SET", numbered_key(n), n) for n in range(50)])


async def test_the_stored_map_is_used_if_the_url_names_no_partitioner(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers, "ring"):
        pass
    store = await open_store(shards_url(servers, "ring").split("?")[0])
    assert {store.node(numbered_key(n)).address for n in range(50)} == {node.address for node in store.nodes}
    await store.close()


async def test_a_shard_can_move_to_another_server_with_its_data(servers: list[RedisServer], spare: RedisServer) -> None:
    """The map contains numbers of shards and no addresses."""
    async with open_sharded_store(servers, "range") as store:
        await store.execute_all([("SET", numbered_key(n), n) for n in range(50)])
    with servers[1].client() as source, spare.client() as target:
        for name in source.keys():  # noqa: SIM118 - a command
            target.restore(name, 0, source.dump(name))
    async with open_sharded_store([servers[0], spare, *servers[2:]], "range") as store:
        assert await store.execute_all([("GET", numbered_key(n)) for n in range(50)]) == [b"%d" % n for n in range(50)]


# Changes at runtime


@pytest_asyncio.fixture
async def quick(servers: list[RedisServer]) -> AsyncIterator[Shards]:
    """Yield shards that re-read their map every 50 ms."""
    addresses = [Address.parse(server.url) for server in servers]
    made = Shards(addresses, "hash", lease_s=0.05)
    await made.open()
    yield made
    await made.close()


async def test_a_process_with_an_old_map_refuses_to_write(quick: Shards, servers: list[RedisServer]) -> None:
    store = Store(quick)
    await store.execute_all([("SET", numbered_key(n), n) for n in range(20)])
    later = ShardMap(id_on(servers[0]), 2, balanced_partitioner("hash", SHARDS))
    for server in servers:
        replace_shard_map(server, later)
    await asyncio.sleep(0.1)
    for n in range(20):
        node = store.node(numbered_key(n))
        with pytest.raises(ShardMapChanged, match="restart the process"):
            await node.execute("SET", numbered_key(n), "late")
        with pytest.raises(ShardMapChanged):
            await node.send_encoded(b"*1\r\n$4\r\nPING\r\n", 1)
        with pytest.raises(ShardMapChanged):
            await node.transaction([("SET", numbered_key(n), "late")])
    for server in servers:
        with server.client() as client:
            assert b"late" not in [client.get(name) for name in client.keys("posts:*")]


async def test_a_shard_that_was_emptied_is_not_read_as_empty(quick: Shards, servers: list[RedisServer]) -> None:
    store = Store(quick)
    await store.execute_all([("SET", numbered_key(n), n) for n in range(20)])
    with servers[1].client() as client:
        client.flushall()
    await asyncio.sleep(0.1)
    gone = [n for n in range(20) if quick.nodes[1] is store.node(numbered_key(n))]
    for n in gone:
        with pytest.raises(ShardMapChanged, match="it was emptied"):
            await store.node(numbered_key(n)).execute("GET", numbered_key(n))


async def test_a_lost_shard_costs_only_its_own_keys(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers) as store:
        await store.execute_all([("SET", numbered_key(n), n) for n in range(40)])
        servers[0].kill()
        lost = store.nodes[0]
        try:
            for n in range(40):
                node = store.node(numbered_key(n))
                if node is lost:
                    with pytest.raises(StoreUnavailable):
                        await node.execute("GET", numbered_key(n))
                else:
                    assert await node.execute("GET", numbered_key(n)) == b"%d" % n
            with pytest.raises(StoreUnavailable):
                await store.execute_all([("GET", numbered_key(n)) for n in range(40)])
            assert await store.now_ms() > 0
        finally:
            servers[0].start()
        with pytest.raises(ShardMapChanged, match="it was emptied"):  # it restarted without its data
            await lost.execute("GET", numbered_key(1))
