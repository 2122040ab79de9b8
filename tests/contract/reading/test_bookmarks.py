"""Stored bookmarks: pages of any size in both directions, ties by id, and a cap."""

import pytest

from socialsite.ids import AccountId, PostId
from socialsite.store import Store
from timelines.reactions.bookmarks import Bookmark, Bookmarks

ALICE = AccountId(1)
OLDEST_FIRST = [Bookmark(at, PostId(id)) for at, id in ((100, 9), (200, 3), (200, 5), (200, 7), (300, 1))]
"""Ids of one digit, because ties are ordered by the text of the id."""


@pytest.fixture
async def bookmarks(store: Store) -> Bookmarks:
    bookmarks = Bookmarks(store)
    for each in reversed(OLDEST_FIRST):
        assert await bookmarks.add(ALICE, each.post_id, each.at_ms)
    return bookmarks


@pytest.mark.parametrize("upward", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
async def test_pages_of_any_size_contain_each_bookmark_once(bookmarks: Bookmarks, limit: int, upward: bool) -> None:
    entries: list[Bookmark] = []
    while page := await bookmarks.read(ALICE, entries[-1] if entries else None, limit, upward=upward):
        assert len(page) <= limit
        entries += page
    assert entries == (OLDEST_FIRST if upward else OLDEST_FIRST[::-1])


async def test_a_bookmark_keeps_its_position_and_is_removed_once(bookmarks: Bookmarks) -> None:
    assert await bookmarks.add(ALICE, PostId(3), 999) is False
    assert await bookmarks.read(ALICE, None, 1, upward=False) == [OLDEST_FIRST[-1]]
    assert await bookmarks.remove(ALICE, PostId(3)) is True
    assert await bookmarks.remove(ALICE, PostId(3)) is False


async def test_the_newest_bookmarks_are_kept(store: Store) -> None:
    bookmarks = Bookmarks(store, cap=2)
    for each in OLDEST_FIRST:
        await bookmarks.add(ALICE, each.post_id, each.at_ms)
    assert await bookmarks.read(ALICE, None, 9, upward=True) == OLDEST_FIRST[-2:]
