"""Migrations in this process or in a child that is killed, and a site that is active meanwhile."""

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import socialsite.asgi  # noqa: F401 - sets up Django in a child process
from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.migration import commands as operation
from socialsite.migration.commands import MigrationSite
from socialsite.migration.progress import MigrationProgress, MigrationReport, OnProgress
from socialsite.migration.repartitioner import EdgeFamily
from socialsite.migration.store_factory import open_store
from socialsite.recipes.worker import Worker
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Key, StoreUnavailable, StoreUrls
from socialsite.store.components import COMPONENTS
from socialsite.store.factory import create_topology
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


SLICES = 16

FOLLOW_EDGES = EdgeFamily(
    "follows", {"following": "followers", "members": "listed"}, Key("follows", tag="map", name="partitions")
)

KILLED_EXIT_STATUS = -signal.SIGKILL


def migration_site(url: str, **placed: str) -> MigrationSite:
    return MigrationSite(url, placed, COMPONENTS, create_topology)


async def run_migration(
    home: str, to: str, component: str | None = None, on_step: OnProgress | None = None
) -> MigrationReport:
    return await operation.migrate(migration_site(home), to, component, slices=SLICES, on_progress=on_step)


def run_migration_killed_at(step: str, home: str, to: str, way: str = "move") -> int:
    """Run a migration that kills itself with SIGKILL after a step. Returns its exit status."""
    command = [sys.executable, "-m", "tests.support.migrations", step, home, to, way]
    return subprocess.run(command, timeout=60, check=False).returncode


class WriterProcess:
    """A process that writes `posts:{1}:post`, `posts:{2}:post`, ... and records each acknowledged number."""

    def __init__(self, url: str, notes: Path) -> None:
        self._notes = notes
        command = [sys.executable, "-m", "tests.support.migrations", "-", url, str(notes), "write"]
        self._process = subprocess.Popen(command)

    @property
    def acknowledged(self) -> list[int]:
        return [int(line) for line in self._notes.read_text().split()] if self._notes.exists() else []

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(10)


async def write_for_ever(url: str, notes: str) -> None:
    store = await open_store(url)
    with open(notes, "a", buffering=1) as acknowledged:
        for number in itertools.count(1):
            key = Key("posts", tag=str(number), name="post")
            try:
                await store.node(key).execute("SET", key, number)
            except StoreUnavailable:
                await asyncio.sleep(0.01)
            else:
                acknowledged.write(f"{number}\n")


def main() -> None:
    fatal, home, to, way = sys.argv[1:]
    if way == "write":
        return asyncio.run(write_for_ever(home, to))

    def on_step(step: MigrationProgress) -> None:
        if step.name == fatal and (step.slice_number < 0 or step.slice_number >= SLICES // 2):
            os.kill(os.getpid(), signal.SIGKILL)

    if way == "move":
        asyncio.run(run_migration(home, to, on_step=on_step))
    elif way == "reshape":
        asyncio.run(
            operation.repartition_edges(migration_site(home), FOLLOW_EDGES, int(to), grace_s=0.2, on_progress=on_step)
        )
    elif way == "resume":
        asyncio.run(operation.resume_migration(migration_site(home), on_progress=on_step))
    else:
        asyncio.run(operation.revert_migration(migration_site(home), on_progress=on_step))
    return None


if __name__ == "__main__":
    main()
