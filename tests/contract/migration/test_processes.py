"""Processes during a migration: they follow it, and it survives interruptions."""

import asyncio
import signal
from pathlib import Path

import pytest

from socialsite.migration import commands as operation
from socialsite.migration.errors import MigrationRefused
from socialsite.migration.migration_lock import MigrationLock
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.process_lease import ProcessLease
from socialsite.migration.store_factory import open_store
from socialsite.recipes.presence import Presence, process_channel
from socialsite.recipes.pubsub_listener import PubSubListener
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Key, Store, StoreUnavailable
from socialsite.store.factory import create_topology
from tests.support.active_site import ActiveSite, key_names, ongoing_activity
from tests.support.connections import SilentServer
from tests.support.migrations import (
    KILLED_EXIT_STATUS,
    WriterProcess,
    migration_site,
    run_migration,
    run_migration_killed_at,
)
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import RedisServer
from tests.support.waiting import repeat_while_refused
from tests.support.world import World, ids_of


async def test_a_later_process_finds_the_data_by_the_old_and_the_new_url(town: ActiveSite, old: str, new: str) -> None:
    town.posts.append(await town.people[0].publishes("before"))
    await World(town.worker).deliver_all()
    await run_migration(old, new)
    for url in (old, new):
        async with open_services(url, ServiceConfig()) as late:
            page = await late.reading.home(town.people[1].id)
            assert [entry.post.id for entry in page.entries] == ids_of(town.posts)


async def test_the_old_url_works_after_the_data_was_migrated_back(town: ActiveSite, old: str, new: str) -> None:
    await run_migration(old, new)
    await run_migration(new, old)
    town.posts.append(await town.people[0].publishes("after"))
    await World(town.worker).deliver_all()
    for url in (old, new):
        async with open_services(url, ServiceConfig()) as late:
            page = await late.reading.home(town.people[1].id)
            assert [entry.post.id for entry in page.entries] == ids_of(town.posts)


async def test_a_replaced_node_forwards_to_the_new_place_of_the_data(
    town: ActiveSite, old: str, new: str, old_server: RedisServer
) -> None:
    key = Key("accounts", tag="77", name="account")
    node = town.web.store.node(key)
    await run_migration(old, new)
    await node.execute("HSET", key, "handle", "late")
    assert not old_server.client().exists(key)
    assert await town.worker.store.node(key).execute("HGET", key, "handle") == b"late"


async def test_a_paused_process_does_not_delay_the_migration_and_cannot_write_to_the_old_store(
    town: ActiveSite, old: str, new: str, old_server: RedisServer
) -> None:
    """The event loop is idle during the migration; connections and placement map are outdated."""
    key = Key("posts", tag="5", name="post")
    asleep = await open_store(old)
    await asleep.node(key).execute("SET", key, "before")
    await stand_still(asleep)
    await run_migration(old, new)
    with pytest.raises(StoreUnavailable):
        await asleep.node(key).execute("SET", key, "by an old map")
    await asleep.close()
    assert not old_server.client().exists(key)
    assert await town.web.store.node(key).execute("GET", key) == b"before"


async def test_a_process_paused_during_writes_loses_nothing_when_it_continues(
    old: str, new: str, old_server: RedisServer, new_server: RedisServer, tmp_path: Path
) -> None:
    """SIGSTOP stops the process between the read of the map and the write; its connection is then closed."""
    writer = WriterProcess(old, tmp_path / "acknowledged")
    try:
        await reached(writer, 200)
        writer.signal(signal.SIGSTOP)
        await run_migration(old, new)
        before = len(writer.acknowledged)
        writer.signal(signal.SIGCONT)
        await reached(writer, before + 200)
    finally:
        writer.stop()
    bodies = new_server.client().mget([f"posts:{{{number}}}:post" for number in writer.acknowledged])
    assert None not in bodies
    assert key_names(old_server) == set()


async def reached(writer: WriterProcess, count: int) -> None:
    async with asyncio.timeout(90):
        while len(writer.acknowledged) < count:  # noqa: ASYNC110 - another process writes
            await asyncio.sleep(0.05)


async def stand_still(store: Store) -> None:
    """Stop the renewal of the lease, as if the process were paused."""
    assert store.topology_follower is not None
    keeping = store.topology_follower._renew_task
    assert keeping is not None
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_a_paused_process_continues_at_the_new_place_of_the_data(town: ActiveSite, old: str, new: str) -> None:
    key = Key("posts", tag="5", name="post")
    asleep = await open_store(old)
    await asleep.node(key).execute("SET", key, "before")
    await stand_still(asleep)
    await run_migration(old, new)
    keeper = asleep.topology_follower
    assert keeper is not None
    keeper._renew_task = asyncio.create_task(keeper._renew_forever())
    await repeat_while_refused(lambda: asleep.node(key).execute("SET", key, "awake"), StoreUnavailable)
    await asleep.close()
    assert await town.web.store.node(key).execute("GET", key) == b"awake"


