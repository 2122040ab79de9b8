"""Where keys and channels are while a site migrates."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest

from socialsite.clock import FixedClock
from socialsite.migration import commands as operation
from socialsite.migration.progress import MigrationProgress
from socialsite.migration.store_factory import open_store
from socialsite.recipes.presence import Presence, fixed_channel
from socialsite.recipes.pubsub_listener import PubSubListener
from socialsite.store import Key, Store, StoreUnavailable, StoreUrls
from socialsite.store.slots import slot_of_tag
from tests.support.active_site import ActiveSite, key_names, ongoing_activity, open_active_site
from tests.support.cluster import ClusterMember, RedisCluster
from tests.support.migrations import migration_site, run_migration
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.topologies import TOPOLOGIES


async def test_a_site_moves_from_server_to_server_while_people_publish(
    town: ActiveSite, old: str, new: str, old_server: RedisServer
) -> None:
    async with ongoing_activity(town):
        report = await run_migration(old, new)
    assert report.statistics.keys.total() > 50
    assert not report.unreported_keys
    assert not town.refused
    assert key_names(old_server) == set()
    await town.check()


@pytest.mark.nightly
async def test_a_site_moves_to_a_cluster_and_back(
    town: ActiveSite, old: str, cluster: str, old_server: RedisServer, running_cluster: RedisCluster
) -> None:
    async with ongoing_activity(town):
        await run_migration(old, cluster)
        assert key_names(old_server) == set()
        await run_migration(old, old)
    assert not town.refused
    left = [key for master in running_cluster.masters for key in master.client().keys("*")]
    assert {key for key in left if not key.startswith("map:")} == set()
    await town.check()


async def test_one_component_is_migrated_and_the_others_remain(
    town: ActiveSite, old: str, new: str, old_server: RedisServer, new_server: RedisServer
) -> None:
    async with ongoing_activity(town):
        await run_migration(old, new, "timelines")
    assert {name.split(":")[0] for name in key_names(new_server)} == {"timelines"}
    assert "timelines" not in {name.split(":")[0] for name in key_names(old_server)}
    await town.check()


async def test_a_component_can_be_migrated_back(town: ActiveSite, old: str, new: str, new_server: RedisServer) -> None:
    await run_migration(old, new, "timelines")
    await run_migration(old, old, "timelines")
    assert key_names(new_server) == set()
    town.posts.append(await town.people[0].publishes("home again"))
    await town.check()


@pytest.mark.nightly
async def test_a_component_placed_elsewhere_is_migrated_with_the_others(old: str, new: str, cluster: str) -> None:
    async with open_active_site(StoreUrls(old, {"timelines": new})) as town:
        async with ongoing_activity(town):
            await operation.migrate(migration_site(old, timelines=new), cluster, slices=16)
        await town.check()


async def test_keys_keep_their_time_to_live_and_streams_their_pending_jobs(
    town: ActiveSite, old: str, new: str, new_server: RedisServer
) -> None:
    outbox = town.worker.outbox
    await outbox.create_group()
    await town.web.outbox.add(b"first")
    await town.web.outbox.add(b"second")
    (taken,) = await outbox.fetch("abad1dea", 1, 10)
    key = Key("limits", tag="a1", name="post:1")
    await town.web.store.node(key).execute("SET", key, 7, "PX", 100_000)
    await run_migration(old, new)
    assert 90_000 < new_server.client().pttl(key) <= 100_000
    assert (await outbox.read_depth()).pending == 1
    assert await outbox.finish(taken)
    assert [job.payload for job in await outbox.fetch("abad1dea", 5, 10)] == [b"second"]


@pytest.mark.parametrize("name", mostly_nightly(["sentinel", "shards-ring"], 1))
async def test_a_site_moves_from_and_to_other_topologies(old: str, name: str) -> None:
    with TOPOLOGIES[name]() as elsewhere:
        url = elsewhere.urls.default
        async with open_active_site(old) as town:
            async with ongoing_activity(town):
                await run_migration(old, url)
                await run_migration(old, old)
            assert not town.refused
            await town.check()


@pytest.mark.nightly
async def test_replies_lost_during_a_migration_cause_only_a_pause(
    town: ActiveSite, old: str, new: str, old_server: RedisServer
) -> None:
    """Commands of a broken connection may still be executed; the migrator waits for them before it copies."""

    def on_step(step: MigrationProgress) -> None:
        if step.name == "moved" and step.slice_number in (3, 9):
            with old_server.client() as client:
                for each in client.client_list():
                    if each["name"].startswith("site-"):
                        client.client_kill_filter(_id=each["id"])

    async with ongoing_activity(town):
        report = await run_migration(old, new, on_step=on_step)
    assert not report.unreported_keys
    assert key_names(old_server) == set()
    await town.check()


CHANNEL = fixed_channel(3)


@pytest.fixture(scope="module")
def cluster_with_replicas() -> Iterator[RedisCluster]:
    running = RedisCluster(replicas=1).start()
    yield running
    running.stop()


@pytest.fixture
async def store(cluster_with_replicas: RedisCluster) -> AsyncIterator[Store]:
    cluster_with_replicas.flush()
    async with opened_store(cluster_with_replicas.url) as opened:
        yield opened


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


@pytest.fixture
async def listener(store: Store) -> AsyncIterator[Listener]:
    listener = Listener()
    clock = FixedClock(1_795_000_000_000)
    hub = PubSubListener(
        store, clock, on_message=listener.on_message, on_lost=lambda: None, on_resynced=listener.on_gap
    )
    await hub.open()
    yield listener
    await hub.close()


def holder(cluster_with_replicas: RedisCluster, store: Store) -> ClusterMember:
    address = str(store.node(CHANNEL).address)
    return next(member for member in cluster_with_replicas.members if member.address == address)


async def test_a_channel_is_received_after_its_slot_moved_to_another_master(
    cluster_with_replicas: RedisCluster, store: Store, listener: Listener
) -> None:
    clock = FixedClock(1_795_000_000_000)
    await listener.hears(store, clock, b"before", 5)
    source = holder(cluster_with_replicas, store)
    target = next(member for member in cluster_with_replicas.masters if member is not source)
    for _ in cluster_with_replicas.move_slot(slot_of_tag(CHANNEL.tag), source, target):
        pass
    await listener.hears(store, clock, b"after", 10)
    assert listener.gaps
    assert holder(cluster_with_replicas, store) is target


async def test_a_process_that_only_listens_finds_the_new_node_of_its_channel(
    cluster_with_replicas: RedisCluster, listener: Listener
) -> None:
    """The process sends no commands itself, so no redirection names the new node; another process publishes."""
    clock, speaker = FixedClock(1_795_000_000_000), await open_store(cluster_with_replicas.url)
    try:
        await listener.hears(speaker, clock, b"before", 5)
        source = holder(cluster_with_replicas, speaker)
        target = next(member for member in cluster_with_replicas.masters if member is not source)
        for _ in cluster_with_replicas.move_slot(slot_of_tag(CHANNEL.tag), source, target):
            pass
        await listener.hears(speaker, clock, b"after", 10)
        assert listener.gaps
    finally:
        await speaker.close()


async def test_a_channel_is_received_at_the_replica_after_its_master_died(
    cluster_with_replicas: RedisCluster, store: Store, listener: Listener
) -> None:
    clock = FixedClock(1_795_000_000_000)
    await listener.hears(store, clock, b"before", 5)
    holder(cluster_with_replicas, store).kill()
    await listener.hears(store, clock, b"after", 20)
    assert listener.gaps
