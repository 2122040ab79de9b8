"""What a move would take: keys and bytes by family, slices, and about how long. Reads only."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from socialsite.migration.copying import key_family
from socialsite.migration.key_inventory import scan_keys
from socialsite.migration.record import MigrationRoute
from socialsite.migration.store_pool import StorePool
from socialsite.store.key import Key

SAMPLE_SIZE = 100
"""Keys of a family whose memory is asked for."""
KEYS_PER_S = 12_000
SECONDS_PER_SLICE = 0.01
"""Both measured on one busy machine (docs/reference/migration.md), so a site with servers of its own is quicker."""


@dataclass(slots=True)
class Estimate:
    """Figures of a move that is only looked at; `bytes` are estimated from a sample of each family."""

    slices: int
    keys: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)

    @property
    def seconds(self) -> float:
        return self.keys.total() / KEYS_PER_S + self.slices * SECONDS_PER_SLICE


async def compute_estimate(places: StorePool, paths: Mapping[str, MigrationRoute], slices: int) -> Estimate:
    """Count what would move along `paths`."""
    found, samples = Estimate(slices), dict[str, list[Key]]()
    for source in dict.fromkeys(path.source for path in paths.values()):
        components = {name for name, path in paths.items() if path.source == source}
        for node in places.topology(source).nodes:
            async for key in scan_keys(node):
                if key.component in components:
                    family = key_family(key)
                    found.keys[family] += 1
                    if found.keys[family] <= SAMPLE_SIZE:
                        samples.setdefault(family, []).append(key)
    for family, keys in samples.items():
        store = places.store(paths[keys[0].component].source)
        sizes = await store.gather([("MEMORY", "USAGE", key) for key in keys])
        found.bytes[family] = sum(size or 0 for size in sizes) * found.keys[family] // len(keys)
    return found
