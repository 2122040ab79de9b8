"""Round trips are counted in batches; none is lost in a process of less than a second."""

from prometheus_client import REGISTRY

from socialsite.analytics import prometheus as metrics
from socialsite.startup import open_services
from socialsite.store import StoreUrls


def counted() -> float:
    """Return the number of round trips of all nodes in the histogram."""
    samples = (sample for family in REGISTRY.collect() for sample in family.samples)
    return sum(sample.value for sample in samples if sample.name == "socialsite_redis_round_trip_seconds_count")


async def test_closing_the_services_records_the_last_round_trips(redis_urls: StoreUrls) -> None:
    metrics.flush_round_trips()
    before = counted()
    async with open_services(redis_urls) as services:
        for _ in range(30):
            await services.store.now_ms()
    assert counted() >= before + 30
