"""Everything here bears the marker `faults`: `make faults` runs it alone, `make test` among the rest."""

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
    """One for the tests of a file that need no other kind."""
    started = RedisServer().start()
    yield started
    started.stop()
