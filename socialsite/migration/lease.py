"""The lease of a process on the map: whoever holds it is known to the mover, and has to follow.

A process without a lease makes no new connections (guard.py); those it has, the mover cuts before it relies
on anything. So a store that is away takes nothing else with it, and a stale map can never be used.
"""

import asyncio
import contextlib
import secrets

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.migration.placement_registry import LEASE_MS, PlacementRegistry
from socialsite.migration.record import EMPTY_PLACEMENT_MAP, PlacementMap
from socialsite.migration.topology_switcher import TopologyFactory
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.store import Topology

LEASE_VALID_S = LEASE_MS / 1000 - 1.0
"""By the process's own clock: it ends before the server's view of it does."""
RELEASE_TIMEOUT_S = 0.5
MAX_SUSPENSION_S = 20.0
LEASE_RELEASED_MESSAGE = "the lease was given back: the store was closed, or its map went elsewhere"


class ProcessLease:
    """On the board of one store, of one process (a name for the time of its store)."""

    def __init__(self, home: str, topology_of: TopologyFactory, process: str = "") -> None:
        self.process_id = process or secrets.token_hex(8)
        self.home_url = home
        self.known_map: PlacementMap = EMPTY_PLACEMENT_MAP
        self.followed_epoch = 0
        self.has_migrator = False
        self.gate: ConnectionGate | None = None
        """Of the arrangement in use: it is closed where the lease lapsed while the map changed."""
        self._create_topology = topology_of
        self._topology: Topology | None = None
        self._valid_until = float("-inf")
        self._is_new = True
        self._renew_task: asyncio.Task[None] | None = None
        self._suspended_until: float | None = None
        self._is_released = False

    def suspend(self) -> None:
        """Be cut off by the mover: not renewed until it has done so, or for MAX_SUSPENSION_S."""
        if self._suspended_until is None:
            self._suspended_until = asyncio.get_running_loop().time() + MAX_SUSPENSION_S
            self._valid_until = float("-inf")

    async def acquire(self) -> None:
        """The first renewal. A store that is away is no hindrance: the first connection will ask again."""
        with contextlib.suppress(StoreUnavailable):
            await self.require_held()

    async def require_held(self) -> None:
        """Returns where the lease holds; asks for it where it does not. Raises StoreUnavailable."""
        if asyncio.get_running_loop().time() >= self._valid_until:
            await self.renew()

    async def renew(self) -> None:
        """Callers that come together share one renewal. Raises StoreUnavailable."""
        if self._renew_task is None or self._renew_task.done():
            self._renew_task = asyncio.create_task(self._renew())
            self._renew_task.add_done_callback(_ignore_exception)
        try:
            await asyncio.shield(self._renew_task)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._is_released and task is not None and not task.cancelling():
                raise StoreUnavailable(
                    LEASE_RELEASED_MESSAGE
                ) from None  # `leave` ended the renewal, not who waits for it
            raise

    async def registry(self) -> PlacementRegistry:
        """The board, its own connection opened where it is not yet."""
        if self._is_released:
            raise StoreUnavailable(LEASE_RELEASED_MESSAGE)
        if self._topology is None:
            place = await asyncio.to_thread(self._create_topology, self.home_url)
            try:
                await place.open()
            except BaseException:
                await place.close()
                raise
            self._topology = place
        return PlacementRegistry(self._topology)

    async def release(self) -> None:
        """Nobody has to wait for this process any more. For ever: what is asked of it now is refused."""
        self._is_released = True
        if self._renew_task is not None:
            self._renew_task.cancel()
            await asyncio.gather(self._renew_task, return_exceptions=True)
        if self._topology is not None:
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(RELEASE_TIMEOUT_S):
                    await PlacementRegistry(self._topology).remove_processes(self.process_id)
            await self._topology.close()
            self._topology = None

    async def _renew(self) -> None:
        board = await self.registry()
        await self._require_not_suspended(board)
        asked_at = asyncio.get_running_loop().time()
        held = await board.renew_lease(
            self.process_id, followed_epoch=self.followed_epoch, known_epoch=self.known_map.epoch
        )
        if held.epoch < self.known_map.epoch:
            raise StoreUnavailable("the map of the store was lost: restore its data, then restart the site")
        behind = held.placement_map is not None or self.followed_epoch != self.known_map.epoch
        if behind and not held.had_lease and not self._is_new and self.gate is not None:
            self.gate.close()  # the mover may rely on it that nothing of an older map is sent any more
        if held.placement_map is not None:
            self.known_map = held.placement_map
        self._is_new, self._suspended_until = False, None
        self.has_migrator = held.has_migrator
        self._valid_until = asked_at + LEASE_VALID_S

    async def _require_not_suspended(self, board: PlacementRegistry) -> None:
        """Raises StoreUnavailable while the mover has not cut us off as we asked (`suspend`)."""
        now = asyncio.get_running_loop().time()
        if (
            self._suspended_until is not None
            and now < self._suspended_until
            and await board.has_process(self.process_id)
        ):
            raise StoreUnavailable("this process waits to be cut off, because an answer was lost")


def _ignore_exception(task: "asyncio.Task[None]") -> None:
    """A renewal nobody waited for may fail; the next one who needs it is told."""
    if not task.cancelled():
        task.exception()
