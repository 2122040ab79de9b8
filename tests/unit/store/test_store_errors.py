"""Error replies of a server and the exceptions raised for them."""

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
def test_replies_about_missing_memory_or_disk_raise_store_full(text: str) -> None:
    assert type(parse_error(text)) is StoreFull


def test_a_loading_server_is_temporarily_unavailable() -> None:
    assert type(parse_error("LOADING Redis is loading the dataset in memory")) is StoreUnavailable
