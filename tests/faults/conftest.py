"""Mark every test of this folder as `faults`: `make faults` runs only these, `make test` all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.redis_server import RedisServer

FAULT_TESTS_DIR = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(FAULT_TESTS_DIR):
            item.add_marker("faults")


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """A plain server, shared by the tests of a file."""
    with RedisServer() as started:
        yield started
