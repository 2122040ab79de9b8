"""Tasks with an owner, and supervised tasks."""

import asyncio
from itertools import pairwise

import pytest

from socialsite.concurrency import run_all_to_end, run_together
from socialsite.recipes.task_supervisor import RESTART_DELAY_S, TaskSupervisor
from socialsite.store import StoreUnavailable


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
        while len(begun) < 5:  # noqa: ASYNC110 - a begin sends no signal
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


async def test_a_repeated_task_goes_on_after_an_error_of_the_store_which_the_log_names(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = list[int]()

    async def fails() -> None:
        begun.append(1)
        raise StoreUnavailable("the server is away")

    upkeep = TaskSupervisor()
    upkeep.repeat(0.001, fails)
    async with asyncio.timeout(10):
        while len(begun) < 2:  # noqa: ASYNC110 - a begin sends no signal
            await asyncio.sleep(0.001)
    await upkeep.close()
    assert caplog.messages[0] == "a repeated task failed: the server is away"


async def wait_for_ever(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        ended.append("cancelled")


async def fail() -> None:
    await asyncio.sleep(0)
    try:
        raise KeyError("the cause")
    except KeyError as cause:
        raise ConnectionError from cause


async def answer(value: str) -> str:
    return value


async def test_results_keep_the_order_of_the_arguments() -> None:
    assert await run_together(asyncio.sleep(0.01, "slow"), answer("fast")) == ["slow", "fast"]


async def test_the_first_error_ends_the_other_coroutines_before_it_is_raised() -> None:
    ended: list[str] = []
    with pytest.raises(ConnectionError) as raised:
        await run_together(wait_for_ever(ended), fail())
    assert ended == ["cancelled"]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert isinstance(raised.value.__cause__, KeyError)


async def test_an_error_of_a_nested_call_is_raised_without_a_group() -> None:
    with pytest.raises(ConnectionError):
        await run_together(answer("one"), run_together(answer("two"), fail()))


async def test_a_cancelled_caller_cancels_its_coroutines() -> None:
    ended: list[str] = []
    task = asyncio.create_task(run_together(wait_for_ever(ended), wait_for_ever(ended)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cancelled", "cancelled"]


async def test_run_all_to_end_waits_for_all_even_if_the_work_fails() -> None:
    done: list[str] = []

    async def work(fails: bool) -> str:
        if fails:
            raise ConnectionError
        return "answer"

    async def other() -> None:
        await asyncio.sleep(0)
        done.append("other")

    assert await run_all_to_end(work(False), other()) == "answer"
    with pytest.raises(ConnectionError):
        await run_all_to_end(work(True), other())
    assert done == ["other", "other"]
