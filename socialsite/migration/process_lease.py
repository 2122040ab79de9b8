"""The lease of a process. The migrator knows all processes with a lease, and they must follow the placement map.

A process without a lease opens no new connections for writes (connection_gate.py). The migrator kills the connections
of a process whose lease expired before it continues. So an unavailable store stops no other store, and no process
uses an outdated map.

If the registry's server refuses the lease because it refuses all writes, the record is read instead. If that server
does not answer, the fence on the server of the new connection is read: the epoch of the last migration to or from that
server. Reads are allowed if the record or fence shows that the map of the process is the last one and has no migration.
"""

import asyncio
import contextlib
import secrets

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.migration.placement_map import EMPTY_PLACEMENT_MAP, PlacementMap, fence_key
from socialsite.migration.placement_registry import LEASE_MS, LeaseRenewal, PlacementRegistry
from socialsite.migration.topology_switcher import TopologyFactory
from socialsite.store.commands import encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import ReadOnlyServer, StoreError, StoreUnavailable, WritesRefused
from socialsite.store.store import Topology

LEASE_VALID_S = LEASE_MS / 1000 - 1.0
"""The validity of the lease in this process. It is shorter than on the server, so that it expires here first."""
RELEASE_TIMEOUT_S = 0.5
MAX_SUSPENSION_S = 20.0
LEASE_RELEASED_MESSAGE = "the lease was given back: the store was closed, or its map went elsewhere"


class ProcessLease:
    """The lease of one process in the registry of one store. Each Store object has its own process id."""

    def __init__(self, home_url: str, create_topology: TopologyFactory, process_id: str = "") -> None:
        self.process_id = process_id or secrets.token_hex(8)
        self.home_url = home_url
        self.known_map: PlacementMap = EMPTY_PLACEMENT_MAP
        self.followed_epoch = 0
        self.has_migrator = False
        self.gate: ConnectionGate | None = None
        """The gate of the active topology. It is closed if the lease expired while the map changed."""
        self._create_topology = create_topology
        self._topology: Topology | None = None
        self._valid_until = float("-inf")
        self._is_new = True
        self._refusal: WritesRefused | None = None
        """The error with which the server refused the last renewal, if the record could be read."""
        self._renew_task: asyncio.Task[WritesRefused | None] | None = None
        self._suspended_until: float | None = None
        self._is_released = False

    def suspend(self) -> None:
        """Stop the renewals until the migrator has killed our connections, at most for MAX_SUSPENSION_S."""
        if self._suspended_until is None:
            self._suspended_until = asyncio.get_running_loop().time() + MAX_SUSPENSION_S
            self._valid_until = float("-inf")

    async def acquire(self) -> None:
        """Acquire the lease. If the store is unavailable, the first connection tries again.

        Raises ReadOnlyServer if the configured server is a replica.
        """
        with contextlib.suppress(StoreUnavailable):
            await self.renew()
        if isinstance(self._refusal, ReadOnlyServer):
            raise self._refusal

    async def require_held(self) -> None:
        """Renew the lease unless it is valid. Raises StoreUnavailable."""
        if not self.is_held:
            await self.renew()
        if not self.is_held:
            raise self._refusal or StoreUnavailable("the lease of this process has expired: try again")

    async def may_read(self, connection: PipelinedConnection) -> bool:
        """Return whether the known map is certainly valid for the server of a new connection."""
        known_map = self.known_map
        if self._is_new or self._is_released or known_map.migration is not None or known_map.forwarded_to:
            return False
        if self._refusal is not None:  # the record was read
            return True
        (fence,) = await connection.send(encode(("GET", fence_key())), 1)
        return not isinstance(fence, StoreError) and int(fence or 0) <= known_map.epoch

    async def renew(self) -> None:
        """Renew the lease, or read the map if the server refuses writes. Raises StoreUnavailable.

        Concurrent callers share one renewal.
        """
        if self._renew_task is None or self._renew_task.done():
            self._renew_task = asyncio.create_task(self._renew())
            self._renew_task.add_done_callback(self._store_refusal)
        try:
            await asyncio.shield(self._renew_task)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._is_released and task is not None and not task.cancelling():
                # `release` cancelled the renewal, not the caller.
                raise StoreUnavailable(LEASE_RELEASED_MESSAGE) from None
            raise

    async def registry(self) -> PlacementRegistry:
        """Return the registry; open its connection if necessary. Raises StoreUnavailable."""
        if self._is_released:
            raise StoreUnavailable(LEASE_RELEASED_MESSAGE)
        if self._topology is None:
            topology = await asyncio.to_thread(self._create_topology, self.home_url)
            try:
                await topology.open()
            except BaseException:
                await topology.close()
                raise
            self._topology = topology
        return PlacementRegistry(self._topology)

    async def release(self) -> None:
        """Remove this process from the registry. Further calls raise StoreUnavailable."""
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

    async def _renew(self) -> WritesRefused | None:
        """Return None after a renewal, or the refusal if the record could be read."""
        refusal = None
        registry = await self.registry()
        await self._require_not_suspended(registry)
        sent_at = asyncio.get_running_loop().time()
        try:
            renewal = await registry.renew_lease(
                self.process_id, followed_epoch=self.followed_epoch, known_epoch=self.known_map.epoch
            )
        except WritesRefused as error:
            renewal, refusal = await self._read_record(registry, error), error
        if renewal.epoch < self.known_map.epoch:
            raise StoreUnavailable("the map of the store was lost: restore its data, then restart the site")
        is_behind = renewal.placement_map is not None or self.followed_epoch != self.known_map.epoch
        if is_behind and not renewal.had_lease and not self._is_new and self.gate is not None:
            self.gate.close()  # the migrator assumes that this process sends no command of an older map
        if renewal.placement_map is not None:
            self.known_map = renewal.placement_map
        self._is_new, self._suspended_until = False, None
        self.has_migrator = renewal.has_migrator
        if refusal is None:
            self._valid_until = sent_at + LEASE_VALID_S
        return refusal

    def _store_refusal(self, task: "asyncio.Task[WritesRefused | None]") -> None:
        """Store the result of a renewal, before its callers continue. This also retrieves its exception."""
        self._refusal = None if task.cancelled() or task.exception() else task.result()

    async def _read_record(self, registry: PlacementRegistry, refusal: WritesRefused) -> LeaseRenewal:
        """Read the map without a lease. Raises the refusal if a migration is in progress."""
        placement_map = await registry.read_map()
        if placement_map.migration is not None:
            raise refusal
        is_new_map = placement_map.epoch != self.known_map.epoch
        return LeaseRenewal(placement_map.epoch, placement_map if is_new_map else None, False, False)

    @property
    def is_held(self) -> bool:
        return asyncio.get_running_loop().time() < self._valid_until

    async def _require_not_suspended(self, registry: PlacementRegistry) -> None:
        """Raise StoreUnavailable while the lease is suspended and the migrator has not removed this process."""
        now = asyncio.get_running_loop().time()
        if (
            self._suspended_until is not None
            and now < self._suspended_until
            and await registry.has_process(self.process_id)
        ):
            raise StoreUnavailable("a reply was lost: this process waits until the migrator closes its connections")
