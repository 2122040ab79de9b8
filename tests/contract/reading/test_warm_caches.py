"""A process that has read before tells the same as one that never read: what it remembers decides nothing."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.migration.store_factory import open_store
from socialsite.store import Store
from tests.support.redis_server import RedisServer
from tests.support.rights_site import SMALL_CONFIG, STEPS, RightsSite
from tests.support.world import World
from timelines.pages.page import TimelinePage

Steps = list[tuple[str, int, int, int]]
Place = tuple[str, AccountId | None, AccountId | None]
MEMORIES = {  # the largest, and some that start anew all the time
    "timelines.posts.known_posts.POST_CACHE_SIZE": (20_000, 0, 3),
    "timelines.reading.hydration.FACTS_CAP": (200_000, 0, 3),
}


def places(site: RightsSite) -> Iterator[Place]:
    """(kind, reader, whose): all pages that the site has for its people and for visitors."""
    everybody = [person.id for person in site.people]
    for reader in everybody:
        yield from (("home", reader, None), ("list", reader, None))
    for visitor in (None, *everybody):
        yield from (("public", visitor, None), ("tag", visitor, None))
        yield from (("profile", visitor, owner) for owner in everybody)


async def pages(site: RightsSite, services: Services, limit: int) -> dict[Place, list[TimelinePage]]:
    """Every page as a process with these services tells it, from the top to the end."""
    told, site.services, own = {}, services, site.services
    for kind, reader, whose in places(site):
        found = [await site.page(reader, kind, whose, None, limit)]
        while (before := found[-1].next_before) is not None:
            found.append(await site.page(reader, kind, whose, before, limit))
        told[kind, reader, whose] = found
    site.services = own
    return told


async def compared(store: Store, parts: list[Steps], limit: int) -> None:
    """After each part of the steps the process that did them tells what a new one tells."""
    site = await RightsSite.create(store)
    for steps in parts:
        for verb, one, other, choice in steps:
            await site.step(verb, site.people[one], site.people[other], choice)
        await World(site.services).deliver_all()
        for _ in range(2):  # the second time most of it is known
            warm = await pages(site, site.services, limit)
        cold = await pages(site, Services(store, site.clock, SMALL_CONFIG), limit)
        assert warm == cold


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(STEPS, min_size=2, max_size=4), limit=st.integers(1, 4), memory=st.integers(0, 2))
def test_what_a_process_remembers_decides_nothing(
    redis_server: RedisServer, parts: list[Steps], limit: int, memory: int
) -> None:
    async def run() -> None:
        with redis_server.client() as client:
            client.flushall()
        store = await open_store(redis_server.url)
        try:
            await compared(store, parts, limit)
        finally:
            await store.close()

    with pytest.MonkeyPatch.context() as patched:
        for name, sizes in MEMORIES.items():
            patched.setattr(name, sizes[memory])
        asyncio.run(run())
