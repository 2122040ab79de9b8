"""Presence on a cluster, where the commands of one renewal are sent to several nodes."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from socialsite.clock import FixedClock
from socialsite.migration.store_factory import open_store
from socialsite.recipes.presence import Presence, members_key, processes_key
from socialsite.store import Key, Store
from tests.support.cluster import RedisCluster
from tests.support.hearing import open_listener
from tests.support.waiting import eventually

ENTRIES = 50


@pytest_asyncio.fixture
async def cluster_store(cluster: RedisCluster) -> AsyncIterator[Store]:
    cluster.flush()
    opened = await open_store(cluster.url)
    yield opened
    await opened.close()


async def test_a_renewal_keeps_a_member_that_enters_meanwhile(cluster_store: Store, clock: FixedClock) -> None:
    process, presence = await open_listener(cluster_store, clock, renew_every_s=0.001), Presence(cluster_store, clock)
    while cluster_store.node(members_key(process.hub.process_id)) is cluster_store.node(processes_key()):
        await process.hub.close()
        process = await open_listener(cluster_store, clock, renew_every_s=0.001)

    async def enter() -> None:
        await asyncio.sleep(0.002)
        await process.hub.add_member("7")

    try:
        await process.hub.add_member("7")
        for entry in range(ENTRIES):
            process.hub.remove_member("7")
            entering = asyncio.create_task(enter())
            await asyncio.sleep(0)
            time.sleep(0.004)
            await entering
            assert await presence.locate(["7"]) == {process.hub.process_id: ["7"]}, f"entry {entry} was lost"
    finally:
        await process.hub.close()


async def test_a_member_that_left_while_the_store_failed_is_removed_later(
    cluster_store: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    process, presence = await open_listener(cluster_store, clock), Presence(cluster_store, clock)
    members = members_key(process.hub.process_id)
    saved, node = Key("live", tag=process.hub.process_id, name="saved"), cluster_store.node(members)

    async def is_correct() -> bool:
        return await presence.locate(["7", "8"]) == {process.hub.process_id: ["8"]}

    try:
        await process.hub.add_member("7")
        await process.hub.add_member("8")
        await node.transaction([("RENAME", members, saved), ("SET", members, "refuses every command of a set")])
        process.hub.remove_member("7")
        await eventually(lambda: "presence could not be renewed" in caplog.text, 20)
        await node.transaction([("RENAME", saved, members)])
        await eventually(is_correct, 20)
    finally:
        await process.hub.close()
