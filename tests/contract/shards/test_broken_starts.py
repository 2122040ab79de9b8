"""Client-side shards: a failed or cancelled start leaves no open connection to any server."""

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.store import Key, StoreUnavailable
from tests.support.left_open import SilentServer, assert_no_open_connections, cancel_at_every_step
from tests.support.redis_server import RedisServer
from tests.support.repartition import run_migration
from tests.support.sharding import open_sharded_store
from tests.support.topologies import shards_url

NOBODY = "127.0.0.1:1"


async def test_a_start_that_fails_leaves_no_connection_to_the_shards_that_answer(
    servers: list[RedisServer],
) -> None:
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
