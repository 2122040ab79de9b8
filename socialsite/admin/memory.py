"""Where the memory goes, for the dashboard: by a bounded number of keys, and kept for a minute.

`manage.py memory` walks over every key instead; small sites are walked here, too. A family that has few keys
on a large site may be missed by the sample; those that grow with posts, and so decide the forecast, are not:
what posts share is told by posts (memory_shared.py).
What the servers use and nobody met is told as such.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from socialsite.admin.memory_sample import SAMPLE, MemorySample, unseen_bytes
from socialsite.admin.memory_shared import SharedKeys
from socialsite.maintenance.forecast import Caps, Forecast, forecast
from socialsite.maintenance.memory import MemoryMeter, MemoryReport, node_memory
from socialsite.store import Store

if TYPE_CHECKING:
    from socialsite.services import Services

FRESH_MS = 60_000


@dataclass(frozen=True, slots=True)
class MemoryLook:
    """`is_sampled`: families are inferred from random keys; `unseen`: bytes used that they do not explain."""

    at_ms: int
    report: MemoryReport
    ahead: Forecast
    is_sampled: bool
    unseen: int = 0


class MemoryWatch:
    """One look a minute for each store of this process, however many dashboards are open."""

    _kept: ClassVar["WeakKeyDictionary[Store, MemoryWatch]"] = WeakKeyDictionary()

    def __init__(self, sample: int = SAMPLE) -> None:
        self._sample, self._shared = MemorySample(sample), SharedKeys()
        self._looking = asyncio.Lock()
        self._last: MemoryLook | None = None

    @classmethod
    def of(cls, store: Store) -> "MemoryWatch":
        return cls._kept.setdefault(store, cls())

    async def look(self, services: "Services") -> MemoryLook:
        now_ms = services.clock.now_ms()
        async with self._looking:
            if self._last is None or now_ms - self._last.at_ms > FRESH_MS:
                self._last = await self._measure(services, now_ms)
            return self._last

    async def _measure(self, services: "Services", now_ms: int) -> MemoryLook:
        store, config = services.store, services.config
        nodes = list(await asyncio.gather(*(node_memory(node) for node in store.nodes)))
        is_sampled = sum(node.keys for node in nodes) > self._sample.size
        if is_sampled:
            report = await self._sample.report(store.nodes, nodes, now_ms)
            await self._shared.tell(report, services, self._sample.posts, now_ms)
        else:
            report = await MemoryMeter(store).measure(now_ms)
        ahead = forecast(report, Caps(config.home_cap), config.memory_reserve)
        unseen = unseen_bytes(report) if is_sampled else 0
        return MemoryLook(now_ms, report, ahead, is_sampled, unseen)
