"""Backups of a running site, restored to any topology, complete or refused."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from socialsite.container import Services
from socialsite.maintenance.backup_file import FORMAT_VERSION, BackupHeader, BackupReader, BackupWriter
from socialsite.maintenance.dump import KeyRecord
from socialsite.maintenance.restore import Restore, StoreNotEmpty, make_store_body_writer
from socialsite.maintenance.scanning import scan_store
from socialsite.recipes.job_queue import MAX_JOBS_PER_SENDER
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Key, Store
from tests.support.backups import read_records, restore_backup, write_backup
from tests.support.cluster import RedisCluster
from tests.support.management import run_command, run_with_services
from tests.support.redis_server import RedisServer
from tests.support.sample_site import SampleSite
from tests.support.world import Person, World
from timelines import keys
from timelines.audit import Audit


@pytest.fixture(scope="module")
def other_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=["single", "cluster"])
def target(request: pytest.FixtureRequest) -> str:
    """Return the URL of another, empty store."""
    if request.param == "cluster":
        made: RedisCluster = request.getfixturevalue("cluster")
        made.flush()
        return made.url
    server: RedisServer = request.getfixturevalue("other_server")
    with server.client() as client:
        client.flushall()
    return server.url


@pytest.fixture
async def restored(target: str) -> AsyncIterator[Services]:
    async with open_services(target, ServiceConfig()) as opened:
        yield opened


async def test_a_restored_site_is_equal_on_another_topology(world: World, restored: Services, tmp_path: Path) -> None:
    town = await SampleSite.build(world)
    for _ in range(MAX_JOBS_PER_SENDER + 1):
        await town.bob.publishes("pending")
    await town.services.accounts.delete(account_id=town.carol.id)
    before = await read_records(world.services.store)
    await write_backup(world.services, tmp_path / "site.backup")
    await restore_backup(restored, tmp_path / "site.backup")
    assert await read_records(restored.store) == before
    assert not (await restored.rebuild_after_restore.run()).discrepancies
    world_after = World(restored)
    await world.deliver_all()
    await world_after.deliver_all()
    for person in (town.alice, town.bob):
        again = Person(restored, person.account)
        assert await again.home_ids() == await person.home_ids()
        assert await again.profile_ids() == await person.profile_ids()
    assert await world_after.public_ids() == await town.world.public_ids()
    indexed = await _search_keys(world.services.store)
    assert indexed
    assert await _search_keys(restored.store) == indexed


async def _search_keys(store: Store) -> set[Key]:
    return {key async for some in scan_store(store) for key in some if key.component == "search"}


async def test_a_backup_omits_caches_and_short_lived_keys(world: World, town: SampleSite, tmp_path: Path) -> None:
    await town.execute("SET", Key("limits", tag="a1", name="post:5"), 1)
    path = tmp_path / "site.backup"
    await write_backup(world.services, path)
    taken = {record.key for _, records in BackupReader(path).iterate_blocks() for record in records}
    assert keys.author_timeline(town.bob.id) in taken
    assert taken.isdisjoint({keys.home_timeline(town.bob.id), keys.public_timeline(), "limits:{a1}:post:5"})


@contextlib.asynccontextmanager
async def busy(town: SampleSite) -> AsyncIterator[list[int]]:
    """Run three active accounts and a worker; the yielded list grows by the posts they delete."""
    world, people = town.world, [town.alice, town.bob, town.carol]
    deleted, stop = list[int](), asyncio.Event()

    async def lively(number: int) -> None:
        person, other, turn = people[number], people[number - 1], 0
        while not stop.is_set():
            post = await person.publishes("busy", in_reply_to=town.first)
            if (turn := turn + 1) % 2:
                await person.deletes(post)
                deleted.append(post.id)
            await person.unfollows(other)
            await person.follows(other)
            newcomer = await world.person(f"p{number}_{turn}")
            await newcomer.follows(person)
            if turn % 3 == 0:
                await world.services.accounts.delete(account_id=newcomer.id)

    async def works() -> None:
        while not stop.is_set():
            await world.deliver_all()
            await asyncio.sleep(0.01)

    running = [asyncio.create_task(each) for each in (works(), *map(lively, range(3)))]
    try:
        yield deleted
    finally:
        stop.set()
        await asyncio.gather(*running)


async def test_a_backup_during_activity_is_restored_without_damage(
    world: World, town: SampleSite, restored: Services, tmp_path: Path
) -> None:
    standing = [(await town.bob.publishes("before the backup")).id for _ in range(300)]
    async with busy(town) as deleted:
        await asyncio.sleep(0.3)
        gone = list(deleted)
        await write_backup(world.services, tmp_path / "busy.backup")
    await restore_backup(restored, tmp_path / "busy.backup")
    report = await restored.rebuild_after_restore.run()
    assert [str(finding) for finding in report.discrepancies] == []
    assert not (await Audit(restored.audit_context, second_check_after_s=0.01).run()).discrepancies
    assert sorted(await restored.repositories.posts.find_many(standing)) == standing
    assert await restored.repositories.posts.find_many(gone) == {}
    await World(restored).deliver_all()
    assert not (await Audit(restored.audit_context, second_check_after_s=0.01).run()).damage


async def test_keys_that_expire_during_a_restore_are_not_reported_missing(
    world: World, restored: Services, tmp_path: Path
) -> None:
    store, soon = world.services.store, Key("series", tag="s1", name="posts:1:1763650440")
    await store.execute_all([("HSET", soon, "all", 3), ("PEXPIRE", soon, 400)])
    saved_ms = world.services.clock.now_ms()
    await write_backup(world.services, tmp_path / "backup")
    await asyncio.sleep(0.5)
    restore = Restore(restored.store, make_store_body_writer(restored.store))
    await restore.load(BackupReader(tmp_path / "backup"), saved_ms)
    assert await restored.store.execute_all([("EXISTS", soon)]) == [0]


async def test_restoring_to_a_store_with_data_is_refused(world: World, tmp_path: Path) -> None:
    restore = Restore(world.services.store, make_store_body_writer(world.services.store))
    await restore.require_empty()
    await world.person("alice")
    with pytest.raises(StoreNotEmpty):
        await restore.require_empty()
    await restore.delete_all_keys()
    await restore.require_empty()


def test_the_commands_write_and_restore_a_backup(
    redis_url: str, other_server: RedisServer, settings: Any, tmp_path: Path
) -> None:
    path = tmp_path / "site.backup"
    with other_server.client() as client:
        client.flushall()

    async def build(services: Services) -> None:
        await SampleSite.build(World(services))

    settings.REDIS_URL = redis_url
    run_with_services(build)
    assert "nothing was written" in run_command("backup", path, "--dry-run")
    assert not path.exists()
    assert run_command("backup", path).startswith("Wrote ")
    with pytest.raises(CommandError, match="No such file"):
        run_command("backup", tmp_path / "absent" / "file")
    with pytest.raises(CommandError, match="not empty"):
        run_command("restore", path)
    settings.REDIS_URL = other_server.url
    assert "Nothing was written" in run_command("restore", path, "--dry-run")
    assert run_command("restore", path).endswith("clean.\n")
    assert run_command("restore", path, "--force").endswith("clean.\n")
    assert "0 damaged" in run_command("audit")
    partitions = BackupReader(path).verify()[0].partitions
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CommandError, match="cannot be used: it ends too early"):
        run_command("restore", path, "--force")
    with BackupWriter(path, BackupHeader(FORMAT_VERSION, 5, partitions)) as writer:
        writer.add("evil", [KeyRecord("evil", "string", 0, [b"x"])])
    with pytest.raises(CommandError, match="cannot be used: no backup contains such a key: 'evil'"):
        run_command("restore", path, "--force")
    assert int(re.findall(r"Looked at (\d+) keys", run_command("audit"))[0]) > 20, "the store was emptied"
    settings.FOLLOW_PARTITIONS = 4
    with other_server.client() as client:
        client.flushall()
    with pytest.raises(CommandError, match="cannot be used"):
        run_command("restore", path)
