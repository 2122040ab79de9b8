"""Threads of archived posts: the parents stay known."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.world import Person, World


@pytest.fixture
async def services(redis_urls: StoreUrls, tmp_path: Path) -> AsyncIterator[Services]:
    config = ServiceConfig(archive_url=f"sqlite://{tmp_path / 'archive.sqlite3'}")
    async with open_services(redis_urls, config) as opened:
        yield opened


async def test_ancestors_include_archived_posts(alice: Person, services: Services) -> None:
    first = await alice.publishes("first")
    second = await alice.publishes("second", in_reply_to=first)
    third = await alice.publishes("third", in_reply_to=second)
    assert (await services.archiving.archive(services.clock.now_ms() + 5_000)).posts == 3
    fourth = await alice.publishes("fourth", in_reply_to=third)
    parents = {first.id: None, second.id: first.id, third.id: second.id, fourth.id: third.id}
    assert await services.repositories.threads.find_parents(list(parents)) == parents
    page = await services.threads.load_page(fourth, viewer_id=None)
    assert [each.id for each in page.ancestors] == [first.id, second.id, third.id]


async def test_a_reply_to_an_archived_post_is_shown_without_the_archive(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    question = await alice.publishes("an old question")
    assert (await services.archiving.archive(services.clock.now_ms() + 5_000)).posts == 1
    answer = await bob.publishes("a new answer", in_reply_to=question)
    without_archive = Services(services.store, services.clock, ServiceConfig())
    for _ in range(2):  # the second time from the caches of the process
        (entry,) = (await without_archive.reading.home(bob.id)).entries
        assert (entry.post, entry.parent) == (answer, None)
