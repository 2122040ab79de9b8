"""A backup is refused and leaves no file if keys change their servers meanwhile."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from socialsite.container import Services
from socialsite.maintenance.backup import Backup
from socialsite.maintenance.scanning import TopologyChanging
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from tests.support.cluster import RedisCluster
from tests.support.migrations import KILLED_EXIT_STATUS, run_migration_killed_at
from tests.support.world import World


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    started = RedisCluster(masters=2)
    yield started.start()
    started.stop()


async def save(services: Services, path: Path, turn: Iterator[None] | None = None) -> None:
    """Write a backup; `turn` runs to its end during the scan."""

    def on_step(count: int) -> None:
        list(turn or ())

    backup = Backup(services.store, services.config.immutable_settings)
    await backup.write(path, services.clock.now_ms(), on_step)


async def test_a_backup_is_refused_if_slots_moved_during_its_scan(cluster: RedisCluster, tmp_path: Path) -> None:
    cluster.flush()
    source, target = cluster.masters
    async with open_services(cluster.url, ServiceConfig()) as services:
        (alice,) = await World(services).people("alice")
        await alice.publishes("hello")
        turn = cluster.move_slot(0, source, target)
        with pytest.raises(TopologyChanging, match="meanwhile, some may be missing"):
            await save(services, tmp_path / "moved", turn=turn)
        assert os.listdir(tmp_path) == []
        await save(services, tmp_path / "after")


async def test_a_backup_is_refused_while_a_slot_moves(cluster: RedisCluster, tmp_path: Path) -> None:
    source, target = cluster.masters
    async with open_services(cluster.url, ServiceConfig()) as services:
        turn = cluster.move_slot(1, source, target)
        next(turn)
        with pytest.raises(TopologyChanging, match="are changing their servers"):
            await save(services, tmp_path / "moving")
        list(turn)
        await save(services, tmp_path / "after")


async def test_a_backup_is_refused_during_a_repartition(redis_url: str, cluster: RedisCluster, tmp_path: Path) -> None:
    cluster.flush()
    async with open_services(redis_url, ServiceConfig()) as services:
        (alice,) = await World(services).people("alice")
        await alice.publishes("hello")
    assert await asyncio.to_thread(run_migration_killed_at, "moved", redis_url, cluster.url) == KILLED_EXIT_STATUS
    async with open_services(redis_url, ServiceConfig()) as services:
        with pytest.raises(TopologyChanging, match="are changing their servers"):
            await save(services, tmp_path / "moving")
