"""Which keys a slice has at its source, with nothing missing although the site writes meanwhile.

A cluster lists the keys of a slot. Any other source is scanned, once for as many slices as fit into memory:
a scan finds what stood throughout it, and what was made since the move began every process has noted
(`touched`, told before a slice is said to be frozen). After a process died untold, the rest is scanned anew.
"""

from collections.abc import AsyncIterator, Collection, Iterable

from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.record import Migration, slice_of, slots_of
from socialsite.migration.store_pool import StorePool
from socialsite.store.errors import StoreError
from socialsite.store.key import KEY_PATTERN, Key
from socialsite.store.node import Node
from socialsite.store.topology.cluster import Cluster

SCAN_COUNT = 1_000
MAX_KEYS_IN_MEMORY = 1_000_000
"""About 200 MB of the mover."""
MAX_KEYS_PER_SLOT = 10_000_000
SLOTS_PER_PIPELINE = 256


class UnreportedWrites(StoreError):
    """A process died between the scan and now: its keys are in nobody's list."""


class KeyInventory:
    """Keys of the components on the move, by slice."""

    def __init__(self, move: Migration, places: StorePool, board: PlacementRegistry) -> None:
        self._migration = move
        self._stores = places
        self._registry = board
        self._slice_count = len(move.slices)
        self._scanned: dict[int, set[Key]] = {}
        self._window = range(0)

    def invalidate(self) -> None:
        """Somebody died without saying what it wrote: what was scanned before may lack keys."""
        self._window = range(0)

    async def prepare_slice(self, number: int) -> None:
        """Before a slice is frozen: scan, if that is what its source needs and has not been done."""
        if self._migration.tracked and number not in self._window:
            keys = await self._count_keys()
            width = max(1, self._slice_count * MAX_KEYS_IN_MEMORY // max(keys, MAX_KEYS_IN_MEMORY))
            self._window = range(number, number + width)
            self._scanned = await self._scan(self._window)

    async def slice_keys(self, number: int) -> set[Key]:
        """All keys of a slice that is frozen, and followed by everybody. Raises Untold."""
        found = await self._keys_in_slots(number)
        if self._migration.tracked:
            if number not in self._window:
                raise UnreportedWrites
            found |= self._scanned.get(number, set())
            found.update(self._parse_keys(await self._registry.read_touched_keys(number), self._scanned_components()))
        return found

    def discard_slice(self, number: int) -> None:
        """A slice that has moved."""
        self._scanned.pop(number, None)

    async def keys_at(self, url: str, components: Collection[str]) -> dict[int, set[Key]]:
        """Everything of these components at a store, by slice."""
        topology, found = self._stores.topology(url), dict[int, set[Key]]()
        for node in topology.nodes:
            async for key in scan_keys(node):
                if key.component in components:
                    found.setdefault(slice_of(key.tag, self._slice_count), set()).add(key)
        return found

    async def _scan(self, window: range) -> dict[int, set[Key]]:
        found: dict[int, set[Key]] = {}
        for url in self._sources(is_cluster=False):
            components = self._components(url)
            for node in self._stores.topology(url).nodes:
                async for key in scan_keys(node):
                    number = slice_of(key.tag, self._slice_count)
                    if number in window and key.component in components:
                        found.setdefault(number, set()).add(key)
        return found

    async def _keys_in_slots(self, number: int) -> set[Key]:
        found: set[Key] = set()
        slots = list(slots_of(number, self._slice_count))
        for url in self._sources(is_cluster=True):
            components = self._components(url)
            for node in self._stores.topology(url).nodes:
                for start in range(0, len(slots), SLOTS_PER_PIPELINE):
                    part = slots[start : start + SLOTS_PER_PIPELINE]
                    replies = await node.pipeline(
                        [("CLUSTER", "GETKEYSINSLOT", slot, MAX_KEYS_PER_SLOT) for slot in part]
                    )
                    for names in replies:
                        found.update(self._parse_keys((name.decode(errors="replace") for name in names), components))
        return found

    async def _count_keys(self) -> int:
        nodes = [n for url in self._sources(is_cluster=False) for n in self._stores.topology(url).nodes]
        return sum([int(await node.execute("DBSIZE")) for node in nodes])

    def _sources(self, *, is_cluster: bool) -> list[str]:
        urls = dict.fromkeys(path.source for path in self._migration.paths.values())
        return [url for url in urls if isinstance(self._stores.topology(url), Cluster) == is_cluster]

    def _components(self, url: str) -> set[str]:
        return {name for name, path in self._migration.paths.items() if path.source == url}

    def _scanned_components(self) -> set[str]:
        return {name for url in self._sources(is_cluster=False) for name in self._components(url)}

    @staticmethod
    def _parse_keys(names: Iterable[str], components: Collection[str]) -> Iterable[Key]:
        keys = (Key.parse(name) for name in names if KEY_PATTERN.fullmatch(name))
        return (key for key in keys if key.component in components)


async def scan_keys(node: Node) -> AsyncIterator[Key]:
    """Every key of a server that is one of a site, some of them twice."""
    cursor = b"0"
    while True:
        cursor, names = await node.execute("SCAN", cursor, "COUNT", SCAN_COUNT)
        for name in names:
            text = name.decode(errors="replace")
            if KEY_PATTERN.fullmatch(text):
                yield Key.parse(text)
        if cursor == b"0":
            return
