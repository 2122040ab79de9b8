"""Open client-side shards in tests, and read the error of a refused start."""

import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.store import Store
from socialsite.store.topology.shard_map import InvalidShardMap, ShardMap, shard_key
from tests.support.redis_server import RedisServer
from tests.support.topologies import shards_url

SHARD_MAP_KEY = shard_key()


@contextlib.asynccontextmanager
async def open_sharded_store(servers: Sequence[RedisServer], partitioner: str = "hash") -> AsyncIterator[Store]:
    store = await open_store(shards_url(servers, partitioner))
    try:
        yield store
    finally:
        await store.close()


async def start_refusal(servers: Sequence[RedisServer], partitioner: str = "hash") -> str:
    with pytest.raises(InvalidShardMap) as refused:
        async with open_sharded_store(servers, partitioner):
            pass
    assert "\n" not in str(refused.value)
    return str(refused.value)


def replace_shard_map(server: RedisServer, other: ShardMap) -> None:
    with server.client() as client:
        fields = {"id": other.id, "epoch": other.epoch, "checksum": other.checksum}
        client.hset(SHARD_MAP_KEY, mapping=fields)


def id_on(server: RedisServer) -> str:
    with server.client() as client:
        id: bytes = client.hget(SHARD_MAP_KEY, "id")
        return id.decode()
