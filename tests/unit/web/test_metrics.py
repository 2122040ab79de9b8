"""A histogram has the same values after one batch as after single observations."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from socialsite.analytics.prometheus import BatchHistogram

BUCKETS = (0.5, 1, 2)
SECONDS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0])  # sums are exact in any order


@given(st.lists(st.lists(SECONDS)))
def test_a_batch_of_observations_counts_like_single_observations(batches: list[list[float]]) -> None:
    each, many = CollectorRegistry(), CollectorRegistry()
    one_by_one = Histogram("took", "seconds", ("node",), buckets=BUCKETS, registry=each).labels("a")
    at_once = BatchHistogram("took", "seconds", ("node",), buckets=BUCKETS, registry=many).labels("a")
    for batch in batches:
        for seconds in batch:
            one_by_one.observe(seconds)
        at_once.observe_many(batch)
    assert told(many) == told(each)


def told(registry: CollectorRegistry) -> list[bytes]:
    return [line for line in generate_latest(registry).splitlines() if b"_created" not in line]
