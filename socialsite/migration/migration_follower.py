"""What a process does about the map: renews its lease, follows every change, and says when it does.

While nothing moves this is all that moving data costs: one small script twice a second, on a connection of
its own. While something moves it waits for changes, so that a step of the mover takes milliseconds.
"""

import asyncio
import contextlib
import logging

from socialsite.migration.in_flight import InFlight
from socialsite.migration.lease import ProcessLease
from socialsite.migration.record import EMPTY_PLACEMENT_MAP, READS_SWITCHED, WRITES_BLOCKED, PlacementMap
from socialsite.migration.topology_switcher import TopologyFactory, TopologySwitcher
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.store import Store, Topology

LEASE_RENEWAL_INTERVAL_S = 0.5
CHANGE_WAIT_MS = 300
RETRY_DELAY_S = 0.1
MAX_FORWARDS = 8

log = logging.getLogger(__name__)


class MigrationFollower:
    """Of one store. `take` the lease before its topologies are opened, `keep` after, `close` in the end."""

    def __init__(self, home: str, topology_of: TopologyFactory) -> None:
        self.lease = ProcessLease(home, topology_of)
        self._create_topology = topology_of
        self._switcher = TopologySwitcher(self.lease.process_id, topology_of, self._require_lease)
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
        """Before the first connection of these."""
        for topology in topologies:
            self._switcher.set_first_gate(topology)
        self.lease.gate = self._switcher.active.gate
        await self.lease.acquire()

    async def start_following(self, store: Store, placed: dict[str, str]) -> None:
        """Arrange the store as the map says, and from now on whenever it changes. Raises StoreError."""
        self._store = store
        self._switcher.set_store(store, self.lease.home_url, placed)
        if self.lease.known_map is not EMPTY_PLACEMENT_MAP:
            await self._follow_map()
        self._renew_task = asyncio.create_task(self._renew_forever())

    @property
    def migration_state(self) -> tuple[int, bool]:
        return self.lease.known_map.epoch, self.lease.known_map.move is not None

    async def close(self) -> None:
        tasks = [task for task in (self._renew_task, self._follow_task, self._watch_task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.lease.release()

    async def _require_lease(self) -> None:
        await self.lease.require_held()

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
        """Take over what the map says; give back a slice whose mover died."""
        lease = self.lease
        move = lease.known_map.move
        if move is not None and not lease.has_migrator and {WRITES_BLOCKED, READS_SWITCHED} & set(move.slices):
            if await (await lease.registry()).roll_back(lease.known_map):
                log.warning("the mover of the data went away: its slice stays where it was")
            await lease.renew()
        self._apply_slice_states()
        if lease.known_map.epoch != lease.followed_epoch and (self._follow_task is None or self._follow_task.done()):
            self._follow_task = asyncio.create_task(self._follow_and_log())

    async def _wait_for_change(self) -> None:
        """Until there is something to do: at once when the map changes, while something moves."""
        if self.lease.known_map.move is not None and (self._watch_task is None or self._watch_task.done()):
            self._watch_task = asyncio.create_task(self._watch(self.lease.known_map.epoch))
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
        """Take over new states of slices at once; what was sent before is waited for in `_drain`."""
        record, relay = self.lease.known_map, self._switcher.active.router
        if not self._is_current(record) or self._store is None or record.epoch == self._applied_epoch:
            return
        self._applied_epoch, self._store.partition_layouts = record.epoch, record.current_layouts
        if relay is None or record.move is None:
            return
        if record.move.reshape is not None:  # told at every epoch, so that the copy can catch up
            self._written_keys |= relay.touched_keys.pop(0, set())
        pairs = enumerate(zip(relay.slice_states, record.move.slices, strict=True))
        self._changed_slices |= {n for n, (a, b) in pairs if a != b or record.move.reshape is not None}
        self._in_flight.append(relay.set_slice_states(record.move.slices))
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
        """Arrange the store as known, and be able to say so: nothing older is under way."""
        record = self.lease.known_map
        if record.forward:
            await self._follow_forward(record)
            return
        if not self._is_current(record):
            await self._switch_topologies(record, self.lease.home_url)
        self._apply_slice_states()
        await self._drain(record)
        self.lease.followed_epoch = max(self.lease.followed_epoch, record.epoch)

    def _is_current(self, record: PlacementMap) -> bool:
        return not record.forward and self._switcher.is_current(record, self.lease.home_url)

    async def _switch_topologies(self, record: PlacementMap, home: str) -> None:
        before = await self._switcher.switch(record, home)
        self.lease.gate = self._switcher.active.gate
        self._in_flight, self._changed_slices = [], set()
        await self._switcher.close_when_idle(before)

    async def _follow_forward(self, record: PlacementMap) -> None:
        """The map went to another store: a lease there first, then everything else, then leave here."""
        for _ in range(MAX_FORWARDS):
            lease = ProcessLease(record.forward, self._create_topology, self.lease.process_id)
            try:
                await lease.renew()
                if not lease.known_map.forward:
                    await self._switch_home(lease)
                    return
            except BaseException:
                await lease.release()
                raise
            record = lease.known_map
            await lease.release()
        raise StoreUnavailable("the maps of the stores send this process in a circle")

    async def _switch_home(self, lease: ProcessLease) -> None:
        if not self._switcher.is_current(lease.known_map, lease.home_url):
            await self._switch_topologies(lease.known_map, lease.home_url)
        lease.gate, lease.followed_epoch = self._switcher.active.gate, lease.known_map.epoch
        before, self.lease = self.lease, lease
        self._apply_slice_states()
        if self._watch_task is not None:
            self._watch_task.cancel()
            await asyncio.gather(self._watch_task, return_exceptions=True)
        await before.release()

    async def _drain(self, record: PlacementMap) -> None:
        """Returns when nothing is under way that the map does not allow any more."""
        turns, changed, traffics = self._state_changes, set(self._changed_slices), list(self._in_flight)
        for traffic in traffics:
            await traffic.wait_until_idle(changed)
            for node in tuple(traffic.nodes_to_drain):
                await node.drain()
                traffic.nodes_to_drain.discard(node)
        if any(traffic.has_lost_replies for traffic in traffics):
            self.lease.suspend()  # the mover then cuts what we have open, and all is arranged anew
            raise StoreUnavailable("an answer was lost while data moves: asking to be cut off")
        await self._report_touched_keys(record)
        self._in_flight = [traffic for traffic in self._in_flight if traffic.is_busy()]
        if turns == self._state_changes:
            self._changed_slices.clear()

    async def _report_touched_keys(self, record: PlacementMap) -> None:
        """Tell the mover which keys were written here since the move began: all that it may have missed."""
        relay, move, board = self._switcher.active.router, record.move, await self.lease.registry()
        if relay is None or move is None:
            return
        numbers = [number for number in relay.touched_keys if move.slices[number] == WRITES_BLOCKED]
        notes = {number: relay.touched_keys.pop(number) for number in numbers}
        if move.reshape is not None:
            notes, self._written_keys = {0: notes.get(0, set()) | self._written_keys}, set()
        while notes:
            number, touched = notes.popitem()
            try:
                await board.add_touched_keys(number, touched)
            except BaseException:
                for left, keys in {**notes, number: touched}.items():
                    relay.touched_keys.setdefault(left, set()).update(keys)
                raise
