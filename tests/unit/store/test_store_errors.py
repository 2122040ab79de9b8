"""What the server's refusals become."""

import pytest

from socialsite.store import StoreFull, StoreUnavailable
from socialsite.store.errors import parse_error


@pytest.mark.parametrize(
    "text",
    [
        "OOM command not allowed when used memory > 'maxmemory'.",
        "MISCONF Errors writing to the AOF file: No space left on device",
    ],
)
def test_a_server_without_room_is_full(text: str) -> None:
    assert type(parse_error(text)) is StoreFull


def test_a_server_that_loads_is_unavailable_for_now() -> None:
    assert type(parse_error("LOADING Redis is loading the dataset in memory")) is StoreUnavailable
