"""The memory of the site by key family, and its forecast, for the dashboard."""

from dataclasses import dataclass

from socialsite.container import Services
from socialsite.maintenance.memory import Forecast, MemoryMeter, MemoryReport, make_forecast
from socialsite.web.cache import get_or_compute

SAMPLE_SIZE = 10_000
SNAPSHOT_TTL_S = 60.0


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """A memory report. `is_sampled` means that it is an estimate; `unexplained_bytes` are not in the report."""

    at_ms: int
    report: MemoryReport
    forecast: Forecast
    is_sampled: bool
    unexplained_bytes: int = 0


async def take_snapshot(services: Services, sample_size: int = SAMPLE_SIZE) -> MemorySnapshot:
    config, now_ms = services.config, services.clock.now_ms()
    report, is_sampled = await MemoryMeter(services.store, sample_size=sample_size).sample(now_ms)
    forecast = make_forecast(report, config.home_cap, config.memory_reserve)
    return MemorySnapshot(now_ms, report, forecast, is_sampled, report.unexplained_bytes if is_sampled else 0)


async def read_memory_snapshot(services: Services) -> MemorySnapshot:
    """Return a snapshot that is at most a minute old. All web processes share it through Django's cache."""
    return await get_or_compute("memory", MemorySnapshot, SNAPSHOT_TTL_S, lambda: take_snapshot(services))
