"""Follows and unfollows during pages and passes: each remaining follower is read exactly once."""

from collections.abc import Awaitable, Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.ids import AccountId
from socialsite.store import Command, KeyDataShardedConnection, Reply, Store
from tests.support.graph import ALICE, IDS, ON_ONE_SERVER, newest_first
from tests.support.topologies import Deployment
from timelines import keys
from timelines.graph.edge_list import EdgeList
from timelines.graph.follow import FIRST_PASS, Follow, FollowCursor, PassCursor
from timelines.graph.repository import Follows


@ON_ONE_SERVER
@given(times=st.dictionaries(IDS, st.integers(0, 3), min_size=2, max_size=40), limit=st.integers(1, 5), data=st.data())
async def test_unfollows_between_pages_skip_and_repeat_no_follower(
    store: Store, deployment: Deployment, times: dict[int, int], limit: int, data: st.DataObject
) -> None:
    """The follower at the cursor may unfollow too."""
    deployment.empty()
    follows = Follows(store, partitions=3, following_cap=10)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    gone: set[int] = set()
    read_ids: list[int] = []
    cursor: FollowCursor | None = None
    while True:
        page = await follows.followers(ALICE, cursor, limit)
        read_ids.extend(page.account_ids)
        if (cursor := page.next) is None:
            break
        leaving = {cursor.account_id, *data.draw(st.sets(st.sampled_from(sorted(times)), max_size=3))}
        gone |= leaving
        for id in leaving:
            await follows.remove(AccountId(id), ALICE)
    assert len(read_ids) == len(set(read_ids))
    assert set(times) - gone <= set(read_ids)
    assert read_ids == [id for id in newest_first(times) if id in set(read_ids)]


@ON_ONE_SERVER
@given(times=st.dictionaries(IDS, st.integers(0, 3), min_size=2, max_size=40), limit=st.integers(1, 5), data=st.data())
async def test_unfollows_between_passes_skip_and_repeat_no_follower(
    store: Store, deployment: Deployment, times: dict[int, int], limit: int, data: st.DataObject
) -> None:
    deployment.empty()
    follows = Follows(store, partitions=3, following_cap=10)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    gone: set[int] = set()
    read_ids: list[int] = []
    page = await follows.followers_pass(ALICE, FIRST_PASS, limit)
    while page.next is not None:
        read_ids.extend(page.ids)
        leaving = {page.ids[-1], *data.draw(st.sets(st.sampled_from(sorted(times)), max_size=3))}
        gone |= leaving
        for id in leaving:
            await follows.remove(AccountId(id), ALICE)
        page = await follows.followers_pass(ALICE, page.next, limit)
    read_ids.extend(page.ids)
    assert len(read_ids) == len(set(read_ids))
    assert set(times) - gone <= set(read_ids)


class RestlessPairs(KeyDataShardedConnection):
    """A real connection that runs `leave` after every reply."""

    def __init__(self, store: Store, leave: Callable[[], Awaitable[None]], partitions: int = 16) -> None:
        super().__init__(store, "follows", partitions)
        self._leave = leave

    async def execute_all(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        replies = await super().execute_all(commands, may_lag=may_lag)
        await self._leave()
        return replies


async def read_all(side: EdgeList[int], read_ids: list[int], limit: int, cursor: PassCursor = FIRST_PASS) -> None:
    """Add the ids of passes to `read_ids`, up to the last follower."""
    for _ in range(400):
        page = await side.next_pass(ALICE, cursor, limit)
        assert len(page.ids) <= limit
        read_ids.extend(page.ids)
        if page.next is None:
            return
        cursor = page.next
    raise AssertionError("the passes do not end")


async def test_unfollows_during_a_pass_do_not_end_it_early(store: Store, follows: Follows) -> None:
    """Sizes are read before members: a partition that shrinks in between must not hide later partitions."""
    ids = range(2, 202)
    await follows.add_many(Follow(AccountId(id), ALICE, id) for id in ids)
    read_ids: list[int] = []
    gone: set[int] = set()

    async def leave() -> None:
        for id in [id for id in ids if id not in gone and id not in read_ids][:3]:
            gone.add(id)
            await follows.remove(AccountId(id), ALICE)

    await read_all(EdgeList[int](RestlessPairs(store, leave), keys.followers), read_ids, 7)
    assert len(read_ids) == len(set(read_ids))
    assert set(ids) - gone <= set(read_ids)


async def test_a_new_follow_during_a_pass_skips_no_other_follower(store: Store, follows: Follows) -> None:
    """A new edge is the newest edge; a cursor after it would skip all followers in between."""
    ids = range(2, 202)
    await follows.add_many(Follow(AccountId(id), ALICE, 1_000 + id % 4) for id in ids)
    read_ids: list[int] = []

    async def come_back() -> None:
        for id in set(ids) - set(read_ids):
            await follows.remove(AccountId(id), ALICE)
            await follows.add(Follow(AccountId(id), ALICE, 1_000_000))

    await read_all(EdgeList[int](RestlessPairs(store, come_back), keys.followers), read_ids, 7)
    assert set(read_ids) == set(ids)


@pytest.mark.parametrize("limit", [1, 3, 7, 40])
async def test_old_edges_imported_during_a_pass_skip_no_follower(store: Store, follows: Follows, limit: int) -> None:
    """An import gives all its edges its start time, so they sort among existing followers."""
    ids, imported = range(2, 102), iter(range(1_000, 1_300))
    await follows.add_many(Follow(AccountId(id), ALICE, 1_000 + id) for id in ids)
    read_ids: list[int] = []

    async def bring() -> None:
        for _ in range(2):
            if (id := next(imported, None)) is not None:
                await follows.add(Follow(AccountId(id), ALICE, 900))

    await read_all(EdgeList[int](RestlessPairs(store, bring), keys.followers), read_ids, limit)
    assert set(ids) <= set(read_ids)


async def test_a_new_follow_after_equal_times_skips_no_other_follower(store: Store) -> None:
    """The last follower of the pass unfollows and follows again while the pass is read."""
    follows = Follows(store, partitions=1, following_cap=10)
    for id, at_ms in ((10, 5), (2, 5), (3, 5), (4, 6), (5, 7)):
        await follows.add(Follow(AccountId(id), ALICE, at_ms))

    async def come_back() -> None:
        await follows.remove(AccountId(4), ALICE)
        await follows.add(Follow(AccountId(4), ALICE, 9))

    side = EdgeList[int](RestlessPairs(store, come_back, partitions=1), keys.followers)
    read_ids: list[int] = []
    await read_all(side, read_ids, 3, PassCursor(0, 5, 10))
    assert set(read_ids) == {2, 3, 4, 5}
