"""Pages and passes contain every edge exactly once, also with equal times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.ids import AccountId
from socialsite.store import Store
from tests.support.paging import ALICE, IDS, ON_ONE_SERVER, newest_first, read_by_pages, read_by_passes
from tests.support.topologies import Deployment
from timelines.graph.follow import FIRST_PASS, Follow, FollowCursor
from timelines.graph.repository import Follows


async def test_five_thousand_followers_with_equal_times_are_paged_exactly_once(follows: Follows) -> None:
    times = dict.fromkeys(range(2, 5_002), 1_700_000_000_000)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    assert await read_by_pages(follows, 70) == newest_first(times)
    delivered = await read_by_passes(follows, 1_000)
    assert len(delivered) == 5_000
    assert set(delivered) == set(times)


async def test_five_thousand_followers_of_one_partition_and_time_are_paged_exactly_once(store: Store) -> None:
    follows = Follows(store, partitions=1, following_cap=10)
    times = dict.fromkeys(range(2, 5_002), 5)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    assert await read_by_pages(follows, 99) == newest_first(times)
    assert await read_by_passes(follows, 99) == newest_first(times)[::-1]


@ON_ONE_SERVER
@given(times=st.dictionaries(IDS, st.integers(0, 6), max_size=60), limit=st.integers(1, 13))
async def test_pages_and_passes_contain_each_follower_once(
    store: Store, deployment: Deployment, times: dict[int, int], limit: int
) -> None:
    deployment.empty()
    for partitions in (1, 3, 16):
        follows = Follows(store, partitions=partitions, following_cap=10)
        await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
        assert await read_by_pages(follows, limit) == newest_first(times)
        delivered = await read_by_passes(follows, limit)
        assert len(delivered) == len(times)
        assert set(delivered) == set(times)
        deployment.empty()


@pytest.mark.parametrize("limit", [1, 2, 7, 40])
async def test_passes_contain_all_followers_with_equal_times(follows: Follows, limit: int) -> None:
    ids = range(2, 302)
    await follows.add_many(Follow(AccountId(id), ALICE, 1_000 + id % 4) for id in ids)
    walked = await read_by_passes(follows, limit)
    assert sorted(walked) == list(ids)


async def test_an_account_without_followers_has_one_empty_page(follows: Follows) -> None:
    assert await read_by_pages(follows, 10) == []
    assert await read_by_passes(follows, 10) == []


async def test_a_page_that_ends_with_the_last_follower_has_no_next(follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(id), ALICE, id) for id in range(2, 12))
    assert (await follows.followers(ALICE, None, 10)).next is None
    assert (await follows.followers_pass(ALICE, FIRST_PASS, 10)).next is None


async def test_a_cursor_without_an_edge_is_valid(follows: Follows) -> None:
    await follows.add_many(Follow(AccountId(id), ALICE, 100 * id) for id in range(2, 12))
    page = await follows.followers(ALICE, FollowCursor(450, AccountId(999_999)), 10)
    assert page.account_ids == (4, 3, 2)


async def test_followed_accounts_are_paged_like_followers(follows: Follows) -> None:
    await follows.add_many(Follow(ALICE, AccountId(id), id) for id in range(2, 12))
    first = await follows.following(ALICE, None, 6)
    second = await follows.following(ALICE, first.next, 6)
    assert first.account_ids + second.account_ids == tuple(range(11, 1, -1))
    assert second.next is None
