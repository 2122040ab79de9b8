"""Presence of members, on one server and on a cluster, and what it refuses."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator

import pytest

from socialsite.clock import FixedClock
from socialsite.migration.store_factory import open_store
from socialsite.recipes.presence import (
    SENTINEL_MEMBER,
    Presence,
    fixed_channel,
    members_key,
    process_channel,
    processes_key,
)
from socialsite.store import Key, Store, StoreError, StoreUnavailable
from tests.support.cluster import RedisCluster
from tests.support.pubsub_process import DISABLED_INTERVAL_S, NOW_MS, WebProcess, open_listener
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.waiting import eventually


async def test_every_process_receives_messages_of_the_fixed_channels(start, presence) -> None:
    processes = [await start(), await start()]
    await presence.publish({fixed_channel(number): b"word %d" % number for number in range(16)})
    for process in processes:
        for number in range(16):
            await process.wait_for_message(b"word %d" % number)


async def test_a_message_to_one_process_reaches_no_other(start, presence) -> None:
    one, other = await start(), await start()
    await presence.publish({process_channel(one.hub.process_id): b"for one"})
    await presence.publish({fixed_channel(0): b"for all"})
    await one.wait_for_message(b"for one")
    await other.wait_for_message(b"for all")
    assert b"for one" not in other.heard


async def test_members_are_located_only_in_their_processes(start, presence) -> None:
    one, other = await start(), await start()
    await one.hub.add_member("7")
    await other.hub.add_member("8")
    await other.hub.add_member("l3")
    places = await presence.locate(["7", "8", "9", "l3"])
    assert places == {one.hub.process_id: ["7"], other.hub.process_id: ["8", "l3"]}


async def test_a_member_is_present_until_its_last_socket_left(start, presence) -> None:
    process = await start()
    await process.hub.add_member("7")
    await process.hub.add_member("7")
    process.hub.remove_member("7")
    await asyncio.sleep(0.25)
    assert await presence.locate(["7"]) == {process.hub.process_id: ["7"]}
    process.hub.remove_member("7")
    async with asyncio.timeout(20):
        while await presence.locate(["7"]):  # noqa: ASYNC110 - told at the hub's next round
            await asyncio.sleep(0.01)


async def test_a_lost_presence_set_is_stored_again_and_causes_a_resync(start, presence, store) -> None:
    process = await start()
    await process.hub.add_member("7")
    key = members_key(process.hub.process_id)
    await store.node(key).execute("DEL", key)
    await eventually(lambda: process.gaps >= 1)  # two if the set was renewed before it was stored again
    assert await presence.locate(["7"]) == {process.hub.process_id: ["7"]}


async def test_adding_a_member_to_a_lost_set_does_not_hide_the_loss(start, presence, store) -> None:
    process = await start()
    await process.hub.add_member("7")
    key = members_key(process.hub.process_id)
    await store.node(key).execute("DEL", key)
    await process.hub.add_member("8")
    await eventually(lambda: process.gaps >= 1)
    assert await presence.locate(["7", "8"]) == {process.hub.process_id: ["7", "8"]}


async def test_a_lost_connection_is_reported_after_it_is_back(start, presence, store) -> None:
    process = await start()
    killed = await store.node(processes_key()).execute("CLIENT", "KILL", "TYPE", "pubsub")
    assert killed >= 1  # a Sentinel is subscribed, too
    await eventually(lambda: process.gaps == 1)
    assert process.losses == 1
    await presence.publish({process_channel(process.hub.process_id): b"heard again"})
    await process.wait_for_message(b"heard again")


async def test_presence_has_a_time_to_live(start, store) -> None:
    key = members_key((await start()).hub.process_id)
    assert 0 < await store.node(key).execute("TTL", key) <= 15
    assert await store.node(key).execute("SMEMBERS", key) == [SENTINEL_MEMBER.encode()]


async def test_a_process_that_stopped_renewing_is_no_longer_queried(start, presence, store, clock) -> None:
    process = await start()
    await process.hub.add_member("7")
    await process.hub.close()
    await store.node(processes_key()).execute("ZADD", processes_key(), NOW_MS + 30_000, "dead")
    assert await presence.live_processes() == ["dead"]
    clock.advance(30_001)
    assert await presence.live_processes() == []


async def test_renewing_removes_expired_processes(start, store) -> None:
    await store.node(processes_key()).execute("ZADD", processes_key(), NOW_MS - 1, "dead")
    process = await start()
    async with asyncio.timeout(20):
        while await registered(store) != [process.hub.process_id.encode()]:  # noqa: ASYNC110 - at its next round
            await asyncio.sleep(0.01)


async def registered(store: Store) -> list[bytes]:
    process_ids: list[bytes] = await store.node(processes_key()).execute("ZRANGE", processes_key(), 0, -1)
    return process_ids


async def test_a_member_that_could_not_be_added_is_absent_and_may_be_added_later(clock) -> None:
    server = RedisServer().start()
    store = await open_store(server.url)
    process = await open_listener(store, clock)
    try:
        await process.hub.add_member("7")
        server.kill()
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await process.hub.add_member("8")
        server.start()
        await eventually(lambda: process.gaps > 0)
        presence = Presence(store, clock)
        assert await presence.locate(["7", "8"]) == {process.hub.process_id: ["7"]}
        await process.hub.add_member("8")
        await store.node(processes_key()).execute("DEL", members_key(process.hub.process_id))
        await process.hub.add_member("9")
        gaps = process.gaps
        await eventually(lambda: process.gaps > gaps)
        assert await presence.locate(["7", "8"]) == {process.hub.process_id: ["7", "8"]}
    finally:
        await process.hub.close()
        await store.close()
        server.stop()


async def test_a_message_that_a_store_error_interrupts_causes_a_resync(start, presence) -> None:
    process = await start()
    process.trouble = StoreUnavailable("away")
    await presence.publish({process_channel(process.hub.process_id): b"missed"})
    await eventually(lambda: process.gaps == 1)


ENTRIES = 50


@pytest.fixture
async def cluster_store(cluster: RedisCluster) -> AsyncIterator[Store]:
    cluster.flush()
    async with opened_store(cluster.url) as opened:
        yield opened


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
