"""A queue of jobs as several processes see it, which soon give each other up."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from socialsite.migration.opening import open_store
from socialsite.recipes.job_queue import JobQueue, Patience
from socialsite.store import StoreUrls

QUICK = Patience(heartbeat_ms=400, adopt_ms=50, stuck_ms=2_000, lost_ms=300, retry_ms=(10, 20, 30, 40))


@pytest_asyncio.fixture
async def queues(redis_urls: StoreUrls) -> AsyncIterator[list[JobQueue]]:
    """Three views of one queue, each over a store of its own, as processes have them."""
    stores = [await open_store(redis_urls) for _ in range(3)]
    yield [JobQueue(store, patience=QUICK) for store in stores]
    for store in stores:
        await store.close()


@pytest.fixture
def queue(queues: list[JobQueue]) -> JobQueue:
    return queues[0]
