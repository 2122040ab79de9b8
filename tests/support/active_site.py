"""A site whose accounts keep publishing while its data migrates."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.recipes.job_worker import Worker
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUnavailable, StoreUrls
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World, ids_of
from timelines.posts.post import Post


@dataclass
class ActiveSite:
    """A site of two processes with a store each, accounts that follow each other, and their posts."""

    web: Services
    worker: Services
    people: list[Person]
    posts: list[Post] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    deleted: list[Post] = field(default_factory=list)
    in_doubt: set[PostId] = field(default_factory=set)
    """Posts whose deletion was requested but not acknowledged."""
    stopping: bool = False

    async def generate_activity(self) -> None:
        """Publish, delete, read and deliver until `stopping`; record acknowledged posts."""
        await asyncio.gather(self._publish(), self._deliver())

    async def _publish(self) -> None:
        number = 0
        while not self.stopping:
            number += 1
            author = self.people[number % len(self.people)]
            try:
                post = await author.publishes(f"number {number}")
                self.posts.append(post)
                await author.home_ids()
                if number % 5 == 0:
                    self.in_doubt.add(post.id)
                    await author.deletes(post)
                    self.deleted.append(post)
                    self.in_doubt.discard(post.id)
            except StoreUnavailable as error:
                self.refused.append(str(error))
            await asyncio.sleep(0.002)

    async def _deliver(self) -> None:
        while not self.stopping:
            with contextlib.suppress(StoreUnavailable):
                await World(self.worker).deliver_all()
            await asyncio.sleep(0.01)

    async def check(self) -> None:
        """Check that every timeline has every existing post once and in order, after adopting interrupted jobs."""
        assert await Worker(self.worker.outbox, self.worker.fan_out.handle).run_until_empty()
        gone = self.in_doubt.union(ids_of(self.deleted))
        expected = sorted((id for id in ids_of(self.posts) if id not in gone), reverse=True)
        for person in self.people:
            home = await read_whole_home(person)
            if self.refused:  # a refused post may exist all the same
                home = [id for id in home if id in expected]
            assert home == expected


async def read_whole_home(person: Person) -> list[int]:
    ids: list[int] = []
    while page := await person.home_ids(limit=100, before=ids[-1] if ids else None):
        ids += page
    return ids


@contextlib.asynccontextmanager
async def open_active_site(urls: str | StoreUrls) -> AsyncIterator[ActiveSite]:
    async with open_services(urls, ServiceConfig()) as web, open_services(urls, ServiceConfig()) as worker:
        people = await World(web).people("ann", "bob", "cid", "dot")
        for one in people:
            for other in people:
                if one is not other:
                    await one.follows(other)
        for one in people:
            await one.home_ids()
        yield ActiveSite(web, worker, people)


@contextlib.asynccontextmanager
async def ongoing_activity(town: ActiveSite) -> AsyncIterator[None]:
    task = asyncio.create_task(town.generate_activity())
    await asyncio.sleep(0.1)
    try:
        yield
        await asyncio.sleep(0.1)
    finally:
        town.stopping = True
        await task


def key_names(server: RedisServer) -> set[str]:
    """Return the site's keys without the placement map's own keys."""
    names = {name.decode() for name in server.client().scan_iter(count=10_000)}
    return {name for name in names if not name.startswith("map:")}
