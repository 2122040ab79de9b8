"""Estimate the keys and bytes of each key family, the slices and the duration of a migration."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from socialsite.migration.key_inventory import scan_keys
from socialsite.migration.placement_map import MigrationRoute
from socialsite.migration.progress import key_family
from socialsite.migration.store_pool import StorePool
from socialsite.store.key import Key

SAMPLE_SIZE = 100
"""The number of keys of each family whose memory is measured."""
KEYS_PER_S = 12_000
SECONDS_PER_SLICE = 0.1
"""KEYS_PER_S and SECONDS_PER_SLICE were measured on one busy machine (docs/reference/migration.md).

Dedicated servers are faster.
"""


@dataclass(slots=True)
class Estimate:
    """Keys and bytes by family. The bytes are extrapolated from a sample of each family."""

    slices: int
    keys: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)

    @property
    def seconds(self) -> float:
        return self.keys.total() / KEYS_PER_S + self.slices * SECONDS_PER_SLICE


async def compute_estimate(stores: StorePool, routes: Mapping[str, MigrationRoute], slices: int) -> Estimate:
    """Count the keys that a migration along these routes would copy."""
    estimate, samples = Estimate(slices), dict[str, list[Key]]()
    for source in dict.fromkeys(route.source for route in routes.values()):
        components = {name for name, route in routes.items() if route.source == source}
        for node in stores.topology(source).nodes:
            async for key in scan_keys(node):
                if key.component in components:
                    family = key_family(key)
                    estimate.keys[family] += 1
                    if estimate.keys[family] <= SAMPLE_SIZE:
                        samples.setdefault(family, []).append(key)
    for family, keys in samples.items():
        store = stores.store(routes[keys[0].component].source)
        sizes = await store.execute_all([("MEMORY", "USAGE", key) for key in keys])
        estimate.bytes[family] = sum(size or 0 for size in sizes) * estimate.keys[family] // len(keys)
    return estimate
