"""Fixtures for live updates through real daphnes; `world` acts in this process, over the same store.

The daphnes serve all tests of this folder. They stop with its last test, because they write their presence.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from socialsite.container import Services
from socialsite.recipes.presence import processes_key
from tests.support.daphnes import DaphneProcess, running_daphne
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually


@pytest.fixture(scope="package")
def daphne(redis_server: RedisServer) -> Iterator[DaphneProcess]:
    redis_server.flush()  # a site does not start on what some tests leave
    with running_daphne(redis_server.url) as started:
        yield started


@pytest.fixture(scope="package")
def daphnes(daphne: DaphneProcess, redis_server: RedisServer) -> Iterator[tuple[DaphneProcess, DaphneProcess]]:
    """Two web processes over the same store."""
    with running_daphne(redis_server.url) as second_daphne:
        yield daphne, second_daphne


STEADY = 5
"""Equal counts of connections, one after another, after which none is closing."""


@pytest.fixture
async def returning_connections(services: Services) -> AsyncIterator[None]:
    """Wait at the end until the processes, which serve further tests, have their killed pub/sub connections again."""

    async def connection_count() -> int:
        reply = await services.store.node(processes_key()).execute("CLIENT", "LIST", "TYPE", "pubsub")
        return len(reply.splitlines())

    counts = [await connection_count()]
    while len(counts) < STEADY or len(set(counts[-STEADY:])) > 1:  # those of the test before may still be closing
        await asyncio.sleep(0.05)
        counts.append(await connection_count())
    yield

    async def all_are_back() -> bool:
        return await connection_count() >= counts[-1]

    await eventually(all_are_back)
