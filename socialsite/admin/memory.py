"""Where the memory goes, for the dashboard: by a bounded number of keys, and kept for a minute.

`manage.py memory` walks over every key instead; small sites are walked here, too. A family that has few keys
on a large site may be missed by the sample; those that grow with posts, and so decide the forecast, are not:
what posts share is told by posts (memory_shared.py).
What the servers use and nobody met is told as such.
"""

import asyncio
from dataclasses import dataclass
from typing import ClassVar
from weakref import WeakKeyDictionary

from socialsite.admin.memory_sample import SAMPLE_SIZE, MemorySampler, count_unexplained_bytes
from socialsite.admin.memory_shared import SharedKeySampler
from socialsite.container import Services
from socialsite.maintenance.memory import (
    Forecast,
    MemoryMeter,
    MemoryReport,
    TimelineCaps,
    make_forecast,
    read_node_memory,
)
from socialsite.store import Store

SNAPSHOT_TTL_MS = 60_000


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """`is_sampled`: families are inferred from random keys; `unseen`: bytes used that they do not explain."""

    at_ms: int
    report: MemoryReport
    forecast: Forecast
    is_sampled: bool
    unexplained_bytes: int = 0


class MemorySnapshotCache:
    """One look a minute for each store of this process, however many dashboards are open."""

    _cache_by_store: ClassVar["WeakKeyDictionary[Store, MemorySnapshotCache]"] = WeakKeyDictionary()

    def __init__(self, sample: int = SAMPLE_SIZE) -> None:
        self._sampler, self._shared_key_sampler = MemorySampler(sample), SharedKeySampler()
        self._lock = asyncio.Lock()
        self._snapshot: MemorySnapshot | None = None

    @classmethod
    def for_store(cls, store: Store) -> "MemorySnapshotCache":
        return cls._cache_by_store.setdefault(store, cls())

    async def get_snapshot(self, services: Services) -> MemorySnapshot:
        now_ms = services.clock.now_ms()
        async with self._lock:
            if self._snapshot is None or now_ms - self._snapshot.at_ms > SNAPSHOT_TTL_MS:
                self._snapshot = await self._measure(services, now_ms)
            return self._snapshot

    async def _measure(self, services: Services, now_ms: int) -> MemorySnapshot:
        store, config = services.store, services.config
        nodes = list(await asyncio.gather(*(read_node_memory(node) for node in store.nodes)))
        is_sampled = sum(node.keys for node in nodes) > self._sampler.size
        if is_sampled:
            report = await self._sampler.build_report(store.nodes, nodes, now_ms)
            await self._shared_key_sampler.update_report(report, services, self._sampler.sampled_post_ids, now_ms)
        else:
            report = await MemoryMeter(store).measure(now_ms)
        ahead = make_forecast(report, TimelineCaps(config.home_cap), config.memory_reserve)
        unseen = count_unexplained_bytes(report) if is_sampled else 0
        return MemorySnapshot(now_ms, report, ahead, is_sampled, unseen)
