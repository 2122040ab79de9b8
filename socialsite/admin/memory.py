"""The memory of the site by key family, and its forecast, for the dashboard.

On a large site only a bounded number of keys is sampled. On a small site this module reads every key, as
`manage.py memory` always does. A sample of a large site may not contain a family with few keys. The forecast depends on
the families that grow with posts, which are measured by sampled posts (memory_shared.py).
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from socialsite.admin.memory_sample import SAMPLE_SIZE, MemorySampler, count_unexplained_bytes
from socialsite.admin.memory_shared import SharedKeySampler
from socialsite.container import Services
from socialsite.maintenance.memory import Forecast, MemoryMeter, MemoryReport, make_forecast, read_node_memory
from socialsite.store import Store
from socialsite.tasks import run_together
from socialsite.web.cache import get_or_compute

SNAPSHOT_TTL_S = 60.0


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """A memory report. `is_sampled` means that it is an estimate; `unexplained_bytes` are not in the report."""

    at_ms: int
    report: MemoryReport
    forecast: Forecast
    is_sampled: bool
    unexplained_bytes: int = 0


class MemoryMonitor:
    """Measures the memory. It keeps samples between two snapshots, so that the estimate becomes better."""

    def __init__(self, sample_size: int = SAMPLE_SIZE) -> None:
        self._sampler, self._shared_key_sampler = MemorySampler(sample_size), SharedKeySampler()

    async def take_snapshot(self, services: Services) -> MemorySnapshot:
        store, config, now_ms = services.store, services.config, services.clock.now_ms()
        nodes = list(await run_together(*(read_node_memory(node) for node in store.nodes)))
        is_sampled = sum(node.keys for node in nodes) > self._sampler.size
        if is_sampled:
            report = await self._sampler.build_report(store.nodes, nodes, now_ms)
            await self._shared_key_sampler.update_report(report, services, self._sampler.sampled_post_ids, now_ms)
        else:
            report = await MemoryMeter(store).measure(now_ms)
        forecast = make_forecast(report, config.home_cap, config.memory_reserve)
        unexplained_bytes = count_unexplained_bytes(report) if is_sampled else 0
        return MemorySnapshot(now_ms, report, forecast, is_sampled, unexplained_bytes)


_monitors: "WeakKeyDictionary[Store, MemoryMonitor]" = WeakKeyDictionary()


async def read_memory_snapshot(services: Services) -> MemorySnapshot:
    """Return a snapshot that is at most a minute old. All web processes share it through Django's cache."""
    monitor = _monitors.setdefault(services.store, MemoryMonitor())
    return await get_or_compute("memory", MemorySnapshot, SNAPSHOT_TTL_S, lambda: monitor.take_snapshot(services))
