"""The worker of `manage.py syndicate`, in this process: deliver one post from the outbox to every home."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.recipes.job_worker import Worker
from timelines.graph.follow import FIRST_PASS
from timelines.jobs import SyndicatePost, encode_job
from timelines.keys import home_timeline
from timelines.posts.post import Post

EVERYBODY = 1_000_000
"""More followers than any author of a benchmark has."""

TEXT = "The quick brown fox jumps over the lazy dog, then sits down and tells everybody about it. " * 2


class Deliverer:
    """Add posts to the outbox of a running worker and wait for the last pass."""

    def __init__(self, services: Services, author: AccountId) -> None:
        self._services = services
        self._author = author
        self._through = asyncio.Event()
        self._last: dict[AccountId, PostId] = {}

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        following = await self._services.fan_out.handle(payload)
        if not following:
            self._through.set()
        return following

    async def deliver(self, author: AccountId | None = None) -> float:
        """Return the seconds from adding the job to the outbox until no job of the post is left."""
        self._through.clear()
        post = Post(self._services.ids.next_id(), author or self._author, TEXT)
        self._last[post.author_id] = post.id
        job = encode_job(SyndicatePost.from_post(post))
        started = time.perf_counter()
        await self._services.outbox.add(job)
        await self._through.wait()
        return time.perf_counter() - started

    async def require_arrived(self) -> None:
        """Check the last post of each author since the previous check. Raises RuntimeError if a home lacks it."""
        for author, post_id in self._last.items():
            await require_in_homes(self._services, author, post_id)
        self._last.clear()


async def require_in_homes(services: Services, author: AccountId, post_id: PostId) -> None:
    """Raise RuntimeError if a follower's home lacks the post."""
    page = await services.repositories.follows.followers_pass(author, FIRST_PASS, EVERYBODY)
    places = await services.store.execute_all([("LPOS", home_timeline(id), post_id) for id in page.ids])
    if not places or None in places:
        raise RuntimeError(f"{places.count(None)} of {len(places)} homes lack what was delivered")


@contextlib.asynccontextmanager
async def running_deliverer(services: Services, author: AccountId) -> AsyncIterator[Deliverer]:
    """Run a worker and yield its Deliverer."""
    deliverer = Deliverer(services, author)
    worker = Worker(services.outbox, deliverer.handle)
    running = asyncio.create_task(worker.run())
    try:
        yield deliverer
        await deliverer.require_arrived()
    finally:
        worker.stop()
        await running
