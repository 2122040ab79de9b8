"""Where the memory goes, for the dashboard: by a bounded number of random keys, and kept for a minute.

`manage.py memory` walks over every key instead; small sites are walked here, too. A family that has few keys
on a large site may be missed by the sample; those that grow with posts, and so decide the forecast, are not.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from socialsite.ids import ms_of
from socialsite.operations.families import family_of
from socialsite.operations.forecast import Caps, Forecast, forecast
from socialsite.operations.memory import (
    POST_FAMILY,
    FamilyMemory,
    MemoryMeter,
    MemoryReport,
    NodeMemory,
    node_memory,
)
from socialsite.operations.scanning import keys_of
from socialsite.store import Key, Node, Store

if TYPE_CHECKING:
    from socialsite.services import Services

SAMPLE = 2_000
FRESH_MS = 60_000
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class MemoryLook:
    """`is_sampled`: families are inferred from random keys."""

    at_ms: int
    report: MemoryReport
    ahead: Forecast
    is_sampled: bool


class MemoryWatch:
    """One look a minute for each store of this process, however many dashboards are open."""

    _kept: ClassVar["WeakKeyDictionary[Store, MemoryWatch]"] = WeakKeyDictionary()

    def __init__(self, sample: int = SAMPLE) -> None:
        self._sample = sample
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
        is_sampled = sum(node.keys for node in nodes) > self._sample
        if is_sampled:
            report = await self._sampled(store.nodes, nodes, now_ms)
        else:
            report = await MemoryMeter(store).measure(now_ms)
        ahead = forecast(report, Caps(config.home_cap), config.memory_reserve)
        return MemoryLook(now_ms, report, ahead, is_sampled)

    async def _sampled(self, nodes: Sequence[Node], facts: list[NodeMemory], now_ms: int) -> MemoryReport:
        total = sum(node.keys for node in facts)
        report = MemoryReport(nodes=facts)
        for node, fact in zip(nodes, facts, strict=True):
            share = self._sample * fact.keys // total
            found = keys_of([k for k in await node.pipeline([("RANDOMKEY",)] * share) if k is not None])
            weights = await node.pipeline([("MEMORY", "USAGE", key) for key in found])
            for key, weight in zip(found, weights, strict=True):
                _count(report, key, weight, total / self._sample, now_ms)
        return report


def _count(report: MemoryReport, key: Key, weight: int | None, stands_for: float, now_ms: int) -> None:
    """`stands_for`: how many keys a picked one speaks for."""
    if weight is None:  # it went meanwhile
        return
    name = family_of(key)
    family = report.families.setdefault(name, FamilyMemory())
    family.weighed += 1
    family.weight += weight
    family.keys = round(family.weighed * stands_for)
    if name == POST_FAMILY:
        age = max(0, now_ms - ms_of(int(key.tag))) // DAY_MS
        report.posts_by_day[age] += round(stands_for)
