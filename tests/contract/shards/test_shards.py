"""Client-side shards: the map of the servers, starts that are refused, and commands that are refused."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from socialsite.migration.store_factory import open_store
from socialsite.store import Key, Store, StoreUnavailable
from socialsite.store.address import Address
from socialsite.store.partitioners import RangePartitioner, TablePartitioner, balanced_partitioner
from socialsite.store.slots import SLOT_COUNT, slot_of_tag
from socialsite.store.topology.shard_map import ShardMap, bitmap_key
from socialsite.store.topology.shards import ShardMapChanged, Shards
from tests.support.connections import SilentServer, assert_no_open_connections, cancel_at_every_step
from tests.support.migrations import run_migration
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer
from tests.support.sharding import SHARD_MAP_KEY, id_on, open_sharded_store, replace_shard_map, start_refusal
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
            assert len(client.keys("map:{shards}:partition:*")) == (SHARDS if kind in ("range", "list") else 0)
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


@pytest.fixture
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
        with pytest.raises(ShardMapChanged, match="it was emptied"):  # the server restarted without its data
            await lost.execute("GET", numbered_key(1))


NOBODY = "127.0.0.1:1"


async def test_a_start_that_fails_leaves_no_connection_to_the_shards_that_answer(servers: list[RedisServer]) -> None:
    urls = shards_url(servers, "hash").replace(str(servers[2].socket), "/nowhere.sock")
    async with assert_no_open_connections(*(server.client for server in servers)):
        for _ in range(5):
            with pytest.raises(StoreUnavailable):
                await open_store(urls)


async def test_the_start_does_not_wait_for_a_silent_shard_if_another_shard_is_unavailable() -> None:
    async with SilentServer() as silent:
        with pytest.raises(StoreUnavailable, match=NOBODY):
            await open_store(f"redis+shards://{silent.place},{NOBODY}?partitioner=hash")
        await silent.wait_until_abandoned()


async def test_a_start_cancelled_at_any_step_leaves_no_connection(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers):
        pass
    async with assert_no_open_connections(*(server.client for server in servers)):
        await cancel_at_every_step(lambda: open_store(shards_url(servers, "hash")))


async def test_a_cancelled_start_that_follows_a_migration_to_shards_leaves_no_connection(
    servers: list[RedisServer], spare: RedisServer
) -> None:
    """The connections to the shards are opened after the start has read the placement map."""
    home = Key("timelines", tag="1", name="home")
    store = await open_store(spare.url)
    await store.node(home).execute("RPUSH", home, 1)
    await store.close()
    await run_migration(spare.url, shards_url(servers, "hash"), "timelines")
    async with assert_no_open_connections(*(server.client for server in (spare, *servers))):
        for _ in range(8):  # the tested step takes three of a hundred steps
            await cancel_at_every_step(lambda: open_store(spare.url))


async def test_another_order_of_shards_is_refused(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers):
        pass
    assert "put the servers back into their order" in await start_refusal([servers[1], servers[0], *servers[2:]])


async def test_another_number_of_shards_is_refused(servers: list[RedisServer], spare: RedisServer) -> None:
    async with open_sharded_store(servers):
        pass
    assert "one of 4 shards and the URL names 3" in await start_refusal(servers[:3])
    assert "one of 4 shards and the URL names 5" in await start_refusal([*servers, spare])


async def test_another_partitioner_is_refused(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers, "hash"):
        pass
    assert "partitioner=hash and the URL says ring" in await start_refusal(servers, "ring")


async def test_an_emptied_shard_is_refused(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers):
        pass
    for server in servers[:1], servers[2:]:
        with server[0].client() as client:
            before = {name: client.dump(name) for name in client.keys()}  # noqa: SIM118 - a command
            client.flushall()
            assert "restore its data if it was emptied" in await start_refusal(servers)
            for name, value in before.items():
                client.restore(name, 0, value)


async def test_a_shard_of_another_set_is_refused(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers):
        pass
    replace_shard_map(servers[3], ShardMap("abad1dea", 1, balanced_partitioner("hash", SHARDS)))
    assert "belongs to another set of shards" in await start_refusal(servers)


def change(field: str, value: object) -> Callable[[redis.Redis], object]:
    return lambda client: client.hset(SHARD_MAP_KEY, field, str(value))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (change("checksum", "0" * 64), "its checksum is wrong"),
        (change("epoch", 2), "its checksum is wrong"),
        (change("partitioner", "modulo"), "the partitioner 'modulo' is unknown"),
        (change("count", "many"), "is damaged"),
        (lambda client: client.hdel(SHARD_MAP_KEY, "state"), "is damaged"),
        (lambda client: client.setbit(bitmap_key(1), 0, 1), "is not slots"),
        (lambda client: client.delete(bitmap_key(3)), "is not slots"),
    ],
)
async def test_a_damaged_map_is_refused(
    servers: list[RedisServer], harm: Callable[[redis.Redis], object], words: str
) -> None:
    async with open_sharded_store(servers, "range"):
        pass
    with servers[2].client() as client:
        harm(client)
    assert words in await start_refusal(servers, "range")


async def test_a_list_without_an_owner_for_each_slot_is_refused(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers, "list"):
        pass
    for server in servers:
        with server.client() as client:
            client.setbit(bitmap_key(TablePartitioner.balanced(SHARDS).partition_of_slot(7)), 7, 0)
    assert "1 slots belong to no partition" in await start_refusal(servers, "list")


async def test_shards_of_two_epochs_are_refused(servers: list[RedisServer]) -> None:
    async with open_sharded_store(servers):
        pass
    replace_shard_map(servers[3], ShardMap(id_on(servers[3]), 2, balanced_partitioner("hash", SHARDS)))
    assert "a move was broken off" in await start_refusal(servers)


async def test_servers_with_keys_of_another_placement_are_refused(servers: list[RedisServer]) -> None:
    with servers[0].client() as client:
        for n in range(20):
            client.set(numbered_key(n), n)
    assert "holds data of this site already" in await start_refusal(servers)


async def test_keys_of_other_applications_on_a_server_are_ignored(servers: list[RedisServer]) -> None:
    with servers[0].client() as client:
        for n in range(20):
            client.set(f"cache:{n}", n)
    async with open_sharded_store(servers):
        pass


async def test_the_error_names_a_server_that_does_not_answer(servers: list[RedisServer]) -> None:
    urls = shards_url(servers, "hash").replace(str(servers[2].socket), "/nowhere.sock")
    with pytest.raises(StoreUnavailable, match=r"cannot connect to /nowhere\.sock"):
        await open_store(urls)


async def test_the_system_check_reports_the_error(servers: list[RedisServer], settings: Any) -> None:
    async with open_sharded_store(servers):
        pass
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = shards_url(servers[:3], "hash"), {}
    with pytest.raises(SystemCheckError, match=r"socialsite\.E006.* the URL names 3"):
        await asyncio.to_thread(call_command, "check", "--tag", "redis", stderr=io.StringIO())
