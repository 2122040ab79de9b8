"""Follow the placement map in a process: renew the lease, apply every change of the map, and report it.

Without a migration, the only cost of this package is one small script twice a second on a separate connection. During
a migration the follower waits for changes, so that a step of the migrator takes milliseconds.
"""

import asyncio
import contextlib
import logging

from socialsite.migration.migration_router import InFlight
from socialsite.migration.placement_map import EMPTY_PLACEMENT_MAP, READS_SWITCHED, WRITES_BLOCKED, PlacementMap
from socialsite.migration.process_lease import ProcessLease
from socialsite.migration.topology_switcher import TopologyFactory, TopologySwitcher
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.store import Store, Topology

LEASE_RENEWAL_INTERVAL_S = 0.5
CHANGE_WAIT_MS = 300
RETRY_DELAY_S = 0.1
MAX_FORWARDS = 8

log = logging.getLogger(__name__)


class MigrationFollower:
    """Follows the map for one store.

    Call `acquire_lease` before the topologies are opened, `start_following` afterwards, and `close` at the end.
    """

    def __init__(self, home_url: str, create_topology: TopologyFactory) -> None:
        self.lease = ProcessLease(home_url, create_topology)
        self._create_topology = create_topology
        self._switcher = TopologySwitcher(self.lease.process_id, create_topology, self._require_lease, self._may_read)
        self._store: Store | None = None
        self._in_flight: list[InFlight] = []
        self._changed_slices: set[int] = set()
        self._state_changes = 0
        self._applied_epoch = 0
        self._written_keys: set[str] = set()
        self._wake = asyncio.Event()
        self._renew_task: asyncio.Task[None] | None = None
        self._follow_task: asyncio.Task[None] | None = None
        self._watch_task: asyncio.Task[None] | None = None

    async def acquire_lease(self, topologies: list[Topology]) -> None:
        """Set the gate of these topologies and acquire the lease of this process.

        Call this before their first connection.
        """
        for topology in topologies:
            self._switcher.set_first_gate(topology)
        self.lease.gate = self._switcher.active.gate
        await self.lease.acquire()

    async def start_following(self, store: Store, component_urls: dict[str, str]) -> None:
        """Switch the store to the topologies of the map, now and whenever the map changes. Raises StoreError."""
        self._store = store
        self._switcher.set_store(store, self.lease.home_url, component_urls)
        if self.lease.known_map is not EMPTY_PLACEMENT_MAP:
            await self._follow_map()
        self._renew_task = asyncio.create_task(self._renew_forever())

    @property
    def migration_state(self) -> tuple[int, bool]:
        """The epoch of the map, and whether a migration is in progress."""
        return self.lease.known_map.epoch, self.lease.known_map.migration is not None

    async def close(self) -> None:
        tasks = [task for task in (self._renew_task, self._follow_task, self._watch_task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.lease.release()

    async def _require_lease(self) -> None:
        # The gate does not refer to `self.lease.require_held`, because `_switch_home` replaces the lease.
        await self.lease.require_held()

    async def _may_read(self, connection: PipelinedConnection) -> bool:
        return await self.lease.may_read(connection)

    async def _renew_forever(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self.lease.renew()
                await self._apply_map()
            except StoreError as error:
                log.debug("the lease could not be renewed: %s", error)
                await asyncio.sleep(RETRY_DELAY_S)
            else:
                await self._wait_for_change()

    async def _apply_map(self) -> None:
        """Apply the known map; roll back an unfinished slice if the migrator died."""
        lease = self.lease
        migration = lease.known_map.migration
        has_blocked_slice = migration is not None and {WRITES_BLOCKED, READS_SWITCHED} & set(migration.slice_states)
        if has_blocked_slice and not lease.has_migrator:
            if await (await lease.registry()).roll_back(lease.known_map):
                log.warning("the mover of the data went away: its slice stays where it was")
            await lease.renew()
        self._apply_slice_states()
        if lease.known_map.epoch != lease.followed_epoch and (self._follow_task is None or self._follow_task.done()):
            self._follow_task = asyncio.create_task(self._follow_and_log())

    async def _wait_for_change(self) -> None:
        """Wait until the next renewal. During a migration, wait until the map changes."""
        placement_map = self.lease.known_map
        if placement_map.migration is not None and (self._watch_task is None or self._watch_task.done()):
            self._watch_task = asyncio.create_task(self._watch(placement_map.epoch))
            self._watch_task.add_done_callback(lambda _: self._wake.set())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEASE_RENEWAL_INTERVAL_S):
                await self._wake.wait()

    async def _watch(self, epoch: int) -> None:
        try:
            await (await self.lease.registry()).wait_for_change(epoch, CHANGE_WAIT_MS)
        except StoreError:
            await asyncio.sleep(RETRY_DELAY_S)

    def _apply_slice_states(self) -> None:
        """Apply new slice states immediately; `_drain` waits for the commands that were sent before."""
        placement_map, router = self.lease.known_map, self._switcher.active.router
        if not self._is_current(placement_map) or self._store is None or placement_map.epoch == self._applied_epoch:
            return
        self._applied_epoch, self._store.partition_layouts = placement_map.epoch, placement_map.current_layouts
        migration = placement_map.migration
        if router is None or migration is None:
            return
        is_repartition = migration.repartition is not None
        if is_repartition:  # these keys are reported at every epoch, so that the copy can catch up
            self._written_keys |= router.touched_keys.pop(0, set())
        pairs = enumerate(zip(router.slice_states, migration.slice_states, strict=True))
        self._changed_slices |= {number for number, (old, new) in pairs if old != new or is_repartition}
        self._in_flight.append(router.set_slice_states(migration.slice_states))
        self._state_changes += 1
        self._store.notify_topology_change()

    # Following

    async def _follow_and_log(self) -> None:
        try:
            await self._follow_map()
        except StoreError as error:
            log.warning("the map of the store cannot be followed: %s", error)
            await asyncio.sleep(RETRY_DELAY_S)
        self._wake.set()

    async def _follow_map(self) -> None:
        """Switch the store to the known map; report its epoch when no command of an older map is in flight."""
        placement_map = self.lease.known_map
        if placement_map.forwarded_to:
            await self._follow_forward(placement_map)
            return
        if not self._is_current(placement_map):
            await self._switch_topologies(placement_map, self.lease.home_url)
        self._apply_slice_states()
        await self._drain(placement_map)
        self.lease.followed_epoch = max(self.lease.followed_epoch, placement_map.epoch)

    def _is_current(self, placement_map: PlacementMap) -> bool:
        return not placement_map.forwarded_to and self._switcher.is_current(placement_map, self.lease.home_url)

    async def _switch_topologies(self, placement_map: PlacementMap, home_url: str) -> None:
        previous = await self._switcher.switch(placement_map, home_url)
        self.lease.gate = self._switcher.active.gate
        self._in_flight, self._changed_slices = [], set()
        await self._switcher.close_when_idle(previous)

    async def _follow_forward(self, placement_map: PlacementMap) -> None:
        """Follow a map that was moved to another store: acquire a lease there, switch, then release the old lease."""
        for _ in range(MAX_FORWARDS):
            lease = ProcessLease(placement_map.forwarded_to, self._create_topology, self.lease.process_id)
            try:
                await lease.renew()
                if not lease.known_map.forwarded_to:
                    await self._switch_home(lease)
                    return
            except BaseException:
                await lease.release()
                raise
            placement_map = lease.known_map
            await lease.release()
        raise StoreUnavailable("the maps of the stores refer to each other in a circle")

    async def _switch_home(self, lease: ProcessLease) -> None:
        if not self._switcher.is_current(lease.known_map, lease.home_url):
            await self._switch_topologies(lease.known_map, lease.home_url)
        lease.gate, lease.followed_epoch = self._switcher.active.gate, lease.known_map.epoch
        previous, self.lease = self.lease, lease
        self._apply_slice_states()
        if self._watch_task is not None:
            self._watch_task.cancel()
            await asyncio.gather(self._watch_task, return_exceptions=True)
        await previous.release()

    async def _drain(self, placement_map: PlacementMap) -> None:
        """Wait for the commands in flight that the map does not allow any more. Raises StoreUnavailable."""
        state_changes, changed_slices = self._state_changes, set(self._changed_slices)
        batches = list(self._in_flight)
        for in_flight in batches:
            await in_flight.wait_until_idle(changed_slices)
            for node in tuple(in_flight.nodes_to_drain):
                await node.drain()
                in_flight.nodes_to_drain.discard(node)
        if any(in_flight.has_lost_replies for in_flight in batches):
            self.lease.suspend()  # the migrator then kills our connections, and the topology is opened again
            raise StoreUnavailable("a reply was lost while data moves: the migrator closes the connections")
        await self._report_touched_keys(placement_map)
        self._in_flight = [in_flight for in_flight in self._in_flight if in_flight.is_busy()]
        if state_changes == self._state_changes:
            self._changed_slices.clear()

    async def _report_touched_keys(self, placement_map: PlacementMap) -> None:
        """Report the keys that this process wrote since the migration began. The migrator's scan may lack them."""
        router, migration = self._switcher.active.router, placement_map.migration
        registry = await self.lease.registry()
        if router is None or migration is None:
            return
        numbers = [number for number in router.touched_keys if migration.slice_states[number] == WRITES_BLOCKED]
        unreported = {number: router.touched_keys.pop(number) for number in numbers}
        if migration.repartition is not None:
            unreported, self._written_keys = {0: unreported.get(0, set()) | self._written_keys}, set()
        while unreported:
            number, keys = unreported.popitem()
            try:
                await registry.add_touched_keys(number, keys)
            except BaseException:
                for unsent_number, unsent_keys in {**unreported, number: keys}.items():
                    router.touched_keys.setdefault(unsent_number, set()).update(unsent_keys)
                raise
