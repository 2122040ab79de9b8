"""What a move would take: keys and bytes by family, slices, and about how long. Reads only."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from socialsite.migration.copying import family_of
from socialsite.migration.key_inventory import scanned
from socialsite.migration.record import Path
from socialsite.migration.store_pool import Places
from socialsite.store.key import Key

SAMPLE = 100
"""Keys of a family whose memory is asked for."""
KEYS_PER_S = 12_000
SLICE_S = 0.01
"""Both measured on one busy machine (docs/moving.md), so a site with servers of its own is quicker."""


@dataclass(slots=True)
class Survey:
    """Figures of a move that is only looked at; `bytes` are estimated from a sample of each family."""

    slices: int
    keys: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)

    @property
    def seconds(self) -> float:
        return self.keys.total() / KEYS_PER_S + self.slices * SLICE_S


async def survey(places: Places, paths: Mapping[str, Path], slices: int) -> Survey:
    """Count what would move along `paths`."""
    found, samples = Survey(slices), dict[str, list[Key]]()
    for source in dict.fromkeys(path.source for path in paths.values()):
        components = {name for name, path in paths.items() if path.source == source}
        for node in places.topology(source).nodes:
            async for key in scanned(node):
                if key.component in components:
                    family = family_of(key)
                    found.keys[family] += 1
                    if found.keys[family] <= SAMPLE:
                        samples.setdefault(family, []).append(key)
    for family, keys in samples.items():
        store = places.store(paths[keys[0].component].source)
        sizes = await store.gather([("MEMORY", "USAGE", key) for key in keys])
        found.bytes[family] = sum(size or 0 for size in sizes) * found.keys[family] // len(keys)
    return found
