"""A listener with an unavailable or refusing server keeps no dead subscription and pauses between tries."""

import asyncio
import logging

import pytest

from socialsite.clock import FixedClock
from socialsite.migration.store_factory import open_store
from socialsite.recipes.presence import processes_key
from socialsite.store import StoreError
from tests.support.hearing import DISABLED_INTERVAL_S, WebProcess
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually


async def channels_on(server: RedisServer) -> list[bytes]:
    with server.client() as client:
        channels: list[bytes] = client.execute_command("PUBSUB", "SHARDCHANNELS")
    return channels


@pytest.fixture
def own_server() -> RedisServer:
    return RedisServer()


async def test_a_closed_or_failed_listener_has_no_subscription(own_server: RedisServer, clock: FixedClock) -> None:
    own_server.start()
    store = await open_store(own_server.url)
    process = WebProcess(store, clock, DISABLED_INTERVAL_S)

    async def is_silent() -> bool:
        return await channels_on(own_server) == []

    try:
        await store.node(processes_key()).execute("SET", processes_key(), "no register of processes")
        with pytest.raises(StoreError):
            await process.hub.open()
        await eventually(is_silent)
        await store.node(processes_key()).execute("DEL", processes_key())
        await process.hub.open()
        assert len(await channels_on(own_server)) == 17
        await process.hub.close()
        await eventually(is_silent)
    finally:
        await process.hub.close()
        await store.close()
        own_server.stop()


async def test_resyncing_with_an_unavailable_store_pauses_between_tries(
    own_server: RedisServer, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.start()
    store = await open_store(own_server.url)
    process = WebProcess(store, clock, DISABLED_INTERVAL_S)
    try:
        await process.hub.open()
        own_server.kill()
        with caplog.at_level(logging.WARNING, "socialsite.recipes.pubsub_listener"):
            await asyncio.sleep(1.5)
        assert 1 <= len(caplog.records) <= 10
        assert process.gaps == 0
        own_server.start()
        await eventually(lambda: process.gaps == 1, timeout_s=10)
    finally:
        await process.hub.close()
        await store.close()
        own_server.stop()
