"""Fixtures for live updates through real daphnes; `world` acts in this process, over the same store."""

from collections.abc import Iterator

import pytest

from tests.support.redis_server import RedisServer
from tests.support.sockets import DaphneProcess, running_daphne


@pytest.fixture(scope="module")
def daphnes(daphne: DaphneProcess, redis_server: RedisServer) -> Iterator[tuple[DaphneProcess, DaphneProcess]]:
    """Two web processes over the same store."""
    with running_daphne(redis_server.url) as second_daphne:
        yield daphne, second_daphne
