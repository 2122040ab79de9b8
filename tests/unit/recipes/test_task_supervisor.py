"""The supervisor restarts crashed tasks, each time after the same pause."""

import asyncio
from itertools import pairwise

from socialsite.recipes.task_supervisor import RESTART_DELAY_S, TaskSupervisor


async def test_a_crashed_task_is_restarted_after_the_same_pause_each_time() -> None:
    loop, begun, stumbles = asyncio.get_running_loop(), list[float](), list[int]()

    async def stumbling() -> None:
        begun.append(loop.time())
        if len(begun) == 5:
            return
        raise RuntimeError("a defect")

    upkeep = TaskSupervisor(on_crash=lambda: stumbles.append(1))
    upkeep.start(stumbling)
    async with asyncio.timeout(30):
        while len(begun) < 5:  # noqa: ASYNC110 - nothing tells of a beginning
            await asyncio.sleep(RESTART_DELAY_S / 10)
    await upkeep.close()
    assert len(stumbles) == 4
    pauses = [after - before for before, after in pairwise(begun)]
    assert min(pauses) >= 0.9 * RESTART_DELAY_S
    assert min(pauses[2:]) < 2.5 * RESTART_DELAY_S


async def test_a_task_that_returns_or_is_closed_is_not_restarted() -> None:
    begun = list[str]()

    async def returns() -> None:
        begun.append("returns")

    async def waits() -> None:
        begun.append("waits")
        await asyncio.sleep(60)

    upkeep = TaskSupervisor()
    upkeep.start(returns)
    upkeep.start(waits)
    await asyncio.sleep(2 * RESTART_DELAY_S)
    await upkeep.close()
    await asyncio.sleep(2 * RESTART_DELAY_S)
    assert sorted(begun) == ["returns", "waits"]


async def test_close_cancels_tasks_and_waits_for_their_cleanup() -> None:
    ended = list[str]()

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append("put away")

    upkeep = TaskSupervisor()
    upkeep.start(waits)
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await upkeep.close()
    assert ended == ["put away"]


async def test_a_task_that_crashes_during_close_is_not_restarted() -> None:
    begun = list[str]()

    async def trips() -> None:
        begun.append("trips")
        try:
            await asyncio.sleep(60)
        finally:
            raise RuntimeError("a defect on the way out")

    upkeep = TaskSupervisor()
    upkeep.start(trips)
    await asyncio.sleep(0)
    await upkeep.close()
    await asyncio.sleep(2 * RESTART_DELAY_S)
    assert begun == ["trips"]
