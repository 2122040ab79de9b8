"""The three sides of the statistics: the meter that counts, the flusher that settles, the figures told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from socialsite.analytics.meter import Meter
from socialsite.analytics.stats import Figures
from socialsite.ids import Now
from socialsite.recipes.buffer import Buffers
from socialsite.recipes.buffer_flush import Flusher
from socialsite.recipes.buffer_totals import KeyOfTotals, Totals
from socialsite.recipes.periodic_tasks import Turn
from socialsite.store import Store

FLUSH_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """`places`: where the totals of a kind of entity live."""

    meter: Meter
    figures: Figures
    buffers: Buffers
    flusher: Flusher
    clock: Now

    @classmethod
    def over(cls, store: Store, clock: Now, places: Mapping[str, KeyOfTotals]) -> Self:
        totals = Totals(store, places)
        return cls(
            meter=Meter(store, clock),
            figures=Figures(store, totals),
            buffers=Buffers(store),
            flusher=Flusher(store, totals.apply),
            clock=clock,
        )

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The workers' part."""
        return (Turn("flush", FLUSH_EVERY_S, self._flush),)

    async def _flush(self) -> None:
        flushed = await self.flusher.flush(self.clock.now_ms())
        if flushed.trouble is not None:
            raise flushed.trouble
