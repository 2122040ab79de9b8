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

from socialsite.recipes.lock import Lock, Locked, LockLost
from socialsite.recipes.task_supervisor import Upkeep
from socialsite.store import Key, Store, StoreError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """Work done every `every_s` seconds, for at most `at_most_s`. `name` is a fixed word."""

    name: str
    every_s: float
    work: Callable[[], Awaitable[object]]
    at_most_s: float = 60.0

    def pause_s(self) -> float:
        """Until the next try: at random a little less than a period, which spreads the workers."""
        return self.every_s * random.uniform(0.9, 1.0)  # noqa: S311 - no secret


def turn_key(name: str) -> Key:
    """STRING: this period's turn is claimed; lives 90% of the period, so that a slow clock misses none."""
    return Key("jobs", tag=name, name="turn")


class Schedule:
    """Runs its turns until it is closed; `do_if_due` is one try of one of them."""

    def __init__(self, store: Store, turns: Sequence[Turn]) -> None:
        self._store = store
        self._turns = tuple(turns)
        self._upkeep = Upkeep()

    def start(self) -> None:
        for turn in self._turns:
            self._upkeep.start(partial(self._repeat, turn))

    async def close(self) -> None:
        await self._upkeep.close()

    async def do_if_due(self, turn: Turn) -> bool:
        """Do the work unless somebody does it now, or did it this period. Raises StoreError, LockLost."""
        try:
            async with Lock(self._store, turn.name).hold(at_most_s=turn.at_most_s):
                key = turn_key(turn.name)
                life_ms = max(1, int(turn.every_s * 900))
                if await self._store.node(key).execute("SET", key, 1, "NX", "PX", life_ms) is None:
                    return False
                await turn.work()
                return True
        except Locked:
            return False

    async def _repeat(self, turn: Turn) -> None:
        while True:
            await asyncio.sleep(turn.pause_s())
            try:
                await self.do_if_due(turn)
            except (StoreError, LockLost) as error:
                log.warning("%s waits for its next turn: %s", turn.name, error)
