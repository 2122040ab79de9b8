"""A process with warm caches returns the same pages as a process with cold caches."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.store import Store
from tests.support.random_tests import examples
from tests.support.reactions import PersonReactions
from tests.support.redis_server import RedisServer
from tests.support.rights_site import SMALL_CONFIG, STEPS, RightsSite
from tests.support.stores import opened_store
from tests.support.world import World
from timelines.pages.page import TimelinePage
from timelines.posts.post import PostDetails

Steps = list[tuple[str, int, int, int]]
Place = tuple[str, AccountId | None, AccountId | None]
MEMORIES = {  # the largest cache, and caches that are cleared very often
    "timelines.posts.stored_values.POST_CACHE_BYTES": (8_000_000, 0, 4_000),
    "timelines.reading.hydration.FACTS_CAP": (50_000, 0, 3),
}


def places(site: RightsSite) -> Iterator[Place]:
    """Yield (kind, reader, owner) for all timelines of the site's accounts and visitors."""
    everybody = [person.id for person in site.people]
    for reader in everybody:
        yield from (("home", reader, None), ("list", reader, None))
    for visitor in (None, *everybody):
        yield from (("public", visitor, None), ("tag", visitor, None))
        yield from (("profile", visitor, owner) for owner in everybody)


async def pages(site: RightsSite, services: Services, limit: int) -> dict[Place, list[TimelinePage]]:
    """Read every page of every timeline with these services."""
    pages_by_place, site.services, own = {}, services, site.services
    for kind, reader, whose in places(site):
        timeline_pages = [await site.page(reader, kind, whose, None, limit)]
        while (before := timeline_pages[-1].next_before) is not None:
            timeline_pages.append(await site.page(reader, kind, whose, before, limit))
        pages_by_place[kind, reader, whose] = timeline_pages
    site.services = own
    return pages_by_place


async def compared(store: Store, parts: list[Steps], limit: int) -> None:
    """Compare a warm process with a new process after each part of the steps."""
    site = await RightsSite.create(store)
    for steps in parts:
        for verb, one, other, choice in steps:
            await site.step(verb, site.people[one], site.people[other], choice)
        await World(site.services).deliver_all()
        for _ in range(2):  # in the second round most data is cached
            warm = await pages(site, site.services, limit)
        assert warm == (await pages(site, Services(store, site.clock, SMALL_CONFIG), limit))


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(STEPS, min_size=2, max_size=4), limit=st.integers(1, 4), memory=st.integers(0, 2))
def test_warm_and_cold_caches_give_equal_pages(
    redis_server: RedisServer, parts: list[Steps], limit: int, memory: int
) -> None:
    async def run() -> None:
        with redis_server.client() as client:
            client.flushall()
        async with opened_store(redis_server.url) as store:
            await compared(store, parts, limit)

    with pytest.MonkeyPatch.context() as patched:
        for name, sizes in MEMORIES.items():
            patched.setattr(name, sizes[memory])
        asyncio.run(run())


@pytest.mark.parametrize("is_quoted", [False, True])
async def test_a_new_process_shows_a_post_that_one_entry_contains_and_another_answers(
    services: Services, world: World, acts: PersonReactions, is_quoted: bool
) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for author in (bob, carol):
        await dave.follows(author)
    question = await alice.publishes("a question")
    answer = await bob.publishes("an answer", in_reply_to=question)
    if is_quoted:
        await carol.publishes("look", details=PostDetails(quote_of=question.id))
    else:
        await acts.boosts(carol, question)
    await world.deliver_all()
    new_process = Services(services.store, services.clock, services.config)
    for reading in (services.reading, new_process.reading, new_process.reading):
        newest, older = (await reading.home(dave.id)).entries
        assert (older.post, older.parent) == (answer, question)
        if is_quoted:
            assert newest.quote is not None
            assert newest.quote.state == "accepted"
        else:
            assert newest.shown.post == question
