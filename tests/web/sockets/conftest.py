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


STEADY_COUNTS = 20
"""Equal counts of connections, one after another within a second, after which none is closing."""


@pytest.fixture
async def returning_connections(services: Services) -> AsyncIterator[None]:
    """Wait at the end until the processes, which serve further tests, have their killed pub/sub connections again."""

    async def connections() -> list[str]:
        reply = await services.store.node(processes_key()).execute("CLIENT", "LIST", "TYPE", "pubsub")
        lines: list[str] = reply.decode().splitlines()
        return lines

    before = await connections()
    counts = [len(before)]
    while len(counts) < STEADY_COUNTS or len(set(counts[-STEADY_COUNTS:])) > 1:
        await asyncio.sleep(0.05)  # connections of the test before may still be closing
        before = await connections()
        counts.append(len(before))
    yield

    async def all_are_back() -> bool:
        return len(await connections()) >= len(before)

    try:
        await eventually(all_are_back)
    except TimeoutError:
        pytest.fail("\n".join(["these connections were open", *before, "and these are", *await connections()]))
