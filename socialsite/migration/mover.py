"""Carries a move out, slice by slice: freeze, copy, verify, turn over, open, delete.

A step is relied upon once every process follows it. What is frozen for too long is given back and tried
again, so a writer waits a moment at most. All that has to outlive the mover stands in the record: any other
mover goes on from it, forwards or back.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

from socialsite.migration.copying import CopyStatistics, KeyCopier
from socialsite.migration.errors import MigrationRefused, MigratorReplaced, ProcessesNotFollowing
from socialsite.migration.followers import ProcessBarrier
from socialsite.migration.key_inventory import KeyInventory, UnreportedWrites
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.progress import MigrationProgress, OnProgress
from socialsite.migration.record import (
    DONE,
    READS_SWITCHED,
    SOURCE,
    THIS_STORE,
    WRITES_BLOCKED,
    Migration,
    PlacementMap,
)
from socialsite.migration.store_pool import MigrationLock, StorePool
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key

FOLLOW_TIMEOUT_S = 15.0
"""For every process to open the target and begin to count."""
MAX_WRITE_BLOCK_S = 2.5
"""Longer than that no writer is kept waiting: the slice is given back (Relay.WAIT_S is the writers' end)."""
MAX_TRIES = 8
RETRY_DELAY_S = 0.5


@dataclass(slots=True)
class MigrationReport:
    """What a move did."""

    statistics: CopyStatistics
    migrated_slices: int = 0
    retries: int = 0
    unreported_keys: list[Key] = field(default_factory=list)
    """Keys at a source that nobody had told of: left alone, to be looked at."""


class Migrator:
    """Of one move, whose record hangs on `board`. The caller holds the lock."""

    def __init__(
        self,
        board: PlacementRegistry,
        places: StorePool,
        lock: MigrationLock,
        record: PlacementMap,
        on_step: OnProgress | None = None,
    ) -> None:
        assert record.move is not None
        self._registry = board
        self._stores = places
        self._lock = lock
        self._placement_map = record
        self._on_progress = on_step or (lambda step: None)
        self._inventory = KeyInventory(record.move, places, board)
        self._copier = KeyCopier(places, record.move.paths)
        self._barrier = ProcessBarrier(board, places, self._inventory.invalidate)
        self.report = MigrationReport(self._copier.statistics)

    @property
    def migration(self) -> Migration:
        assert self._placement_map.move is not None
        return self._placement_map.move

    async def run(self) -> MigrationReport:
        """Until the last slice has moved and the record says so. Raises MigrationRefused."""
        await self._stores.kill_other_migrators()
        if self.migration.rolled_back() != self.migration:
            await self._write_epoch(move=self.migration.rolled_back())
        await self._begin()
        left_behind = [number for number, state in enumerate(self.migration.slices) if state == DONE]
        await self._delete_unfinished_copies()
        for number, state in enumerate(self.migration.slices):
            if state != DONE:
                await self._migrate_slice(number)
        await self._delete_leftovers(left_behind)
        await self._finish()
        self._report_progress("done")
        return self.report

    async def _begin(self) -> None:
        try:
            await self._wait_for_processes(FOLLOW_TIMEOUT_S)
        except ProcessesNotFollowing as error:
            raise MigrationRefused(
                f"{error}: they may not reach the target; see their logs, then use --resume or --back"
            ) from error
        await self._stores.kill_clients_outside(self.migration.id)
        self._report_progress("begun")

    # One slice

    async def _migrate_slice(self, number: int) -> None:
        for _ in range(MAX_TRIES):
            await self._inventory.prepare_slice(number)
            if await self._try_slice(number):
                return
            self.report.retries += 1
            await asyncio.sleep(RETRY_DELAY_S)
        raise MigrationRefused(
            f"slice {number} could not be moved within {MAX_WRITE_BLOCK_S} s in {MAX_TRIES} tries: it stays where it "
            "is; try again with --resume when the site is quieter"
        )

    async def _try_slice(self, number: int) -> bool:
        """False: it took too long and was given back."""
        keys: set[Key] = set()
        try:
            async with asyncio.timeout(MAX_WRITE_BLOCK_S):
                await self._write_epoch({number: WRITES_BLOCKED})
                await self._wait_for_processes(MAX_WRITE_BLOCK_S)
                self._report_progress("frozen", number)
                keys = await self._inventory.slice_keys(number)
                copied = await self._copier.copy(keys)
                self._report_progress("copied", number)
                await self._write_epoch({number: READS_SWITCHED})
                await self._wait_for_processes(MAX_WRITE_BLOCK_S)
                self._report_progress("turned", number)
        except (TimeoutError, ProcessesNotFollowing, StoreUnavailable, UnreportedWrites):
            await self._roll_back_slice(number, keys)
            return False
        except MigrationRefused:
            await self._roll_back_slice(number, keys)
            raise
        await self._write_epoch({number: DONE})
        self._report_progress("moved", number)
        await self._stores.wait_until_durable(
            self._stores.home_url
        )  # an older record would have the copies cleared away
        await self._copier.delete_from_source(copied)
        await self._registry.delete_touched_keys([number])
        self._inventory.discard_slice(number)
        self.report.migrated_slices += 1
        self._report_progress("deleted", number)
        return True

    async def _roll_back_slice(self, number: int, keys: Collection[Key]) -> None:
        """Back to the source; readers that had turned over come back before their copy goes."""
        self._placement_map = await self._registry.read_map()
        if self._placement_map.move is None:
            raise MigratorReplaced
        await self._write_epoch({number: SOURCE})
        await self._wait_for_processes(FOLLOW_TIMEOUT_S)
        await self._copier.delete_from_target(keys)
        self._report_progress("given back", number)

    # The ends

    async def _delete_unfinished_copies(self) -> None:
        """What an earlier mover copied of slices that did not turn over."""
        targets = {path.target for path in self.migration.paths.values()}
        for target in targets:
            components = [name for name, path in self.migration.paths.items() if path.target == target]
            for number, keys in (await self._inventory.keys_at(target, components)).items():
                if self.migration.slices[number] != DONE:
                    await self._copier.delete_from_target(keys)

    async def _delete_leftovers(self, left_behind: Collection[int]) -> None:
        """What earlier movers had no time to delete goes now; anything else is told of, and left."""
        for source in {path.source for path in self.migration.paths.values()}:
            components = [name for name, path in self.migration.paths.items() if path.source == source]
            for number, keys in (await self._inventory.keys_at(source, components)).items():
                if number in left_behind:
                    await self._copier.delete_from_source(keys)
                else:
                    self.report.unreported_keys += keys
        self._report_progress("swept")

    async def _finish(self) -> None:
        """Every slice has moved: the record says where everything stands."""
        await self._registry.delete_touched_keys(range(len(self.migration.slices)))
        placed = dict(self._placement_map.placed)
        for name, path in self.migration.paths.items():
            placed.pop(name, None)
            if path.target != THIS_STORE:
                placed[name] = path.target
        if self.migration.home == THIS_STORE:
            await self._write_epoch(placed=placed, move=None)
            await self._wait_for_processes(FOLLOW_TIMEOUT_S)
            return
        await self._hand_over(self.migration.home, placed)

    async def _hand_over(self, home: str, placed: dict[str, str]) -> None:
        """The map itself goes to the new home; here only the way there is left."""
        there = self._stores.registry(home)
        lock = MigrationLock(there, self._lock.token)
        await lock.acquire()
        try:
            held = await there.read_map()
            placed = {name: url for name, url in placed.items() if url != home}
            epoch = max(held.epoch, self._placement_map.epoch) + 1
            arrived = PlacementMap(epoch, placed, arriving=self._stores.home_url)
            if not await there.advance_epoch(arrived, held.epoch, lock.token):
                raise MigratorReplaced
            await self._stores.wait_until_durable(home)
            self._report_progress("handed over")
            await self._write_epoch(placed={}, move=None, forward=home)
            await self._wait_for_processes(FOLLOW_TIMEOUT_S)
            self._report_progress("forwarded")
            if not await there.advance_epoch(arrived.next_epoch(arriving=""), epoch, lock.token):
                raise MigratorReplaced
        finally:
            await lock.release()

    # Steps

    async def _write_epoch(self, states: dict[int, int] | None = None, **changes: object) -> None:
        """Write the next epoch. Raises MigratorReplaced where the record is not what we left."""
        if states is not None:
            changes["move"] = self.migration.with_states(states)
        following = self._placement_map.next_epoch(**changes)
        if not await self._registry.advance_epoch(following, self._placement_map.epoch, self._lock.token):
            raise MigratorReplaced
        self._placement_map = following

    async def _wait_for_processes(self, within_s: float) -> None:
        """Returns when every process follows the epoch. Raises ProcessesNotFollowing."""
        await self._barrier.wait_for_epoch(self._placement_map.epoch, within_s)

    def _report_progress(self, name: str, number: int = -1) -> None:
        slices = self._placement_map.move.slices if self._placement_map.move else b""
        self._on_progress(MigrationProgress(name, number, slices.count(DONE), len(slices)))
