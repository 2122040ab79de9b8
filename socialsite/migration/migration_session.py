"""The state of a migrator that holds its lock: the stores, the registry, and the current placement map."""

from dataclasses import dataclass

from socialsite.migration.errors import MigratorReplaced
from socialsite.migration.migration_lock import MigrationLock
from socialsite.migration.placement_map import Migration, PlacementMap
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.store_pool import StorePool


@dataclass(slots=True)
class MigrationSession:
    """The migrator's lock, and the stores and the map that it protects."""

    stores: StorePool
    registry: PlacementRegistry
    lock: MigrationLock
    placement_map: PlacementMap

    @property
    def migration(self) -> Migration:
        assert self.placement_map.migration is not None
        return self.placement_map.migration

    async def open_routes(self) -> None:
        for route in self.migration.routes.values():
            await self.stores.open(route.source)
            await self.stores.open(route.target)

    async def write_epoch(self, **changes: object) -> None:
        """Write the next epoch of the map with these fields changed. Raises MigratorReplaced."""
        await self.write_map(self.placement_map.next_epoch(**changes))

    async def write_map(self, placement_map: PlacementMap) -> None:
        """Replace the map. Raises MigratorReplaced if another migrator changed it."""
        if not await self.registry.advance_epoch(placement_map, self.placement_map.epoch, self.lock.token):
            raise MigratorReplaced
        self.placement_map = placement_map
