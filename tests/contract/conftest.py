"""One PostgreSQL server a test process, started by the first test that asks for it."""

from collections.abc import Iterator

import pytest

from tests.support.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer().start()
    yield server
    server.stop()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> PostgresServer:
    """A server that runs and where nothing was ever archived."""
    postgres_server.empty()
    return postgres_server
