"""Fixtures: listening processes, a fixed clock, and a `Presence` that locates members."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from socialsite.clock import FixedClock
from socialsite.recipes.presence import Presence
from socialsite.store import Store
from tests.support.pubsub_process import NOW_MS, StartListener, WebProcess, open_listener


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW_MS)


@pytest.fixture
def presence(store: Store, clock: FixedClock) -> Presence:
    return Presence(store, clock)


@pytest.fixture
async def start(store: Store, clock: FixedClock) -> AsyncIterator[StartListener]:
    """Return `start(renew_every_s)`, which opens a listening process."""
    async with AsyncExitStack() as stack:

        async def start_process(renew_every_s: float = 0.1) -> WebProcess:
            process = await open_listener(store, clock, renew_every_s)
            stack.push_async_callback(process.hub.close)
            return process

        yield start_process
