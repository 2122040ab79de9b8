"""Background tasks that must keep running. A task that crashes is logged and started again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from socialsite.store import StoreError

TaskFactory = Callable[[], Coroutine[None, None, None]]
RESTART_DELAY_S = 0.1

log = logging.getLogger(__name__)


class TaskSupervisor:
    """Runs tasks until `close`. A task that raises is started again. A task that returns is finished."""

    def __init__(self, on_crash: Callable[[], None] | None = None) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_crash = on_crash

    def start(self, work: TaskFactory) -> None:
        self._run(work, work())

    def repeat(
        self, interval_s: float, work: Callable[[], Awaitable[object]], failure: str = "a repeated task failed"
    ) -> None:
        """Await `work` after every interval. A StoreError is logged as `failure`, and the next interval tries again."""

        async def repeat() -> None:
            while True:
                await asyncio.sleep(interval_s)
                try:
                    await work()
                except StoreError as error:
                    log.warning("%s: %s", failure, error)

        self.start(repeat)

    async def close(self) -> None:
        tasks, self._tasks = self._tasks, set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _run(self, work: TaskFactory, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._restart(ended, work))

    def _restart(self, ended: asyncio.Task[None], work: TaskFactory) -> None:
        if ended not in self._tasks or ended.cancelled():
            return
        self._tasks.discard(ended)
        if ended.exception() is None:
            return
        log.error("a background task failed and is started again", exc_info=ended.exception())
        if self._on_crash is not None:
            self._on_crash()
        self._run(work, _run_after_delay(work))


async def _run_after_delay(work: TaskFactory) -> None:
    await asyncio.sleep(RESTART_DELAY_S)
    await work()
