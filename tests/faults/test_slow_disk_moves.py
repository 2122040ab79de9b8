"""Moved data is deleted at its source only when the target's append-only file contains it."""

import asyncio
import dataclasses
from pathlib import Path

import pytest

from socialsite.ids import ms_from_id
from socialsite.migration.key_copier import KeyCopier
from socialsite.migration.placement_map import MigrationRoute as Way
from socialsite.migration.store_factory import open_store
from socialsite.migration.store_pool import StorePool
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from socialsite.store.factory import create_topology
from tests.support.disk_faults import key_of_payload, slow_disk, wait_until_fsync_begins
from tests.support.programs import needs
from tests.support.redis_server import RedisServer
from tests.support.world import World

FSYNC_S = 1.5

pytestmark = [pytest.mark.slow, pytest.mark.nightly, needs("strace")]


async def test_a_move_deletes_nothing_that_the_target_has_not_written() -> None:
    source, target = RedisServer(aof=True).start(), RedisServer(aof=True).start()
    places = StorePool(source.url, create_topology)
    target_store = await open_store(StoreUrls(target.url))
    keys = [key_of_payload(b"%d" % number) for number in range(20)]
    try:
        for server in (source, target):
            await places.open(server.url)
        copier = KeyCopier(places, {"posts": Way(source.url, target.url)})
        await places.store(source.url).execute_all([("SET", key, "acknowledged") for key in keys])
        with slow_disk(target, FSYNC_S):
            await wait_until_fsync_begins(target, target_store)
            await copier.delete_from_source(await copier.copy(keys))
        target.start()
        with target.client() as client:
            assert client.exists(*map(str, keys)) == len(keys)
    finally:
        await asyncio.gather(target_store.close(), places.close())
        source.stop()
        target.stop()


async def test_a_post_from_the_archive_is_stored_before_the_archive_deletes_it(tmp_path: Path) -> None:
    server = RedisServer(aof=True).start()
    configuration = dataclasses.replace(ServiceConfig(), archive_url=f"sqlite:///{tmp_path}/archive.sqlite3")
    try:
        async with open_services(StoreUrls(server.url), configuration) as services:
            post = await (await World(services).person("author")).publishes("once archived")
            archiving = services.archiving
            assert (await archiving.archive(ms_from_id(post.id) + 1)).posts == 1
            with slow_disk(server, FSYNC_S):
                await wait_until_fsync_begins(server, services.store)
                assert await archiving.restore_all() == 1
        server.start()
        async with open_services(StoreUrls(server.url), configuration) as services:
            assert await services.repositories.posts.find(post.id) == post
    finally:
        server.stop()
