"""`manage.py syndicate` is killed with -9 during its passes: home timelines have every post once.

`SYNDICATE_KILLS=50 SYNDICATE_FOLLOWERS=10000` is the long form.
"""

import asyncio
import os
import random
import subprocess
import sys
import time

import pytest

from socialsite.container import Services
from socialsite.ids import PostId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.world import Person, World
from timelines.keys import home_timeline

FOLLOWERS, POSTS = (int(os.environ.get("SYNDICATE_FOLLOWERS", "300")), int(os.environ.get("SYNDICATE_KILLS", "3")))
PASS = max(1, FOLLOWERS // 300)
AT_ONCE = 20
DONE_WITHIN_S = 30 + FOLLOWERS * POSTS / 500
"""After the last kill: other workers reclaim the jobs at once and perform the rest."""
MANAGE = [sys.executable, "manage.py"]


def environment(redis_url: str) -> dict[str, str]:
    """Small passes, so that a fan-out is many jobs."""
    return {
        **os.environ,
        "SECRET_KEY": "only for the worker of this test " * 3,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "REDIS_URL": redis_url,
        "POSTS_PER_PASS": str(PASS),
    }


async def worker_at_work(services: Services, redis_url: str) -> subprocess.Popen[bytes]:
    """Start a worker and wait for its heartbeat."""
    before = await workers(services)
    command = [*MANAGE, "syndicate", "--verbosity", "0"]
    process = subprocess.Popen(command, env=environment(redis_url), stderr=subprocess.DEVNULL)
    async with asyncio.timeout(90):
        while not await workers(services) - before:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return process


async def workers(services: Services) -> set[bytes]:
    pattern = services.outbox.heartbeat_key("*")
    return set(await services.store.node(pattern).execute("KEYS", pattern))


async def audience(world: World, author: Person) -> list[Person]:
    """Followers with cached home timelines, so that the fan-out has targets."""

    async def one(number: int) -> Person:
        follower = await world.person(f"reader{number}")
        await follower.follows(author)
        await follower.home()
        return follower

    followers: list[Person] = []
    for first in range(0, FOLLOWERS, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, FOLLOWERS))
        followers += await asyncio.gather(*map(one, numbers))
    return followers


async def stored_home(services: Services, reader: Person) -> set[int]:
    """Return the stored entries of a home timeline; none if a late push invalidated it."""
    key = home_timeline(reader.id)
    return {int(id) for id in await services.store.node(key).execute("LRANGE", key, 0, -2)}


async def reached(services: Services, reader: Person, post: PostId) -> None:
    """Wait until the fan-out has reached this reader, so that it is unfinished at any speed."""
    async with asyncio.timeout(90):
        while post not in await stored_home(services, reader):
            if (await services.outbox.read_depth()).is_empty:
                return


@pytest.mark.slow
async def test_every_home_gets_every_post_once_although_workers_are_killed(services: Services, redis_url: str) -> None:
    world = World(services)
    author = await world.person("author")
    readers = await audience(world, author)
    posts: list[PostId] = []
    cut_off = 0
    for number in range(POSTS):
        worker = await worker_at_work(services, redis_url)
        posts.append((await author.publishes(f"post {number}")).id)
        await reached(services, random.choice(readers), posts[-1])
        worker.kill()
        worker.wait()
        cut_off += not (await services.outbox.read_depth()).is_empty
    killed = time.monotonic()
    worker = await worker_at_work(services, redis_url)
    async with asyncio.timeout(DONE_WITHIN_S):
        while not (await services.outbox.read_depth()).is_empty:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    done_s = time.monotonic() - killed
    worker.terminate()
    assert await asyncio.to_thread(worker.wait, 10) == 0
    once = subprocess.run([*MANAGE, "syndicate", "--once", "--verbosity", "0"], env=environment(redis_url))
    assert once.returncode == 0
    depth = await services.outbox.read_depth()
    assert depth.is_empty
    assert depth.dead == 0
    print(f"{cut_off} of {POSTS} kills cut a fan-out to {FOLLOWERS} off; all done {done_s:.1f} s after the last")
    assert cut_off > POSTS / 3  # otherwise the kills tested nothing
    for reader in readers:
        stored = await stored_home(services, reader)
        assert not stored or stored == set(posts)
        assert await reader.home_ids(limit=POSTS) == sorted(posts, reverse=True)


@pytest.mark.slow
async def test_jobs_performed_twice_in_any_order_leave_the_same_homes(redis_url: str) -> None:
    """Passes of six followers, one pass per job."""
    async with open_services(StoreUrls(redis_url), ServiceConfig(posts_per_pass=2, time_slice_ms=0)) as services:
        await perform_all_twice(services, World(services))


async def perform_all_twice(services: Services, world: World) -> None:
    author = await world.person("author")
    readers = [await world.person(f"reader{number}") for number in range(20)]
    for reader in readers:
        await reader.follows(author)
        await reader.home()
    posts = [await author.publishes(f"post {number}") for number in range(5)]
    payloads = [job.payload for job in await services.outbox.fetch("abad1dea", 100, 1)]
    performed = 0
    while payloads:
        job = payloads.pop(random.randrange(len(payloads)))
        for _ in range(2):
            payloads += await services.fan_out.handle(job)
            performed += 1
    assert performed >= 2 * len(posts) * len(readers) // 6
    for reader in readers:
        assert await reader.home_ids() == [post.id for post in reversed(posts)]
