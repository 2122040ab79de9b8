"""Live updates through real daphnes; `world` acts in this process, over the same store."""

from collections.abc import Iterator

import pytest

from tests.support.redis_server import RedisServer
from tests.support.sockets import Daphne, running


@pytest.fixture(scope="module")
def daphnes(daphne: Daphne, redis_server: RedisServer) -> Iterator[tuple[Daphne, Daphne]]:
    """Two web processes over the same store."""
    with running(redis_server.url) as other:
        yield daphne, other
