"""Read limits and maximum lengths of cached timelines, and passes of several batches."""

import asyncio
from collections.abc import Iterable

import pytest

from socialsite.clock import DAY_MS, FixedClock
from socialsite.ids import PostId, id_at
from socialsite.store import Command, Node, Reply, Store, StoreUnavailable
from tests.support.nodes import SingleNodeTopology, run_command
from timelines import keys
from timelines.cached_timelines import delivery as cached_pushing
from timelines.cached_timelines.delivery import PUSHES_PER_ROUND_TRIP
from timelines.cached_timelines.repository import CachedTimelines
from timelines.cached_timelines.spec import LATE_MS, TimelineCacheSpec

NOW_MS = 1_900_000_000_000
CAP, SLACK = 100, 10
KIND = TimelineCacheSpec(keys.home_timeline, keys.HOME_TIMELINE_KEY_PATTERN, CAP, 30 * DAY_MS, read_ahead=15)
ALICE = 42


@pytest.fixture
def homes(store: Store) -> CachedTimelines:
    return CachedTimelines(store, FixedClock(NOW_MS), KIND)


def at(ms_ago: int) -> PostId:
    return id_at(NOW_MS - ms_ago, 0)


async def fill(store: Store, owner: int, count: int) -> tuple[PostId, ...]:
    """Store a complete home timeline of `count` ids, 1 ms apart, and return the ids."""
    ids = tuple(at(700 + number) for number in range(count))
    await run_command(store, "RPUSH", keys.home_timeline(owner), *ids, "-0")
    return ids


async def elements(store: Store, owner: int = ALICE) -> list[int]:
    return [int(each) for each in await run_command(store, "LRANGE", keys.home_timeline(owner), 0, -1)]


async def test_a_read_returns_at_most_its_limit(homes: CachedTimelines, store: Store) -> None:
    ids = await fill(store, ALICE, 6)
    for limit, is_whole in ((1, False), (5, False), (6, False), (7, True)):
        part = await homes.read(ALICE, limit)
        assert part is not None
        assert (part.ids, part.is_whole) == (ids[:limit], is_whole)


@pytest.mark.parametrize("more", [0, 1])
async def test_a_whole_read_is_limited_to_twice_the_cap_and_slack(
    homes: CachedTimelines, store: Store, more: int
) -> None:
    most = 2 * CAP + 2 * SLACK
    ids = await fill(store, ALICE, most - 1 + more)
    part = await homes.read_whole(ALICE)
    assert part is not None
    assert part.ids == ids
    assert part.is_whole == (not more)


@pytest.mark.parametrize("deliver", ["push", "insert"])
@pytest.mark.parametrize(("owner", "most"), [(40, 111), (41, 112), (49, 120), (7, 118)])
async def test_a_home_timeline_is_trimmed_above_its_owners_maximum_length(
    homes: CachedTimelines, store: Store, owner: int, most: int, deliver: str
) -> None:
    bring = getattr(homes, deliver)
    ids = await fill(store, owner, most - 2)
    await bring([owner], at(600))
    assert await elements(store, owner) == [at(600), *ids, 0]
    await bring([owner], at(500))
    assert await elements(store, owner) == [at(500), at(600), *ids[: CAP - 2], -ids[CAP - 2]]


async def test_a_repeated_young_id_is_inserted_once(homes: CachedTimelines, store: Store) -> None:
    (old,) = await fill(store, ALICE, 1)
    for _ in range(2):
        await homes.insert([ALICE, 43], at(0))
        assert await elements(store) == [at(0), old, 0]
    assert await elements(store, 43) == []


async def test_an_id_is_late_once_it_is_older_than_two_seconds(homes: CachedTimelines, store: Store) -> None:
    (young,) = await fill(store, ALICE, 1)
    await homes.push([ALICE], at(LATE_MS))
    assert await elements(store) == [at(LATE_MS), young, 0]
    await homes.push([ALICE], at(LATE_MS + 1))
    assert await elements(store) == [at(LATE_MS), young, at(LATE_MS + 1), 0]


@pytest.mark.parametrize("parts", [1, 2, 3])
async def test_a_pass_reaches_the_first_and_the_last_owner_of_each_batch(
    homes: CachedTimelines, store: Store, parts: int
) -> None:
    owners = range(1, parts * PUSHES_PER_ROUND_TRIP + 1)
    edges = [
        owner
        for part in range(parts)
        for owner in (part * PUSHES_PER_ROUND_TRIP + 1, (part + 1) * PUSHES_PER_ROUND_TRIP)
    ]
    for owner in edges:
        await run_command(store, "RPUSH", keys.home_timeline(owner), "-0")
    await homes.push(owners, at(0))
    assert [await elements(store, owner) for owner in edges] == [[at(0), 0]] * len(edges)


class Unreachable(Node):
    """A node that loses the reply of a pass and is then unavailable for `away_s`."""

    def __init__(self, node: Node, away_s: float) -> None:
        super().__init__(node.address)
        self._away_s = away_s
        self._back_at = 0.0

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        await super().send_encoded(payload, replies, required_replicas=required_replicas)
        self._back_at = asyncio.get_running_loop().time() + self._away_s
        raise StoreUnavailable("the reply was lost")

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        if asyncio.get_running_loop().time() < self._back_at:
            raise StoreUnavailable("nobody answers")
        return await super().execute_all(commands)


@pytest.mark.parametrize(("away_s", "is_left"), [(0.1, False), (60, True)])
async def test_home_timelines_of_a_lost_push_are_deleted_when_the_server_answers_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, away_s: float, is_left: bool
) -> None:
    """The wait is limited: the push raises an error, and its job is repeated."""
    monkeypatch.setattr(cached_pushing, "INVALIDATE_WAIT_S", 0.02)
    home = store.node(keys.home_timeline(ALICE))
    node = Unreachable(home if home in store.nodes else store.nodes[0], away_s)
    await fill(store, ALICE, 1)
    with pytest.raises(StoreUnavailable, match="lost"):
        await CachedTimelines(Store(SingleNodeTopology(node)), FixedClock(NOW_MS), KIND).push([ALICE], at(0))
    assert bool(await elements(store)) == is_left
    await node.close()
