"""Client-side shards refuse to start with an incomplete map or the map of other servers."""

import asyncio
import io
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from socialsite.migration.store_factory import open_store
from socialsite.store import StoreUnavailable
from socialsite.store.partitioners import TablePartitioner, balanced_partitioner
from socialsite.store.topology.shard_map import ShardMap, bitmap_key
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer
from tests.support.sharding import SHARD_MAP_KEY, id_on, open_sharded_store, replace_shard_map, start_refusal
from tests.support.topologies import SHARDS, shards_url


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
    assert "1 slots stand on no list" in await start_refusal(servers, "list")


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
