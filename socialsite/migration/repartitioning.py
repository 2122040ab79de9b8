"""Cuts the edges of a component into another number of partitions while the site serves.

The new partitions are built beside the old ones, under another letter. Processes say which keys they wrote
meanwhile, and those are copied again, round after round, until few are left; then writers wait for a moment,
the last are copied and compared, and everybody turns over. The old partitions stay for whoever still reads
them, and are deleted after `GRACE_S`.

Knows no application: `sides` are the names of the two ends of its edges ("following", "followers").
"""

import asyncio
from dataclasses import dataclass, field

from socialsite.migration.edge_copying import EdgeCopier, EdgeOwner
from socialsite.migration.errors import MigrationRefused, MigratorReplaced, ProcessesNotFollowing
from socialsite.migration.followers import ProcessBarrier
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.progress import MigrationProgress, OnProgress
from socialsite.migration.record import (
    DONE,
    READS_SWITCHED,
    SOURCE,
    WRITES_BLOCKED,
    PlacementMap,
    Repartition,
)
from socialsite.migration.store_pool import MigrationLock, StorePool
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key

OLD_PARTITIONS_GRACE_S = 60.0
"""Longer than any job or request that may still read the old partitions."""
FOLLOW_TIMEOUT_S = 15.0
MAX_WRITE_BLOCK_S = 2.5
MAX_OWNERS_WHILE_BLOCKED = 50
"""Owners whose edges are copied while writers wait: a few milliseconds each."""
MAX_COPY_ROUNDS = 30
MAX_TRIES = 8
RETRY_DELAY_S = 0.5


@dataclass(slots=True)
class RepartitionReport:
    """What was done: edges by the name of their outgoing side."""

    edges: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    retries: int = 0


class Repartitioner:
    """Of one record whose move is a reshaping. The caller holds the lock."""

    def __init__(
        self,
        board: PlacementRegistry,
        places: StorePool,
        lock: MigrationLock,
        record: PlacementMap,
        sides: dict[str, str],
        recorded: Key,
        on_step: OnProgress | None = None,
    ) -> None:
        assert record.move is not None
        assert record.move.reshape is not None
        self._registry = board
        self._stores = places
        self._lock = lock
        self._placement_map = record
        self._repartition: Repartition = record.move.reshape
        self._count_key = recorded
        self._store = places.store(record.url_of(self._repartition.component))
        self._copier = EdgeCopier(self._store, self._repartition, sides)
        self._is_copy_complete = False
        self._barrier = ProcessBarrier(board, places, self._invalidate_copy)
        self._on_progress = on_step or (lambda step: None)
        self.report = RepartitionReport()

    @property
    def placement_map(self) -> PlacementMap:
        return self._placement_map

    async def run(self, grace_s: float) -> None:
        """Until the old partitions are gone. May be run again by another mover at any point."""
        assert self._placement_map.move is not None
        await self._write_state(self._placement_map.move.slices[0] if self._state == DONE else SOURCE)
        await self._barrier.wait_for_epoch(self._placement_map.epoch, FOLLOW_TIMEOUT_S)
        await self._stores.kill_clients_outside(self._placement_map.move.id)
        if self._state != DONE:
            await self._switch_over()
        self._on_progress(MigrationProgress("waiting", -1, 1, 1))
        await asyncio.sleep(grace_s)
        for url in (self._placement_map.url_of(self._repartition.component), self._stores.home_url):
            await self._stores.wait_until_durable(url)
        await self._copier.delete_layout(self._repartition.source)
        layouts = {**self._placement_map.layouts, self._repartition.component: self._repartition.target}
        await self._write_map(self._placement_map.next_epoch(move=None, layouts=layouts))
        await self._barrier.wait_for_epoch(self._placement_map.epoch, FOLLOW_TIMEOUT_S)

    @property
    def _state(self) -> int:
        assert self._placement_map.move is not None
        return self._placement_map.move.slices[0]

    # Copying

    async def _switch_over(self) -> None:
        for _ in range(MAX_TRIES):
            await self._catch_up()
            if await self._try_switch():
                return
            self.report.retries += 1
            await asyncio.sleep(RETRY_DELAY_S)
        raise MigrationRefused(
            "the edges could not be turned over in a moment: everything is as before; repeat it when the "
            "site is quieter"
        )

    async def _catch_up(self) -> None:
        """Copy everything, then what was written meanwhile, until that is little."""
        for _ in range(MAX_COPY_ROUNDS):
            if not self._is_copy_complete:
                self._is_copy_complete = True
                self.report.edges = await self._copier.copy_all()
                self._on_progress(MigrationProgress("copying", -1, 0, 1))
            await self._write_state(SOURCE)
            await self._barrier.wait_for_epoch(self._placement_map.epoch, FOLLOW_TIMEOUT_S)
            owners = await self._pop_touched_owners()
            await self._copier.copy(owners)
            self.report.rounds += 1
            if self._is_copy_complete and len(owners) <= MAX_OWNERS_WHILE_BLOCKED:
                return

    async def _try_switch(self) -> bool:
        try:
            async with asyncio.timeout(MAX_WRITE_BLOCK_S):
                await self._write_state(WRITES_BLOCKED)
                await self._barrier.wait_for_epoch(self._placement_map.epoch, MAX_WRITE_BLOCK_S)
                if not self._is_copy_complete:
                    raise ProcessesNotFollowing([])
                owners = await self._pop_touched_owners()
                await self._copier.copy(owners)
                await self._copier.compare(owners)
                await self._stores.wait_until_durable(self._placement_map.url_of(self._repartition.component))
                await self._write_state(READS_SWITCHED)
                await self._barrier.wait_for_epoch(self._placement_map.epoch, MAX_WRITE_BLOCK_S)
                self._on_progress(MigrationProgress("turning", -1, 0, 1))
        except (TimeoutError, ProcessesNotFollowing, StoreUnavailable):
            self._placement_map = await self._registry.read_map()
            self._is_copy_complete = False  # what was touched may have been read and not copied
            await self._write_state(SOURCE)
            await self._barrier.wait_for_epoch(self._placement_map.epoch, FOLLOW_TIMEOUT_S)
            return False
        node = self._store.node(self._count_key)
        await node.execute("SET", self._count_key, self._repartition.target.count)
        await self._write_state(DONE)
        await self._barrier.wait_for_epoch(self._placement_map.epoch, FOLLOW_TIMEOUT_S)  # who waited has heard where to
        return True

    async def _pop_touched_owners(self) -> set[EdgeOwner]:
        """Owners of edges that were written since the last round."""
        names = await self._registry.pop_touched_keys(0)
        return {owner for name in names for owner in self._copier.parse_owner(Key.parse(name))}

    # Steps

    def _invalidate_copy(self) -> None:
        """A process died without saying what it wrote."""
        self._is_copy_complete = False

    async def _write_state(self, state: int) -> None:
        assert self._placement_map.move is not None
        await self._write_map(self._placement_map.next_epoch(move=self._placement_map.move.with_states({0: state})))

    async def _write_map(self, record: PlacementMap) -> None:
        if not await self._registry.advance_epoch(record, self._placement_map.epoch, self._lock.token):
            raise MigratorReplaced
        self._placement_map = record
