"""The lease of a process on the map: whoever holds it is known to the mover, and has to follow.

A process without a lease makes no new connections (guard.py); those it has, the mover cuts before it relies
on anything. So a store that is away takes nothing else with it, and a stale map can never be used.
"""

import asyncio
import contextlib
import secrets

from socialsite.migration.connection_gate import Guard
from socialsite.migration.placement_registry import LEASE_MS, Board
from socialsite.migration.record import NOTHING, Placement
from socialsite.migration.topology_switcher import TopologyOf
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.store import Topology

VALID_S = LEASE_MS / 1000 - 1.0
"""By the process's own clock: it ends before the server's view of it does."""
LEAVE_WITHIN_S = 0.5
MOST_AWAY_S = 20.0
LEFT = "the lease was given back: the store was closed, or its map went elsewhere"


class Lease:
    """On the board of one store, of one process (a name for the time of its store)."""

    def __init__(self, home: str, topology_of: TopologyOf, process: str = "") -> None:
        self.process = process or secrets.token_hex(8)
        self.home = home
        self.known: Placement = NOTHING
        self.seen = 0
        self.has_mover = False
        self.guard: Guard | None = None
        """Of the arrangement in use: it is closed where the lease lapsed while the map changed."""
        self._topology_of = topology_of
        self._place: Topology | None = None
        self._valid_until = float("-inf")
        self._is_new = True
        self._renewing: asyncio.Task[None] | None = None
        self._away_until: float | None = None
        self._has_left = False

    def let_end(self) -> None:
        """Be cut off by the mover: not renewed until it has done so, or for MOST_AWAY_S."""
        if self._away_until is None:
            self._away_until = asyncio.get_running_loop().time() + MOST_AWAY_S
            self._valid_until = float("-inf")

    async def take(self) -> None:
        """The first renewal. A store that is away is no hindrance: the first connection will ask again."""
        with contextlib.suppress(StoreUnavailable):
            await self.require()

    async def require(self) -> None:
        """Returns where the lease holds; asks for it where it does not. Raises StoreUnavailable."""
        if asyncio.get_running_loop().time() >= self._valid_until:
            await self.renew()

    async def renew(self) -> None:
        """Callers that come together share one renewal. Raises StoreUnavailable."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())
            self._renewing.add_done_callback(_looked_at)
        try:
            await asyncio.shield(self._renewing)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._has_left and task is not None and not task.cancelling():
                raise StoreUnavailable(LEFT) from None  # `leave` ended the renewal, not who waits for it
            raise

    async def board(self) -> Board:
        """The board, its own connection opened where it is not yet."""
        if self._has_left:
            raise StoreUnavailable(LEFT)
        if self._place is None:
            place = await asyncio.to_thread(self._topology_of, self.home)
            try:
                await place.open()
            except BaseException:
                await place.close()
                raise
            self._place = place
        return Board(self._place)

    async def leave(self) -> None:
        """Nobody has to wait for this process any more. For ever: what is asked of it now is refused."""
        self._has_left = True
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if self._place is not None:
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(LEAVE_WITHIN_S):
                    await Board(self._place).leave(self.process)
            await self._place.close()
            self._place = None

    async def _renew(self) -> None:
        board = await self.board()
        await self._stay_away(board)
        asked_at = asyncio.get_running_loop().time()
        held = await board.hold(self.process, seen=self.seen, known=self.known.epoch)
        if held.epoch < self.known.epoch:
            raise StoreUnavailable("the map of the store was lost: restore its data, then restart the site")
        behind = held.record is not None or self.seen != self.known.epoch
        if behind and not held.had_lease and not self._is_new and self.guard is not None:
            self.guard.close()  # the mover may rely on it that nothing of an older map is sent any more
        if held.record is not None:
            self.known = held.record
        self._is_new, self._away_until = False, None
        self.has_mover = held.has_mover
        self._valid_until = asked_at + VALID_S

    async def _stay_away(self, board: Board) -> None:
        """Raises StoreUnavailable while the mover has not cut us off as we asked (`let_end`)."""
        now = asyncio.get_running_loop().time()
        if self._away_until is not None and now < self._away_until and await board.lists(self.process):
            raise StoreUnavailable("this process waits to be cut off, because an answer was lost")


def _looked_at(task: "asyncio.Task[None]") -> None:
    """A renewal nobody waited for may fail; the next one who needs it is told."""
    if not task.cancelled():
        task.exception()
