"""Fixtures for live updates through real daphnes; `world` acts in this process, over the same store.

The daphnes serve all tests of this folder. They stop with its last test, because they write their presence.
"""

from collections.abc import Iterator

import pytest

from tests.support.redis_server import RedisServer
from tests.support.sockets import DaphneProcess, running_daphne


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
