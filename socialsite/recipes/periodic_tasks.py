"""Periodic work of several workers. One worker performs each task once per interval, and tasks do not overlap.

Every worker runs the same tasks. A worker claims an interval by SET NX PX and performs the task under a lock.
Neither is guaranteed: a task may run twice in an interval (a server lost the claim) or not at all (its worker
died). The next interval follows in any case.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from socialsite.recipes.lock import Lock, LockLost, LockNotAcquired
from socialsite.recipes.task_supervisor import TaskSupervisor
from socialsite.store import Store, StoreError, load_script
from socialsite.store.key_families import TEMPORARY, key_by_word

CLAIM = load_script("claim_turn.lua", __package__)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """Work performed every `interval_s` seconds, for at most `timeout_s`. `name` is a fixed word."""

    name: str
    interval_s: float
    work: Callable[[], Awaitable[object]]
    timeout_s: float = 60.0

    def next_delay_s(self) -> float:
        """Return the delay before the next try. It is 90 to 100 % of the interval, which spreads the workers."""
        return self.interval_s * random.uniform(0.9, 1.0)  # noqa: S311 - no secret


claim_key = key_by_word("jobs:{<kind>}:turn", "string",
    "this interval of a periodic task is claimed, so its task is done or running", role=TEMPORARY,
    lifetime="90% of the interval, so that a slow clock misses no interval")  # fmt: skip


class PeriodicTasks:
    """Performs the tasks repeatedly from `start` until `close`."""

    def __init__(self, store: Store, tasks: Sequence[PeriodicTask]) -> None:
        self._store = store
        self._tasks = tuple(tasks)
        self._supervisor = TaskSupervisor()

    def start(self) -> None:
        for task in self._tasks:
            self._supervisor.start(partial(self._repeat, task))

    async def close(self) -> None:
        await self._supervisor.close()

    async def run_if_due(self, task: PeriodicTask) -> bool:
        """Perform the task. Return False if another worker performs it now or has performed it in this interval.

        Raises StoreError, LockLost.
        """
        try:
            async with Lock(self._store, task.name).hold(timeout_s=task.timeout_s):
                key = claim_key(task.name)
                ttl_ms = max(1, int(task.interval_s * 900))
                if await self._store.node(key).execute(*CLAIM.command([key], [ttl_ms])) is None:
                    return False
                await task.work()
                return True
        except LockNotAcquired:
            return False

    async def _repeat(self, task: PeriodicTask) -> None:
        while True:
            await asyncio.sleep(task.next_delay_s())
            try:
                await self.run_if_due(task)
            except (StoreError, LockLost) as error:
                log.warning("%s waits for its next turn: %s", task.name, error)
