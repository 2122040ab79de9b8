"""The memory guard compares a server's INFO memory values with the reserve."""

import pytest

from socialsite.recipes.memory_guard import is_below_reserve, parse_memory_info


@pytest.mark.parametrize(
    ("facts", "is_lacking"),
    [
        ({"maxmemory": 100, "used_memory": 90}, False),
        ({"maxmemory": 100, "used_memory": 91}, True),
        ({"maxmemory": 0, "used_memory": 91}, False),
        ({"maxmemory": 1, "used_memory": 0}, True),
        ({"maxmemory": 10}, False),
        ({}, False),
    ],
)
def test_less_free_memory_than_the_reserve_is_refused(facts: dict[str, int], is_lacking: bool) -> None:
    assert is_below_reserve(facts, 10) is is_lacking


def test_memory_info_has_only_whole_numbers() -> None:
    reply = b"# Memory\r\nused_memory:1024\r\nmaxmemory:0\r\nused_memory_human:1.00K\r\nodd:1:2\r\n"
    assert parse_memory_info(reply) == {"used_memory": 1024, "maxmemory": 0}
