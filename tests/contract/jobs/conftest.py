"""Fixtures: one job queue, and the same queue with fast retries."""

from collections.abc import AsyncIterator

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_queue import JobQueue
from socialsite.store import Store, StoreUrls
from tests.support.jobs import FAST_RETRY_POLICY, open_queue


@pytest.fixture
async def queue(store: Store) -> JobQueue:
    return await open_queue(store)


@pytest.fixture
async def quick(redis_urls: StoreUrls) -> AsyncIterator[JobQueue]:
    """The same queue with fast retries, over a connection of its own."""
    store = await open_store(redis_urls)
    yield JobQueue(store, retry_policy=FAST_RETRY_POLICY)
    await store.close()
