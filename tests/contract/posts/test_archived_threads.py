"""Threads of archived posts: the parents stay known."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.world import World


@pytest_asyncio.fixture
async def services(redis_urls: StoreUrls, tmp_path: Path) -> AsyncIterator[Services]:
    config = ServiceConfig(archive_url=f"sqlite://{tmp_path / 'archive.sqlite3'}")
    async with open_services(redis_urls, config) as opened:
        yield opened


async def test_ancestors_include_archived_posts(world: World, services: Services) -> None:
    alice = await world.person("alice")
    first = await alice.publishes("first")
    second = await alice.publishes("second", in_reply_to=first)
    third = await alice.publishes("third", in_reply_to=second)
    moved = await services.archiving.archive(services.clock.now_ms() + 5_000)
    assert moved.posts == 3
    fourth = await alice.publishes("fourth", in_reply_to=third)
    parents = {first.id: None, second.id: first.id, third.id: second.id, fourth.id: third.id}
    assert await services.repositories.threads.find_parents(list(parents)) == parents
    page = await services.threads.load_page(fourth, viewer_id=None)
    assert [each.id for each in page.ancestors] == [first.id, second.id, third.id]
