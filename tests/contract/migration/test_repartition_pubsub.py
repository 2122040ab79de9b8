"""The listener subscribes at the node of its channels, also after a slot moves or a master dies."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from socialsite.clock import FixedClock
from socialsite.migration.store_factory import open_store
from socialsite.recipes.presence import Presence, fixed_channel
from socialsite.recipes.pubsub_listener import PubSubListener
from socialsite.store import Store, StoreUnavailable
from socialsite.store.slots import slot_of
from tests.support.cluster import ClusterMember, RedisCluster

CHANNEL = fixed_channel(3)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    running = RedisCluster(replicas=1).start()
    yield running
    running.stop()


@pytest_asyncio.fixture
async def store(cluster: RedisCluster) -> AsyncIterator[Store]:
    cluster.flush()
    opened = await open_store(cluster.url)
    yield opened
    await opened.close()


@dataclass
class Listener:
    """A pub/sub listener and its received messages."""

    heard: list[bytes] = field(default_factory=list)
    gaps: int = 0

    async def on_message(self, payload: bytes) -> None:
        self.heard.append(payload)

    async def on_gap(self) -> None:
        self.gaps += 1

    async def hears(self, store: Store, clock: FixedClock, text: bytes, within_s: float) -> None:
        """Publish the message repeatedly until it is received, because pub/sub does not store messages."""
        async with asyncio.timeout(within_s):
            while text not in self.heard:
                with contextlib.suppress(StoreUnavailable):  # during a failover
                    await Presence(store, clock).publish({CHANNEL: text})
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture
async def listener(store: Store) -> AsyncIterator[Listener]:
    listener = Listener()
    clock = FixedClock(1_795_000_000_000)
    hub = PubSubListener(
        store, clock, on_message=listener.on_message, on_lost=lambda: None, on_resynced=listener.on_gap
    )
    await hub.open()
    yield listener
    await hub.close()


def holder(cluster: RedisCluster, store: Store) -> ClusterMember:
    address = str(store.node(CHANNEL).address)
    return next(member for member in cluster.members if member.address == address)


async def test_a_channel_is_received_after_its_slot_moved_to_another_master(
    cluster: RedisCluster, store: Store, listener: Listener
) -> None:
    clock = FixedClock(1_795_000_000_000)
    await listener.hears(store, clock, b"before", 5)
    source = holder(cluster, store)
    target = next(member for member in cluster.masters if member is not source)
    for _ in cluster.move_slot(slot_of(CHANNEL), source, target):
        pass
    await listener.hears(store, clock, b"after", 10)
    assert listener.gaps
    assert holder(cluster, store) is target


async def test_a_process_that_only_listens_finds_the_new_node_of_its_channel(
    cluster: RedisCluster, listener: Listener
) -> None:
    """The process sends no commands itself, so no redirection names the new node; another process publishes."""
    clock, speaker = FixedClock(1_795_000_000_000), await open_store(cluster.url)
    try:
        await listener.hears(speaker, clock, b"before", 5)
        source = holder(cluster, speaker)
        target = next(member for member in cluster.masters if member is not source)
        for _ in cluster.move_slot(slot_of(CHANNEL), source, target):
            pass
        await listener.hears(speaker, clock, b"after", 10)
        assert listener.gaps
    finally:
        await speaker.close()


async def test_a_channel_is_received_at_the_replica_after_its_master_died(
    cluster: RedisCluster, store: Store, listener: Listener
) -> None:
    clock = FixedClock(1_795_000_000_000)
    await listener.hears(store, clock, b"before", 5)
    holder(cluster, store).signal(signal.SIGKILL)
    await listener.hears(store, clock, b"after", 20)
    assert listener.gaps
