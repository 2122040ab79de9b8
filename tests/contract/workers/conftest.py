"""A job queue as several processes see it. The processes are soon considered dead."""

from collections.abc import AsyncIterator

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_queue import JobQueue, RetryPolicy
from socialsite.store import StoreUrls

QUICK = RetryPolicy(
    heartbeat_ttl_ms=400,
    reclaim_interval_ms=50,
    stuck_after_ms=2_000,
    lost_after_ms=300,
    retry_delays_ms=(10, 20, 30, 40),
)


@pytest.fixture
async def queues(redis_urls: StoreUrls) -> AsyncIterator[list[JobQueue]]:
    """Three views of one queue, each over its own store, as separate processes have."""
    stores = [await open_store(redis_urls) for _ in range(3)]
    yield [JobQueue(store, retry_policy=QUICK) for store in stores]
    for store in stores:
        await store.close()


@pytest.fixture
def queue(queues: list[JobQueue]) -> JobQueue:
    return queues[0]
