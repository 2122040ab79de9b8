"""Stores that tests open and close."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from socialsite.migration.store_factory import open_store
from socialsite.store import Store, StoreUrls


@asynccontextmanager
async def opened_store(urls: StoreUrls | str) -> AsyncIterator[Store]:
    store = await open_store(urls)
    try:
        yield store
    finally:
        await store.close()
