"""Execute a migration, slice by slice: block writes, copy, compare, switch reads, allow writes, delete the source.

The migrator continues after a step only when every process follows it. If a slice is blocked for too long, it is
rolled back and tried again, so a writer waits only a moment. All state that must outlive the migrator is in the
placement map. So another migrator can continue or revert the migration.
"""

import asyncio
from collections.abc import Collection

from socialsite.migration import placement_map
from socialsite.migration.errors import MigrationRefused, MigratorReplaced, ProcessesNotFollowing
from socialsite.migration.key_copier import KeyCopier
from socialsite.migration.key_inventory import KeyInventory, UnreportedWrites
from socialsite.migration.migration_lock import MigrationLock
from socialsite.migration.migration_session import MigrationSession
from socialsite.migration.process_barrier import ProcessBarrier
from socialsite.migration.progress import MigrationProgress, MigrationReport, OnProgress
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.site_marks import copy_marks

FOLLOW_TIMEOUT_S = 15.0
"""The time limit for every process to open the target and to begin counting its commands."""
MAX_WRITE_BLOCK_S = 2.5
"""The time after which a blocked slice is rolled back. It is less than migration_router.WRITER_WAIT_S."""
MAX_TRIES = 8
RETRY_DELAY_S = 0.5


class Migrator:
    """Executes the migration of the session's placement map."""

    def __init__(self, session: MigrationSession, on_progress: OnProgress | None = None) -> None:
        self._session = session
        self._registry = session.registry
        self._stores = session.stores
        self._on_progress = on_progress or (lambda progress: None)
        self._inventory = KeyInventory(session.migration, session.stores, session.registry)
        self._copier = KeyCopier(session.stores, session.migration.routes)
        self._barrier = ProcessBarrier(session.registry, session.stores, self._inventory.invalidate)
        self.report = MigrationReport(self._copier.statistics)

    @property
    def migration(self) -> placement_map.Migration:
        return self._session.migration

    async def run(self) -> MigrationReport:
        """Migrate all slices and remove the migration from the map. Raises MigrationRefused."""
        await self._stores.kill_other_migrators()
        if self.migration.rolled_back() != self.migration:
            await self._session.write_epoch(migration=self.migration.rolled_back())
        await self._begin()
        already_done = [
            number for number, state in enumerate(self.migration.slice_states) if state == placement_map.DONE
        ]
        await self._delete_unfinished_copies()
        for number, state in enumerate(self.migration.slice_states):
            if state != placement_map.DONE:
                await self._migrate_slice(number)
        await self._delete_leftovers(already_done)
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
        home = self._stores.topology(placement_map.THIS_STORE)
        for target in {route.target for route in self.migration.routes.values()}:
            await copy_marks(home, self._stores.topology(target), with_record=False)
        await self._stores.kill_clients_outside(self.migration.id, self._session.placement_map.epoch)
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
        """Migrate a slice. Return False if it took too long and was rolled back."""
        keys: set[Key] = set()
        try:
            async with asyncio.timeout(MAX_WRITE_BLOCK_S):
                await self._write_states({number: placement_map.WRITES_BLOCKED})
                await self._wait_for_processes(MAX_WRITE_BLOCK_S)
                self._report_progress("frozen", number)
                keys = await self._inventory.slice_keys(number)
                copied = await self._copier.copy(keys)
                self._report_progress("copied", number)
                await self._write_states({number: placement_map.READS_SWITCHED})
                await self._wait_for_processes(MAX_WRITE_BLOCK_S)
                self._report_progress("turned", number)
        except (TimeoutError, ProcessesNotFollowing, StoreUnavailable, UnreportedWrites):
            await self._roll_back_slice(number, keys)
            return False
        except MigrationRefused:
            await self._roll_back_slice(number, keys)
            raise
        await self._write_states({number: placement_map.DONE})
        self._report_progress("moved", number)
        # The map must be durable before the source is deleted. With an older map, the next migrator would delete the
        # copies instead.
        await self._stores.wait_until_durable(self._stores.home_url)
        await self._copier.delete_from_source(copied)
        await self._registry.delete_touched_keys([number])
        self._inventory.discard_slice(number)
        self.report.migrated_slices += 1
        self._report_progress("deleted", number)
        return True

    async def _roll_back_slice(self, number: int, keys: Collection[Key]) -> None:
        """Move a slice back to the source; delete the copies when no process reads them any more."""
        self._session.placement_map = await self._registry.read_map()
        if self._session.placement_map.migration is None:
            raise MigratorReplaced
        await self._write_states({number: placement_map.SOURCE})
        await self._wait_for_processes(FOLLOW_TIMEOUT_S)
        await self._copier.delete_from_target(keys)
        self._report_progress("given back", number)

    # Before the first slice and after the last

    async def _delete_unfinished_copies(self) -> None:
        for target in {route.target for route in self.migration.routes.values()}:
            components = [name for name, route in self.migration.routes.items() if route.target == target]
            for number, keys in (await self._inventory.keys_at(target, components)).items():
                if self.migration.slice_states[number] != placement_map.DONE:
                    await self._copier.delete_from_target(keys)

    async def _delete_leftovers(self, done_slices: Collection[int]) -> None:
        """Delete completed slices of earlier migrators from the sources; report all other keys."""
        for source in {route.source for route in self.migration.routes.values()}:
            components = [name for name, route in self.migration.routes.items() if route.source == source]
            for number, keys in (await self._inventory.keys_at(source, components)).items():
                if number in done_slices:
                    await self._copier.delete_from_source(keys)
                else:
                    self.report.unreported_keys += keys
        self._report_progress("swept")

    async def _finish(self) -> None:
        """Write the new component URLs and remove the migration from the map."""
        await self._registry.delete_touched_keys(range(len(self.migration.slice_states)))
        component_urls = dict(self._session.placement_map.component_urls)
        for name, route in self.migration.routes.items():
            component_urls.pop(name, None)
            if route.target != placement_map.THIS_STORE:
                component_urls[name] = route.target
        if self.migration.new_home_url == placement_map.THIS_STORE:
            await self._session.write_epoch(component_urls=component_urls, migration=None)
            await self._wait_for_processes(FOLLOW_TIMEOUT_S)
            return
        await self._hand_over(self.migration.new_home_url, component_urls)

    async def _hand_over(self, new_home_url: str, component_urls: dict[str, str]) -> None:
        """Move the map to the new home; the old map only forwards to the new map."""
        target = self._stores.registry(new_home_url)
        lock = MigrationLock(target, self._session.lock.token)
        await lock.acquire()
        try:
            replaced = await target.read_map()
            epoch = max(replaced.epoch, self._session.placement_map.epoch) + 1
            component_urls = {name: url for name, url in component_urls.items() if url != new_home_url}
            source = self._stores.topology(placement_map.THIS_STORE)
            await copy_marks(source, self._stores.topology(new_home_url), with_record=True)
            moved_map = placement_map.PlacementMap(epoch, component_urls, arriving_from=self._stores.home_url)
            if not await target.advance_epoch(moved_map, replaced.epoch, lock.token):
                raise MigratorReplaced
            await self._stores.wait_until_durable(new_home_url)
            self._report_progress("handed over")
            await self._session.write_epoch(component_urls={}, migration=None, forwarded_to=new_home_url)
            await self._wait_for_processes(FOLLOW_TIMEOUT_S)
            self._report_progress("forwarded")
            if not await target.advance_epoch(moved_map.next_epoch(arriving_from=""), epoch, lock.token):
                raise MigratorReplaced
        finally:
            await lock.release()

    # Steps

    async def _write_states(self, states: dict[int, int]) -> None:
        await self._session.write_epoch(migration=self.migration.with_states(states))

    async def _wait_for_processes(self, timeout_s: float) -> None:
        """Return when every process follows the epoch. Raises ProcessesNotFollowing."""
        await self._barrier.wait_for_epoch(self._session.placement_map.epoch, timeout_s)

    def _report_progress(self, name: str, number: int = -1) -> None:
        states = self._session.placement_map.migration.slice_states if self._session.placement_map.migration else b""
        self._on_progress(MigrationProgress(name, number, states.count(placement_map.DONE), len(states)))
