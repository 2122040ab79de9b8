"""Passes of a fan-out, and their time slices."""

import asyncio
from dataclasses import dataclass

import pytest

from socialsite.ids import AccountId
from timelines.fanout.time_slice import MAX_CONCURRENT_PASSES, run_slice
from timelines.graph.edge_list import LAYOUT_VERSION_FACTOR, from_stored_cursor, share_room, to_stored_cursor
from timelines.graph.follow import FIRST_PASS, PassCursor, PassPage

Page = PassPage[AccountId]

PAGES = 7


def page(number: int) -> Page:
    behind = PassCursor(0, number + 1, 0) if number + 1 < PAGES else None
    return PassPage((b"%d" % number,), behind)


class Passes:
    """Record deliveries, which take a few iterations of the event loop; page `failing` raises an error."""

    def __init__(self, failing: int | None = None) -> None:
        self.failing = failing
        self.under_way: set[int] = set()
        self.most = 0
        self.delivered: list[int] = []
        self.read_while_delivering = 0

    async def read(self, cursor: PassCursor) -> Page:
        self.read_while_delivering += bool(self.under_way)
        await asyncio.sleep(0)
        return page(cursor.at_ms)

    async def deliver(self, some: Page) -> None:
        (number,) = some.ids
        self.under_way.add(number)
        self.most = max(self.most, len(self.under_way))
        for _ in range(6):
            await asyncio.sleep(0)
        self.under_way.remove(number)
        if number == self.failing:
            raise ConnectionError(number)
        self.delivered.append(number)


def later(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def test_a_slice_delivers_every_page_once_and_reads_ahead() -> None:
    passes = Passes()
    assert (await run_slice(page(0), passes.read, passes.deliver, until=later(60))).next is None
    assert passes.delivered == list(range(PAGES))
    assert passes.most == MAX_CONCURRENT_PASSES
    assert passes.read_while_delivering > 0


async def test_a_slice_after_its_deadline_delivers_its_page_and_returns_the_next_cursor() -> None:
    passes = Passes()
    assert (await run_slice(page(0), passes.read, passes.deliver, until=later(-1))) == page(0)
    assert passes.delivered == [0]


async def test_a_failure_is_raised_after_all_deliveries_have_ended() -> None:
    passes = Passes(failing=1)
    with pytest.raises(ConnectionError):
        await run_slice(page(0), passes.read, passes.deliver, until=later(60))
    assert not passes.under_way


async def test_a_cancelled_slice_cancels_its_passes() -> None:
    passes = Passes()
    turn = asyncio.create_task(run_slice(page(0), passes.read, passes.deliver, until=later(60)))
    for _ in range(3):
        await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert passes.delivered == []


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
