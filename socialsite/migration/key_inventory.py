"""List all keys of a slice at its source while the site continues to write.

A cluster lists the keys of a slot. Any other source is scanned, once for as many slices as fit into memory. A scan
finds every key that existed during the whole scan. Processes report the keys that they wrote since the migration began
(touched keys) before they follow a blocked slice. If a process dies without its report, the source is scanned again.
"""

from collections.abc import AsyncIterator, Collection, Iterable

from socialsite.batches import batches
from socialsite.migration.errors import MigrationRefused
from socialsite.migration.placement_map import Migration, slice_of, slots_of
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.store_pool import StorePool
from socialsite.store.errors import StoreError
from socialsite.store.key import KEY_PATTERN, Key
from socialsite.store.node import Node
from socialsite.store.topology.cluster import Cluster

SCAN_COUNT = 1_000
MAX_KEYS_IN_MEMORY = 1_000_000
"""The maximum number of scanned keys in the migrator's memory. They use about 200 MB."""
MAX_KEYS_PER_SLOT = 1_000_000
SLOTS_PER_PIPELINE = 16
"""The number of slots whose keys are listed in one round trip."""


class UnreportedWrites(StoreError):
    """A process died after the scan without reporting the keys that it wrote."""


class KeyInventory:
    """The keys of the migrated components, by slice."""

    def __init__(self, migration: Migration, stores: StorePool, registry: PlacementRegistry) -> None:
        self._migration = migration
        self._stores = stores
        self._registry = registry
        self._slice_count = len(migration.slice_states)
        self._scanned: dict[int, set[Key]] = {}
        self._window = range(0)

    def invalidate(self) -> None:
        """Discard the scan, because a process died without reporting the keys that it wrote."""
        self._window = range(0)

    async def prepare_slice(self, number: int) -> None:
        """Scan the source if necessary, before the writes of a slice are blocked."""
        if self._migration.track_writes and number not in self._window:
            keys = await self._count_keys()
            width = max(1, self._slice_count * MAX_KEYS_IN_MEMORY // max(keys, MAX_KEYS_IN_MEMORY))
            self._window = range(number, number + width)
            self._scanned = await self._scan(self._window)

    async def slice_keys(self, number: int) -> set[Key]:
        """Return all keys of a slice whose writes are blocked in every process. Raises UnreportedWrites."""
        keys = await self._keys_in_slots(number)
        if self._migration.track_writes:
            if number not in self._window:
                raise UnreportedWrites
            keys |= self._scanned.get(number, set())
            keys.update(_parse_keys(await self._registry.read_touched_keys(number), self._scanned_components()))
        return keys

    def discard_slice(self, number: int) -> None:
        self._scanned.pop(number, None)

    async def keys_at(self, url: str, components: Collection[str], window: range | None = None) -> dict[int, set[Key]]:
        """Return the keys of these components in a store, by slice. If `window` is given, return only its slices."""
        keys_by_slice: dict[int, set[Key]] = {}
        for node in self._stores.topology(url).nodes:
            async for key in scan_keys(node):
                if key.component in components:
                    number = slice_of(key.tag, self._slice_count)
                    if window is None or number in window:
                        keys_by_slice.setdefault(number, set()).add(key)
        return keys_by_slice

    async def _scan(self, window: range) -> dict[int, set[Key]]:
        keys_by_slice: dict[int, set[Key]] = {}
        for url in self._sources(is_cluster=False):
            for number, keys in (await self.keys_at(url, self._components(url), window)).items():
                keys_by_slice.setdefault(number, set()).update(keys)
        return keys_by_slice

    async def _keys_in_slots(self, number: int) -> set[Key]:
        keys: set[Key] = set()
        slots = slots_of(number, self._slice_count)
        for url in self._sources(is_cluster=True):
            components = self._components(url)
            for node in self._stores.topology(url).nodes:
                for batch in batches(slots, SLOTS_PER_PIPELINE):
                    commands = [("CLUSTER", "GETKEYSINSLOT", slot, MAX_KEYS_PER_SLOT) for slot in batch]
                    for names in await node.execute_all(commands):
                        if len(names) == MAX_KEYS_PER_SLOT:
                            raise MigrationRefused(f"a slot has {MAX_KEYS_PER_SLOT} keys or more: nothing was moved")
                        keys.update(_parse_keys((name.decode(errors="replace") for name in names), components))
        return keys

    async def _count_keys(self) -> int:
        nodes = [node for url in self._sources(is_cluster=False) for node in self._stores.topology(url).nodes]
        return sum([int(await node.execute("DBSIZE")) for node in nodes])

    def _sources(self, *, is_cluster: bool) -> list[str]:
        urls = dict.fromkeys(route.source for route in self._migration.routes.values())
        return [url for url in urls if isinstance(self._stores.topology(url), Cluster) == is_cluster]

    def _components(self, url: str) -> set[str]:
        return {name for name, route in self._migration.routes.items() if route.source == url}

    def _scanned_components(self) -> set[str]:
        return {name for url in self._sources(is_cluster=False) for name in self._components(url)}


def _parse_keys(names: Iterable[str], components: Collection[str]) -> Iterable[Key]:
    keys = (Key.parse(name) for name in names if KEY_PATTERN.fullmatch(name))
    return (key for key in keys if key.component in components)


async def scan_keys(node: Node) -> AsyncIterator[Key]:
    """Yield every key of the site on a server. Some keys may be repeated."""
    cursor = b"0"
    while True:
        cursor, names = await node.execute("SCAN", cursor, "COUNT", SCAN_COUNT)
        for name in names:
            text = name.decode(errors="replace")
            if KEY_PATTERN.fullmatch(text):
                yield Key.parse(text)
        if cursor == b"0":
            return
