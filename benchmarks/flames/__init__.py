"""The workloads of `python -m benchmarks.flame NAME`: one module each, with `async def collect(seconds)`."""

from collections import Counter
from dataclasses import dataclass

from benchmarks.sampling import Stack

NAMES = ("home", "fanout")


@dataclass(frozen=True, slots=True)
class Flame:
    """Sampled `stacks` of `count` units of work (a page, a pass), which took `cpu_s` in all."""

    title: str
    stacks: Counter[Stack]
    unit: str
    count: int
    cpu_s: float

    @property
    def unit_us(self) -> float:
        return self.cpu_s * 1e6 / max(1, self.count)
