"""People come and go between pages and while passes are read: who stays is met, and once."""

from collections.abc import Awaitable, Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.ids import AccountId
from socialsite.store import Command, KeyDataShardedConnection, Reply, Store
from tests.support.paging import ALICE, IDS, ON_ONE_SERVER, newest_first
from tests.support.topologies import Deployment
from timelines import keys
from timelines.graph.edge_list import EdgeList
from timelines.graph.follow import FIRST_PASS, Follow, FollowCursor, PassCursor
from timelines.graph.repository import Follows


@ON_ONE_SERVER
@given(
    times=st.dictionaries(IDS, st.integers(0, 3), min_size=2, max_size=40),
    limit=st.integers(1, 5),
    data=st.data(),
)
async def test_who_stays_is_met_once_whoever_goes_between_pages(
    store: Store, deployment: Deployment, times: dict[int, int], limit: int, data: st.DataObject
) -> None:
    """The cursor's own follower may be the one who went."""
    deployment.empty()
    follows = Follows(store, partitions=3, following_cap=10)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    gone: set[int] = set()
    found: list[int] = []
    cursor: FollowCursor | None = None
    while True:
        page = await follows.followers(ALICE, cursor, limit)
        found.extend(page.account_ids)
        if (cursor := page.next) is None:
            break
        leaving = {cursor.account_id, *data.draw(st.sets(st.sampled_from(sorted(times)), max_size=3))}
        gone |= leaving
        for id in leaving:
            await follows.remove(AccountId(id), ALICE)
    assert len(found) == len(set(found))
    assert set(times) - gone <= set(found)
    assert found == [id for id in newest_first(times) if id in set(found)]


@ON_ONE_SERVER
@given(
    times=st.dictionaries(IDS, st.integers(0, 3), min_size=2, max_size=40),
    limit=st.integers(1, 5),
    data=st.data(),
)
async def test_who_stays_is_delivered_to_once_whoever_goes_between_passes(
    store: Store, deployment: Deployment, times: dict[int, int], limit: int, data: st.DataObject
) -> None:
    deployment.empty()
    follows = Follows(store, partitions=3, following_cap=10)
    await follows.add_many(Follow(AccountId(id), ALICE, at_ms) for id, at_ms in times.items())
    gone: set[int] = set()
    found: list[int] = []
    page = await follows.followers_pass(ALICE, FIRST_PASS, limit)
    while page.next is not None:
        found.extend(page.ids)
        leaving = {page.ids[-1], *data.draw(st.sets(st.sampled_from(sorted(times)), max_size=3))}
        gone |= leaving
        for id in leaving:
            await follows.remove(AccountId(id), ALICE)
        page = await follows.followers_pass(ALICE, page.next, limit)
    found.extend(page.ids)
    assert len(found) == len(set(found))
    assert set(times) - gone <= set(found)


class RestlessPairs(KeyDataShardedConnection):
    """A real connection, on which somebody leaves right after every answer."""

    def __init__(self, store: Store, leave: Callable[[], Awaitable[None]], partitions: int = 16) -> None:
        super().__init__(store, "follows", partitions)
        self._leave = leave

    async def gather(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        replies = await super().gather(commands, may_lag=may_lag)
        await self._leave()
        return replies


async def test_those_who_go_while_a_pass_is_read_do_not_end_it_early(store: Store, follows: Follows) -> None:
    """Sizes are read before members: a partition that shrinks between must not hide the ones behind it."""
    ids = range(2, 202)
    await follows.add_many(Follow(AccountId(id), ALICE, id) for id in ids)
    found: list[int] = []
    gone: set[int] = set()

    async def leave() -> None:
        for id in [id for id in ids if id not in gone and id not in found][:3]:
            gone.add(id)
            await follows.remove(AccountId(id), ALICE)

    side = EdgeList[int](RestlessPairs(store, leave), keys.followers)
    cursor: PassCursor | None = FIRST_PASS
    while cursor is not None:
        page = await side.next_pass(ALICE, cursor, 7)
        cursor = page.next
        found.extend(page.ids)
    assert len(found) == len(set(found))
    assert set(ids) - gone <= set(found)


async def test_who_goes_and_comes_back_while_a_pass_is_read_takes_nobody_along(store: Store, follows: Follows) -> None:
    """Their edge is the newest then; a cursor behind it would pass everybody between by."""
    ids = range(2, 202)
    await follows.add_many(Follow(AccountId(id), ALICE, 1_000 + id % 4) for id in ids)
    found: list[int] = []

    async def come_back() -> None:
        for id in set(ids) - set(found):
            await follows.remove(AccountId(id), ALICE)
            await follows.add(Follow(AccountId(id), ALICE, 1_000_000))

    side = EdgeList[int](RestlessPairs(store, come_back), keys.followers)
    cursor: PassCursor | None = FIRST_PASS
    for _ in range(400):
        page = await side.next_pass(ALICE, cursor, 7)
        cursor = page.next
        found.extend(page.ids)
        if cursor is None:
            break
    assert cursor is None
    assert set(found) == set(ids)


@pytest.mark.parametrize("limit", [1, 3, 7, 40])
async def test_edges_of_before_that_come_while_a_pass_is_read_push_nobody_out(
    store: Store, follows: Follows, limit: int
) -> None:
    """An import writes all its edges with the time it began at, between people who followed since."""
    ids, imported = range(2, 102), iter(range(1_000, 1_300))
    await follows.add_many(Follow(AccountId(id), ALICE, 1_000 + id) for id in ids)
    found: list[int] = []

    async def bring() -> None:
        for _ in range(2):
            if (id := next(imported, None)) is not None:
                await follows.add(Follow(AccountId(id), ALICE, 900))

    side = EdgeList[int](RestlessPairs(store, bring), keys.followers)
    cursor: PassCursor | None = FIRST_PASS
    while cursor is not None:
        page = await side.next_pass(ALICE, cursor, limit)
        cursor = page.next
        assert len(page.ids) <= limit
        found.extend(page.ids)
    assert set(ids) <= set(found)


async def test_who_comes_back_behind_ties_takes_nobody_along(store: Store) -> None:
    """The last of a pass, behind some of the cursor's own ms, goes and follows again as it is read."""
    follows = Follows(store, partitions=1, following_cap=10)
    for id, at_ms in ((10, 5), (2, 5), (3, 5), (4, 6), (5, 7)):
        await follows.add(Follow(AccountId(id), ALICE, at_ms))

    async def come_back() -> None:
        await follows.remove(AccountId(4), ALICE)
        await follows.add(Follow(AccountId(4), ALICE, 9))

    side = EdgeList[int](RestlessPairs(store, come_back, partitions=1), keys.followers)
    found: list[int] = []
    cursor: PassCursor | None = PassCursor(0, 5, 10)
    for _ in range(5):
        if cursor is not None:
            page = await side.next_pass(ALICE, cursor, 3)
            cursor = page.next
            found.extend(page.ids)
    assert set(found) == {2, 3, 4, 5}
