"""Read replicas are used while they are fresh, and never for reads that need current data."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.store import InvalidStoreUrl, Key, Read, Store, StoreError
from socialsite.store.replicas import MAX_REPLICA_LAG_S
from socialsite.store.slots import slot_of_tag
from tests.support.cluster import SLOTS, RedisCluster
from tests.support.redis_server import RedisServer
from tests.support.replicas import ReplicatedServer, count_reads, replicated_server
from tests.support.stalls import StallMonitor
from tests.support.stores import opened_store
from tests.support.waiting import eventually

KEY = Key("posts", tag="1", name="counts")
LAGGING = Read([("GET", KEY)], lambda replies: replies[0], may_lag=True)
EXACT = Read([("GET", KEY)], lambda replies: replies[0])


@pytest.fixture
async def servers() -> AsyncIterator[ReplicatedServer]:
    async with replicated_server() as started:
        yield started


@pytest.fixture
async def store(servers: ReplicatedServer) -> AsyncIterator[Store]:
    async with opened_store(servers.url) as opened:
        yield opened


async def test_only_reads_that_may_lag_use_the_replica(servers: ReplicatedServer, store: Store) -> None:
    await store.execute_all([("SET", KEY, "one")])
    await until_used(servers, store)
    read_counts = [await places_of_reads(servers, store, 20) for _ in range(5)]
    assert (20, 20) in read_counts  # every time, unless the machine is paused: then the replica is not fresh
    assert all(replica <= 20 for _, replica in read_counts)


async def places_of_reads(servers: ReplicatedServer, store: Store, times: int) -> tuple[int, int]:
    """Return the number of reads that the master answered, and the number that the replica answered."""
    before = count_reads(servers.master.client()), count_reads(servers.replica.client())
    for _ in range(times):
        assert await store.read(LAGGING, EXACT) == [b"one", b"one"]
    after = count_reads(servers.master.client()), count_reads(servers.replica.client())
    return after[0] - before[0], after[1] - before[1]


async def test_a_lagging_replica_is_not_used_after_a_second(servers: ReplicatedServer, store: Store) -> None:
    await store.execute_all([("SET", KEY, "old")])
    await until_used(servers, store)
    servers.wire.pause()
    await store.execute_all([("SET", KEY, "new")])
    written = time.monotonic()
    oldest = 0.0
    while time.monotonic() < written + 2 * MAX_REPLICA_LAG_S:
        answers = await store.read(LAGGING)
        if answers == [b"old"]:
            oldest = time.monotonic() - written
        await asyncio.sleep(0.01)
    assert servers.is_synced(), "the link claims to be up all the while"
    assert oldest < MAX_REPLICA_LAG_S
    servers.wire.resume()
    await until_used(servers, store)
    assert await store.read(LAGGING) == [b"new"]


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
async def test_an_unavailable_replica_causes_no_error(
    servers: ReplicatedServer, store: Store, number: signal.Signals
) -> None:
    await store.execute_all([("SET", KEY, "one")])
    await until_used(servers, store)
    if number == signal.SIGKILL:
        servers.replica.kill()
    else:
        signal_of(servers.replica, number)
    longest = 0.0
    with StallMonitor() as stalls:
        for _ in range(60):
            asked_at = time.monotonic()
            assert await store.read(LAGGING) == [b"one"]
            longest = max(longest, time.monotonic() - asked_at)
            await asyncio.sleep(0.02)
    assert longest < MAX_REPLICA_LAG_S + stalls.total_s
    if number == signal.SIGSTOP:
        signal_of(servers.replica, signal.SIGCONT)
        await until_used(servers, store)


async def test_a_promoted_replica_is_not_used(servers: ReplicatedServer, store: Store) -> None:
    await store.execute_all([("SET", KEY, "one")])
    await until_used(servers, store)
    with servers.replica.client() as client:
        client.replicaof("NO", "ONE")
        client.set(KEY, "of another history")
    await asyncio.sleep(MAX_REPLICA_LAG_S)
    assert await store.read(LAGGING) == [b"one"]


async def test_a_site_starts_while_its_replica_is_unavailable(servers: ReplicatedServer) -> None:
    servers.replica.kill()
    store = await open_store(servers.url)
    await store.execute_all([("SET", KEY, "one")])
    assert await store.read(LAGGING) == [b"one"]
    await store.close()


async def test_a_server_that_is_no_replica_is_refused(redis_server: RedisServer, redis_url: str) -> None:
    with RedisServer() as unrelated_server:
        with pytest.raises(StoreError, match="is not a replica: make it one of") as refused:
            await open_store(f"{redis_url}&replica={unrelated_server.socket}")
        assert "\n" not in str(refused.value)


async def test_a_replica_of_another_master_is_refused(servers: ReplicatedServer, redis_url: str) -> None:
    with pytest.raises(StoreError, match="is a replica of another master"):
        await open_store(f"{redis_url}&replica={servers.replica.socket}")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("redis://a:1?replica=", "names no server"),
        ("redis://a:1?replica=b", 'is not "host:port"'),
        ("redis://a:1?replica=b:x", 'is not "host:port"'),
        ("redis://a:1?replica=b:70000", 'is not "host:port"'),
        ("redis://a:1?replica=b:2&replica=b:2", "names a server twice"),
        ("redis+cluster://a:1?replicas=yes", "replicas=1 reads from replicas"),
    ],
)
async def test_an_invalid_url_of_a_replica_is_refused_with_a_short_error(url: str, reason: str) -> None:
    with pytest.raises(InvalidStoreUrl, match=reason) as refused:
        await open_store(url)
    assert "\n" not in str(refused.value)


async def test_replicas_of_a_cluster_are_used_except_while_slots_move() -> None:
    cluster = RedisCluster(masters=2, replicas=1)
    try:
        cluster.start()
        store = await open_store(f"{cluster.url}?replicas=1")
        keys = [Key("posts", tag=str(number), name="counts") for number in range(50)]
        await store.execute_all([("SET", key, number) for number, key in enumerate(keys)])
        source, target = cluster.masters
        await until_many(store, keys, cluster)
        slot = next(s for s in (slot_of_tag(key.tag) for key in keys) if s < SLOTS // 2)
        moving = cluster.move_slot(slot, source, target)
        next(moving)
        await asyncio.sleep(MAX_REPLICA_LAG_S)
        before = sum(count_reads(replica.client()) for replica in cluster.replicas)
        for _step in moving:
            assert await many(store, keys) == list(range(50))
        assert sum(count_reads(replica.client()) for replica in cluster.replicas) == before
        await until_many(store, keys, cluster)
        assert await many(store, keys) == list(range(50))
        for replica in cluster.replicas:
            replica.kill()
        for _ in range(20):
            assert await many(store, keys) == list(range(50))
            await asyncio.sleep(0.02)
        await store.close()
    finally:
        cluster.stop()


async def many(store: Store, keys: list[Key]) -> list[int]:
    return [int(reply) for reply in await store.execute_all([("GET", key) for key in keys], may_lag=True)]


async def until_many(store: Store, keys: list[Key], cluster: RedisCluster) -> None:
    """Repeat the reads until every replica has answered."""
    before = [count_reads(replica.client()) for replica in cluster.replicas]

    async def read_by_every_replica() -> bool:
        await many(store, keys)
        return all(count_reads(r.client()) > b for r, b in zip(cluster.replicas, before, strict=True))

    await eventually(read_by_every_replica)


async def until_used(servers: ReplicatedServer, store: Store) -> None:
    """Repeat the read until the replica answers, which takes a moment after a start or an outage."""
    before = count_reads(servers.replica.client())

    async def read_by_the_replica() -> bool:
        await store.read(LAGGING)
        return count_reads(servers.replica.client()) > before

    await eventually(read_by_the_replica)


def signal_of(server: RedisServer, number: int) -> None:
    os.kill(server.pid, number)
