"""Pages of accounts with a score (follow requests, blocks, mutes): full, without duplicates, ties ordered by id."""

import pytest

from socialsite.ids import AccountId
from socialsite.store import Store
from timelines import keys
from timelines.graph.follow import FollowCursor
from timelines.graph.zset_page import read_account_page
from timelines.reading.fan_out_on_read import FAN_OUT_ON_READ_CAP, FanOutOnReadAuthors

KEY = keys.blocks(1)
ROWS = [(500, 7), (400, 30), (400, 4), (400, 200), (300, 9), (200, 5)]
"""(score, id). Several ids have the score 400: they are ordered by their text, descending."""
NEWEST_FIRST = [7, 4, 30, 200, 9, 5]


async def filled(store: Store) -> None:
    await store.node(KEY).execute("ZADD", KEY, *(part for row in ROWS for part in row))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
async def test_pages_of_any_size_contain_each_account_once(store: Store, limit: int) -> None:
    await filled(store)
    place, account_ids, cursor, pages = store.component("timelines"), list[AccountId](), None, 0
    for _ in range(len(ROWS)):
        page = await read_account_page(place, [KEY], cursor, limit)
        account_ids += page.account_ids
        pages += 1
        cursor = page.next
        if cursor is None:
            break
        assert len(page.account_ids) == limit
        assert cursor == FollowCursor({id: at for at, id in ROWS}[page.account_ids[-1]], page.account_ids[-1])
    assert account_ids == NEWEST_FIRST
    assert cursor is None
    assert pages == -(-len(ROWS) // limit), "a full last page is the last"


async def test_a_page_ends_above_a_score(store: Store) -> None:
    await filled(store)
    page = await read_account_page(store.component("timelines"), [KEY], None, 9, above_ms=300)
    assert page.account_ids == (7, 4, 30, 200)
    assert page.next is None


async def test_a_cursor_of_a_removed_account_is_valid(store: Store) -> None:
    await filled(store)
    page = await read_account_page(store.component("timelines"), [KEY], FollowCursor(400, AccountId(31)), limit=2)
    assert page.account_ids == (30, 200)
    assert page.next == FollowCursor(400, AccountId(200))


async def test_authors_keep_their_first_time_in_the_fan_out_on_read_set(store: Store) -> None:
    pulled = FanOutOnReadAuthors(store)
    for account_id, at_ms in ((5, 100), (6, 200), (5, 300)):
        await pulled.add(AccountId(account_id), at_ms)
    assert await pulled.read_all() == {5: 100, 6: 200}
    await pulled.remove([AccountId(5)])
    assert await pulled.read_all() == {6: 200}


async def test_the_earliest_fan_out_on_read_authors_are_read_up_to_the_cap(store: Store) -> None:
    key = keys.fan_out_on_read_authors()
    rows = [part for number in range(1, FAN_OUT_ON_READ_CAP + 3) for part in (number, number)]
    await store.node(key).execute("ZADD", key, *rows)
    assert list(await FanOutOnReadAuthors(store).read_all()) == list(range(1, FAN_OUT_ON_READ_CAP + 1))
