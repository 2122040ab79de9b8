"""Round trips are counted many at once; none is lost where a command is over within a second."""

from prometheus_client import REGISTRY

from socialsite.analytics import prometheus as metrics
from socialsite.startup import open_services
from socialsite.store import StoreUrls


def counted() -> float:
    """Answers of all nodes that the histogram knows of."""
    samples = (sample for family in REGISTRY.collect() for sample in family.samples)
    return sum(sample.value for sample in samples if sample.name == "socialsite_redis_round_trip_seconds_count")


async def test_what_was_counted_last_is_there_when_the_services_close(redis_urls: StoreUrls) -> None:
    metrics.flush_round_trips()
    before = counted()
    async with open_services(redis_urls) as services:
        for _ in range(30):
            await services.store.now_ms()
    assert counted() >= before + 30