async def test_the_pubsub_listener_receives_messages_at_the_new_store(town: ActiveSite, old: str, cluster: str) -> None:
    heard: list[bytes] = []
    gaps: list[int] = []

    async def on_message(payload: bytes) -> None:
        heard.append(payload)

    async def on_gap() -> None:
        gaps.append(1)

    hub = PubSubListener(
        town.web.store, town.web.clock, on_message=on_message, on_lost=lambda: None, on_resynced=on_gap
    )
    await hub.open()
    await hub.add_member("7")
    await run_migration(old, cluster)
    presence = Presence(town.worker.store, town.worker.clock)
    async with asyncio.timeout(20):
        while b"there" not in heard:
            await presence.publish({process_channel(hub.process_id): b"there"})
            await asyncio.sleep(0.05)
    assert gaps
    assert await presence.locate(["7"]) == {hub.process_id: ["7"]}
    await hub.close()


async def test_a_caller_that_waits_for_a_released_lease_is_refused() -> None:
    """The lease is released, while the server of the lease does not answer."""
    async with SilentServer() as silent:
        lease = ProcessLease(f"redis://{silent.place}/0", create_topology)
        waiting = asyncio.create_task(lease.require_held())
        await silent.met.wait()
        await lease.release()
        with pytest.raises(StoreUnavailable, match="given back"):
            await waiting
        with pytest.raises(StoreUnavailable, match="given back"):
            await lease.registry()
        await silent.wait_until_abandoned()


STEPS = ("turned", "frozen", "deleted", "begun", "copied", "moved", "swept", "handed over", "forwarded")

"""`make test` kills the migrator at the first: during the switch of a slice."""


@pytest.mark.parametrize("step", mostly_nightly(STEPS, 1))
async def test_a_migration_resumes_after_its_migrator_was_killed_at_any_step(
    town: ActiveSite, old: str, new: str, old_server: RedisServer, step: str
) -> None:
    async with ongoing_activity(town):
        assert await asyncio.to_thread(run_migration_killed_at, step, old, new) == KILLED_EXIT_STATUS
        await operation.resume_migration(migration_site(old))
    assert not town.refused
    assert key_names(old_server) == set()
    await town.check()


@pytest.mark.parametrize("step", mostly_nightly(["turned", "frozen", "deleted"], 1))
async def test_an_interrupted_migration_can_be_reverted(
    town: ActiveSite, old: str, new: str, new_server: RedisServer, step: str
) -> None:
    async with ongoing_activity(town):
        assert await asyncio.to_thread(run_migration_killed_at, step, old, new) == KILLED_EXIT_STATUS
        await operation.revert_migration(migration_site(old))
    assert not town.refused
    assert key_names(new_server) == set()
    await town.check()


@pytest.mark.nightly
async def test_the_slice_of_a_dead_migrator_is_rolled_back_before_its_writers_time_out(
    town: ActiveSite, old: str, new: str
) -> None:
    """The processes of the site roll the slice back without an operator."""
    async with ongoing_activity(town):
        assert await asyncio.to_thread(run_migration_killed_at, "frozen", old, new) == KILLED_EXIT_STATUS
        await asyncio.sleep(4)
    assert not town.refused
    await town.check()


async def test_two_migrators_never_run_at_the_same_time(town: ActiveSite, old: str, new: str) -> None:
    place = create_topology(old)
    lock = MigrationLock(PlacementRegistry(place), "feed")
    await lock.acquire()
    with pytest.raises(MigrationRefused, match="another repartition is running"):
        await run_migration(old, new)
    await lock.release()
    await place.close()


# Refused migrations


async def epoch_at(url: str) -> int:
    place = create_topology(url)
    try:
        return (await PlacementRegistry(place).read_map()).epoch
    finally:
        await place.close()


async def test_a_target_with_existing_data_is_refused(
    town: ActiveSite, old: str, new: str, new_server: RedisServer
) -> None:
    new_server.client().set("posts:{1}:post", "somebody's")
    with pytest.raises(MigrationRefused, match="holds data"):
        await run_migration(old, new)
    assert await epoch_at(old) == 0


async def test_a_store_is_not_migrated_to_itself(town: ActiveSite, old: str) -> None:
    with pytest.raises(MigrationRefused, match="is there already"):
        await run_migration(old, old.replace("?db=0", ""))


async def test_resuming_without_a_migration_is_refused(old: str) -> None:
    with pytest.raises(MigrationRefused, match="no move is in progress"):
        await operation.resume_migration(migration_site(old))
    with pytest.raises(MigrationRefused, match="no move is in progress"):
        await operation.revert_migration(migration_site(old))


async def test_a_second_migration_is_refused_until_the_first_is_finished(town: ActiveSite, old: str, new: str) -> None:
    assert await asyncio.to_thread(run_migration_killed_at, "begun", old, new) == KILLED_EXIT_STATUS
    with pytest.raises(MigrationRefused, match="--resume"):
        await run_migration(old, new)


async def test_an_unreachable_target_is_refused_before_anything_changes(town: ActiveSite, old: str) -> None:
    with pytest.raises(StoreUnavailable):
        await run_migration(old, "redis://127.0.0.1:1/0")
    assert await epoch_at(old) == 0
