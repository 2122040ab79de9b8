"""What a process does about the map: renews its lease, follows every change, and says when it does.

While nothing moves this is all that moving data costs: one small script twice a second, on a connection of
its own. While something moves it waits for changes, so that a step of the mover takes milliseconds.
"""

import asyncio
import contextlib
import logging

from socialsite.migration.in_flight import Traffic
from socialsite.migration.lease import Lease
from socialsite.migration.record import FROZEN, NOTHING, TURNED, Placement
from socialsite.migration.topology_switcher import Arranger, TopologyOf
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.store import Store, Topology

RENEW_EVERY_S = 0.5
WATCH_MS = 300
RETRY_S = 0.1
MOST_FORWARDS = 8

log = logging.getLogger(__name__)


class Keeper:
    """Of one store. `take` the lease before its topologies are opened, `keep` after, `close` in the end."""

    def __init__(self, home: str, topology_of: TopologyOf) -> None:
        self.lease = Lease(home, topology_of)
        self._topology_of = topology_of
        self._arranger = Arranger(self.lease.process, topology_of, self._require_lease)
        self._store: Store | None = None
        self._under_way: list[Traffic] = []
        self._changed: set[int] = set()
        self._turns = 0
        self._turned = 0
        self._told: set[str] = set()
        self._wake = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def take(self, topologies: list[Topology]) -> None:
        """Before the first connection of these."""
        for topology in topologies:
            self._arranger.guard_first(topology)
        self.lease.guard = self._arranger.now.guard
        await self.lease.take()

    async def keep(self, store: Store, placed: dict[str, str]) -> None:
        """Arrange the store as the map says, and from now on whenever it changes. Raises StoreError."""
        self._store = store
        self._arranger.begin(store, self.lease.home, placed)
        if self.lease.known is not NOTHING:
            await self._follow()
        self._keeping = asyncio.create_task(self._keep())

    @property
    def map_now(self) -> tuple[int, bool]:
        return self.lease.known.epoch, self.lease.known.move is not None

    async def close(self) -> None:
        tasks = [task for task in (self._keeping, self._following, self._watching) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.lease.leave()

    async def _require_lease(self) -> None:
        await self.lease.require()

    async def _keep(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self.lease.renew()
                await self._act()
            except StoreError as error:
                log.debug("the lease could not be renewed: %s", error)
                await asyncio.sleep(RETRY_S)
            else:
                await self._wait()

    async def _act(self) -> None:
        """Take over what the map says; give back a slice whose mover died."""
        lease = self.lease
        move = lease.known.move
        if move is not None and not lease.has_mover and {FROZEN, TURNED} & set(move.slices):
            if await (await lease.board()).thaw(lease.known):
                log.warning("the mover of the data went away: its slice stays where it was")
            await lease.renew()
        self._turn()
        if lease.known.epoch != lease.seen and (self._following is None or self._following.done()):
            self._following = asyncio.create_task(self._follow_or_say())

    async def _wait(self) -> None:
        """Until there is something to do: at once when the map changes, while something moves."""
        if self.lease.known.move is not None and (self._watching is None or self._watching.done()):
            self._watching = asyncio.create_task(self._watch(self.lease.known.epoch))
            self._watching.add_done_callback(lambda _: self._wake.set())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RENEW_EVERY_S):
                await self._wake.wait()

    async def _watch(self, epoch: int) -> None:
        try:
            await (await self.lease.board()).wait_for_change(epoch, WATCH_MS)
        except StoreError:
            await asyncio.sleep(RETRY_S)

    def _turn(self) -> None:
        """Take over new states of slices at once; what was sent before is waited for in `_drain`."""
        record, relay = self.lease.known, self._arranger.now.relay
        if not self._stands(record) or self._store is None or record.epoch == self._turned:
            return
        self._turned, self._store.layouts = record.epoch, record.layouts_now
        if relay is None or record.move is None:
            return
        if record.move.reshape is not None:  # told at every epoch, so that the copy can catch up
            self._told |= relay.touched.pop(0, set())
        pairs = enumerate(zip(relay.slices, record.move.slices, strict=True))
        self._changed |= {n for n, (a, b) in pairs if a != b or record.move.reshape is not None}
        self._under_way.append(relay.turn(record.move.slices))
        self._turns += 1
        self._store.tell_watchers()

    # Following

    async def _follow_or_say(self) -> None:
        try:
            await self._follow()
        except StoreError as error:
            log.warning("the map of the store cannot be followed: %s", error)
            await asyncio.sleep(RETRY_S)
        self._wake.set()

    async def _follow(self) -> None:
        """Arrange the store as known, and be able to say so: nothing older is under way."""
        record = self.lease.known
        if record.forward:
            await self._go_where_it_went(record)
            return
        if not self._stands(record):
            await self._rebuild(record, self.lease.home)
        self._turn()
        await self._drain(record)
        self.lease.seen = max(self.lease.seen, record.epoch)

    def _stands(self, record: Placement) -> bool:
        return not record.forward and self._arranger.stands(record, self.lease.home)

    async def _rebuild(self, record: Placement, home: str) -> None:
        before = await self._arranger.rebuild(record, home)
        self.lease.guard = self._arranger.now.guard
        self._under_way, self._changed = [], set()
        await self._arranger.bury(before)

    async def _go_where_it_went(self, record: Placement) -> None:
        """The map went to another store: a lease there first, then everything else, then leave here."""
        for _ in range(MOST_FORWARDS):
            lease = Lease(record.forward, self._topology_of, self.lease.process)
            try:
                await lease.renew()
                if not lease.known.forward:
                    await self._move_in(lease)
                    return
            except BaseException:
                await lease.leave()
                raise
            record = lease.known
            await lease.leave()
        raise StoreUnavailable("the maps of the stores send this process in a circle")

    async def _move_in(self, lease: Lease) -> None:
        if not self._arranger.stands(lease.known, lease.home):
            await self._rebuild(lease.known, lease.home)
        lease.guard, lease.seen = self._arranger.now.guard, lease.known.epoch
        before, self.lease = self.lease, lease
        self._turn()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await before.leave()

    async def _drain(self, record: Placement) -> None:
        """Returns when nothing is under way that the map does not allow any more."""
        turns, changed, traffics = self._turns, set(self._changed), list(self._under_way)
        for traffic in traffics:
            await traffic.ended(changed)
            for node in tuple(traffic.unread):
                await node.settle()
                traffic.unread.discard(node)
        if any(traffic.is_doubtful for traffic in traffics):
            self.lease.let_end()  # the mover then cuts what we have open, and all is arranged anew
            raise StoreUnavailable("an answer was lost while data moves: asking to be cut off")
        await self._note_touched(record)
        self._under_way = [traffic for traffic in self._under_way if traffic.is_busy()]
        if turns == self._turns:
            self._changed.clear()

    async def _note_touched(self, record: Placement) -> None:
        """Tell the mover which keys were written here since the move began: all that it may have missed."""
        relay, move, board = self._arranger.now.relay, record.move, await self.lease.board()
        if relay is None or move is None:
            return
        numbers = [number for number in relay.touched if move.slices[number] == FROZEN]
        notes = {number: relay.touched.pop(number) for number in numbers}
        if move.reshape is not None:
            notes, self._told = {0: notes.get(0, set()) | self._told}, set()
        while notes:
            number, touched = notes.popitem()
            try:
                await board.note_touched(number, touched)
            except BaseException:
                for left, keys in {**notes, number: touched}.items():
                    relay.touched.setdefault(left, set()).update(keys)
                raise
