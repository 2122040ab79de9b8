"""Moving a site: a mover that was killed anywhere is gone on with or undone; some moves are refused."""

import asyncio

import pytest

from socialsite.migration import commands as operation
from socialsite.migration.errors import MoveRefused
from socialsite.migration.placement_registry import Board
from socialsite.migration.store_pool import Lock
from socialsite.store import StoreUnavailable
from socialsite.store.factory import topology_of
from tests.support.moving_town import Town, life_goes_on, names_at
from tests.support.redis_server import RedisServer
from tests.support.repartition import DIED, move, mover_killed_at, site_at

STEPS = ("begun", "frozen", "copied", "turned", "moved", "deleted", "swept", "handed over", "forwarded")


@pytest.mark.parametrize("step", STEPS)
async def test_a_mover_killed_at_any_step_is_gone_on_with(
    town: Town, old: str, new: str, old_server: RedisServer, step: str
) -> None:
    async with life_goes_on(town):
        assert await asyncio.to_thread(mover_killed_at, step, old, new) == DIED
        await operation.resume(site_at(old))
    assert not town.refused
    assert names_at(old_server) == set()
    await town.check()


@pytest.mark.parametrize("step", ["frozen", "turned", "deleted"])
async def test_what_an_interrupted_move_has_moved_is_brought_back(
    town: Town, old: str, new: str, new_server: RedisServer, step: str
) -> None:
    async with life_goes_on(town):
        assert await asyncio.to_thread(mover_killed_at, step, old, new) == DIED
        await operation.back(site_at(old))
    assert not town.refused
    assert names_at(new_server) == set()
    await town.check()


async def test_a_slice_whose_mover_died_is_given_back_in_time_for_its_writers(
    town: Town, old: str, new: str
) -> None:
    """Nobody has to come: the processes of the site thaw it themselves."""
    async with life_goes_on(town):
        assert await asyncio.to_thread(mover_killed_at, "frozen", old, new) == DIED
        await asyncio.sleep(4)
    assert not town.refused
    await town.check()


async def test_two_movers_never_work_at_once(town: Town, old: str, new: str) -> None:
    place = topology_of(old)
    lock = Lock(Board(place), "feed")
    await lock.take()
    with pytest.raises(MoveRefused, match="at work"):
        await move(old, new)
    await lock.release()
    await place.close()


# Refused


async def epoch_at(url: str) -> int:
    place = topology_of(url)
    try:
        return (await Board(place).read()).epoch
    finally:
        await place.close()


async def test_a_target_that_holds_data_already_is_refused(
    town: Town, old: str, new: str, new_server: RedisServer
) -> None:
    new_server.client().set("posts:{1}:post", "somebody's")
    with pytest.raises(MoveRefused, match="holds data"):
        await move(old, new)
    assert await epoch_at(old) == 0


async def test_a_store_is_not_moved_to_itself(town: Town, old: str) -> None:
    with pytest.raises(MoveRefused, match="stands there already"):
        await move(old, old.replace("?db=0", ""))


async def test_there_is_nothing_to_resume_where_nothing_moves(old: str) -> None:
    with pytest.raises(MoveRefused, match="no move is under way"):
        await operation.resume(site_at(old))
    with pytest.raises(MoveRefused, match="no move is under way"):
        await operation.back(site_at(old))


async def test_a_move_under_way_is_finished_before_another_begins(town: Town, old: str, new: str) -> None:
    assert await asyncio.to_thread(mover_killed_at, "begun", old, new) == DIED
    with pytest.raises(MoveRefused, match="--resume"):
        await move(old, new)


async def test_a_target_that_nobody_reaches_is_refused_before_anything_changes(town: Town, old: str) -> None:
    with pytest.raises(StoreUnavailable):
        await move(old, "redis://127.0.0.1:1/0")
    assert await epoch_at(old) == 0
