"""The objects of the statistics, created together for one store."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from socialsite.analytics.meter import Meter
from socialsite.analytics.stats import Stats
from socialsite.ids import TimeSource
from socialsite.recipes.buffer import Buffers, BufferTotals, Flusher, TotalsKeyBuilder
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.store import Store

BUFFER_FLUSH_INTERVAL_S = 10.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """`meter` counts, `flusher` adds buffered counts to their totals, `stats` reads."""

    meter: Meter
    stats: Stats
    buffers: Buffers
    flusher: Flusher
    clock: TimeSource

    @classmethod
    def create(cls, store: Store, clock: TimeSource, totals_keys: Mapping[str, TotalsKeyBuilder]) -> Self:
        totals = BufferTotals(store, totals_keys)
        return cls(
            meter=Meter(store, clock),
            stats=Stats(store, totals),
            buffers=Buffers(store),
            flusher=Flusher(store, totals.apply),
            clock=clock,
        )

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        """The tasks that workers run."""
        return (PeriodicTask("flush", BUFFER_FLUSH_INTERVAL_S, self._flush),)

    async def _flush(self) -> None:
        flushed = await self.flusher.flush(self.clock.now_ms())
        if flushed.error is not None:
            raise flushed.error
