"""SharedTask: one running task for several callers."""

import asyncio
import logging
from contextvars import ContextVar

import pytest

from socialsite.store import StoreUnavailable
from socialsite.store.shared_task import SharedTask


class Work:
    """A callable that counts its runs.

    Each run waits until `finish` is set, then raises `error` if it is set.
    """

    def __init__(self, error: Exception | None = None) -> None:
        self.runs = 0
        self.finish = asyncio.Event()
        self.error = error

    async def run(self) -> None:
        self.runs += 1
        await self.finish.wait()
        if self.error is not None:
            raise self.error


async def test_a_run_does_not_see_the_context_of_its_first_caller() -> None:
    request_id = ContextVar("request_id", default="")
    seen: list[str] = []

    async def work() -> None:
        seen.append(request_id.get())

    request_id.set("of a visitor")
    await SharedTask(work).join()
    assert seen == [""]


async def test_callers_share_one_run() -> None:
    work = Work()
    task = SharedTask(work.run)
    callers = [asyncio.create_task(task.join()) for _ in range(3)]
    await asyncio.sleep(0)
    work.finish.set()
    await asyncio.gather(*callers)
    assert work.runs == 1
    await task.join()
    assert work.runs == 2


async def test_a_cancelled_caller_does_not_cancel_the_run() -> None:
    work = Work()
    task = SharedTask(work.run)
    cancelled, patient = asyncio.create_task(task.join()), asyncio.create_task(task.join())
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.sleep(0)
    work.finish.set()
    await patient
    assert cancelled.cancelled()
    assert work.runs == 1


async def test_a_caller_gets_the_error_of_the_run() -> None:
    work = Work(StoreUnavailable("no answer"))
    work.finish.set()
    with pytest.raises(StoreUnavailable):
        await SharedTask(work.run).join()


@pytest.mark.parametrize(("error", "events"), [(StoreUnavailable("no answer"), 0), (KeyError("a bug"), 1)])
async def test_an_unexpected_error_without_a_caller_is_logged(
    error: Exception, events: int, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work(error)
    work.finish.set()
    with caplog.at_level(logging.ERROR):
        await asyncio.wait([SharedTask(work.run).start()])
        await asyncio.sleep(0)
    assert len(caplog.records) == events


async def test_cancel_ends_the_run() -> None:
    task = SharedTask(Work().run)
    running = task.start()
    await asyncio.sleep(0)
    await task.cancel()
    assert running.cancelled()
