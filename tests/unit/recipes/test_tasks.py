"""Coroutines that run at the same time."""

import asyncio

import pytest

from socialsite.concurrency import run_all_to_end, run_together


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
