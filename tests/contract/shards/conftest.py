"""Servers for client-side shards: four empty servers and a spare."""

from collections.abc import Iterator

import pytest

from tests.support.redis_server import RedisServer
from tests.support.topologies import SHARDS, plain_servers


@pytest.fixture(scope="module")
def all_servers() -> Iterator[list[RedisServer]]:
    with plain_servers(SHARDS + 1) as started:
        yield started


@pytest.fixture
def servers(all_servers: list[RedisServer]) -> list[RedisServer]:
    for server in all_servers:
        with server.client() as client:
            client.flushall()
    return all_servers[:SHARDS]


@pytest.fixture
def spare(all_servers: list[RedisServer]) -> RedisServer:
    return all_servers[SHARDS]
