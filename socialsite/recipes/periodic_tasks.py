"""Cron-like work of a fleet of workers: each piece once a period, by whoever comes first, not by two at once.

Every worker runs the same schedule. A turn is claimed by SET NX PX, the work runs under a lock. Neither is
relied upon: a turn may be done twice (its claim was lost with a server) or not at all (its worker died), and
the next period comes anyway.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from socialsite.recipes.lock import Lock, LockLost, LockNotAcquired
from socialsite.recipes.task_supervisor import TaskSupervisor
from socialsite.store import Key, Store, StoreError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """Work done every `every_s` seconds, for at most `timeout_s`. `name` is a fixed word."""

    name: str
    interval_s: float
    work: Callable[[], Awaitable[object]]
    timeout_s: float = 60.0

    def next_delay_s(self) -> float:
        """Until the next try: at random a little less than a period, which spreads the workers."""
        return self.interval_s * random.uniform(0.9, 1.0)  # noqa: S311 - no secret


def claim_key(name: str) -> Key:
    """STRING: this period's turn is claimed; lives 90% of the period, so that a slow clock misses none."""
    return Key("jobs", tag=name, name="turn")


class PeriodicTasks:
    """Runs its turns until it is closed; `run_if_due` is one try of one of them."""

    def __init__(self, store: Store, turns: Sequence[PeriodicTask]) -> None:
        self._store = store
        self._periodic_tasks = tuple(turns)
        self._supervisor = TaskSupervisor()

    def start(self) -> None:
        for turn in self._periodic_tasks:
            self._supervisor.start(partial(self._repeat, turn))

    async def close(self) -> None:
        await self._supervisor.close()

    async def run_if_due(self, turn: PeriodicTask) -> bool:
        """Do the work unless somebody does it now, or did it this period. Raises StoreError, LockLost."""
        try:
            async with Lock(self._store, turn.name).hold(timeout_s=turn.timeout_s):
                key = claim_key(turn.name)
                life_ms = max(1, int(turn.interval_s * 900))
                if await self._store.node(key).execute("SET", key, 1, "NX", "PX", life_ms) is None:
                    return False
                await turn.work()
                return True
        except LockNotAcquired:
            return False

    async def _repeat(self, turn: PeriodicTask) -> None:
        while True:
            await asyncio.sleep(turn.next_delay_s())
            try:
                await self.run_if_due(turn)
            except (StoreError, LockLost) as error:
                log.warning("%s waits for its next turn: %s", turn.name, error)
