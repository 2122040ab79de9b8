"""Interrupted migrations are resumed or rolled back; some migrations are refused."""

import asyncio

import pytest

from socialsite.migration import commands as operation
from socialsite.migration.errors import MigrationRefused
from socialsite.migration.migration_lock import MigrationLock
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.store import StoreUnavailable
from socialsite.store.factory import create_topology
from tests.support.models import mostly_nightly
from tests.support.moving_town import ActiveSite, key_names, ongoing_activity
from tests.support.redis_server import RedisServer
from tests.support.repartition import (
    KILLED_EXIT_STATUS,
    migration_site,
    run_migration,
    run_migration_killed_at,
)

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
    with pytest.raises(MigrationRefused, match="at work"):
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
