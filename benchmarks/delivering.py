"""The worker, as `manage.py syndicate` runs it, in this process: one post from the outbox to every home."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from accounts.domain import AccountId
from socialsite.recipes.worker import Worker
from socialsite.services import Services
from timelines.domain.jobs import SyndicatePost, encode_job
from timelines.domain.post import Post

TEXT = "The quick brown fox jumps over the lazy dog, then sits down and tells everybody about it. " * 2


class Deliverer:
    """Hands posts to a running worker and waits until the last pass is through."""

    def __init__(self, services: Services, author: AccountId) -> None:
        self._services = services
        self._author = author
        self._through = asyncio.Event()

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        following = await self._services.syndication.handle(payload)
        if not following:
            self._through.set()
        return following

    async def deliver(self, author: AccountId | None = None) -> float:
        """Seconds from the job's entry into the outbox until nothing follows from it any more."""
        self._through.clear()
        job = encode_job(SyndicatePost.of(Post(self._services.ids.next(), author or self._author, TEXT)))
        started = time.perf_counter()
        await self._services.outbox.add(job)
        await self._through.wait()
        return time.perf_counter() - started


@contextlib.asynccontextmanager
async def deliverer(services: Services, author: AccountId) -> AsyncIterator[Deliverer]:
    """With its worker running."""
    found = Deliverer(services, author)
    worker = Worker(services.outbox, found.handle)
    running = asyncio.create_task(worker.run())
    try:
        yield found
    finally:
        worker.stop()
        await running
