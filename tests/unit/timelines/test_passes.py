"""Passes over edges: shares of the page size, and cursors after a change of the partition layout."""

from dataclasses import dataclass

import pytest

from timelines.graph.edge_list import LAYOUT_VERSION_FACTOR, from_stored_cursor, share_room, to_stored_cursor
from timelines.graph.follow import FIRST_PASS, PassCursor


@dataclass(frozen=True)
class Generation:
    """The one attribute of a partition layout that a cursor uses."""

    version: int


CURSOR = PassCursor(7, 1_700_000_000_000, 42)


@pytest.mark.parametrize(
    ("sizes", "room", "shares"),
    [
        ([], 5, []), ([3], 5, [3]), ([3, 3, 3], 5, [3, 2]), ([5, 5], 5, [5]), ([3, 3], 0, []),
        ([0, 4, 4], 5, [0, 4, 1]), ([9], 5, [5]),
    ],
)  # fmt: skip
def test_partitions_share_the_page_size_in_their_order(sizes: list[int], room: int, shares: list[int]) -> None:
    assert share_room(sizes, room) == shares


def test_a_cursor_is_valid_only_for_its_own_layout() -> None:
    for generation in (0, 1, 5):
        written = to_stored_cursor(Generation(generation), CURSOR)
        assert written.partition == generation * LAYOUT_VERSION_FACTOR + CURSOR.partition
        assert from_stored_cursor(Generation(generation), written) == CURSOR
        assert from_stored_cursor(Generation(generation + 1), written) == FIRST_PASS
