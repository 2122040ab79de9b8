"""The meter of a process counts in memory and sends one pipeline per node and second; no event is counted twice."""

import asyncio

import pytest

from socialsite.analytics import metrics
from socialsite.analytics.meter import LAST_SEEN_INTERVAL_MS, MAX_PENDING, Meter
from socialsite.analytics.stats import DAY_MS, Statistics
from socialsite.clock import FixedClock
from socialsite.migration.store_factory import open_store
from socialsite.recipes.buffer import Entity
from socialsite.recipes.time_series import ALL_MEMBERS
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Store, StoreUrls
from tests.support.buffer import POST_ENTITY, totals_key
from tests.support.redis_server import RedisServer
from tests.support.topologies import Deployment
from tests.support.world import Person, World


@pytest.fixture
async def clock(store: Store) -> FixedClock:
    return FixedClock(await store.now_ms())


@pytest.fixture
def statistics(store: Store, clock: FixedClock) -> Statistics:
    return Statistics.create(store, clock, {"post": totals_key, "account": totals_key})


@pytest.fixture
def meter(statistics: Statistics) -> Meter:
    return statistics.meter


async def test_counted_events_are_read_after_the_next_flush(
    statistics: Statistics, meter: Meter, clock: FixedClock
) -> None:
    meter.count(metrics.LOGINS)
    meter.count_response(200, is_page=True, account_id=3)
    meter.count_response(503, is_page=True, account_id=None)
    meter.count(metrics.REFUSALS, "post")
    await meter.flush()
    now_ms = clock.now_ms()
    queries = [
        (metrics.LOGINS, ALL_MEMBERS),
        (metrics.REQUESTS, ALL_MEMBERS),
        (metrics.PAGE_VIEWS, ALL_MEMBERS),
        (metrics.ERRORS, "503"),
        (metrics.REFUSALS, "post"),
    ]
    assert await statistics.stats.series.read_totals(queries, now_ms, now_ms, now_ms=now_ms) == [1, 2, 1, 1, 1]


async def test_an_event_counts_in_its_own_second(statistics: Statistics, meter: Meter, clock: FixedClock) -> None:
    first = clock.now_ms() // 60_000 * 60_000 + 59_999
    clock.time_ms = first
    meter.count_post(1)
    clock.advance(1)
    meter.count_post(1)
    await meter.flush()
    trends = await statistics.stats.trends(first, clock.now_ms(), now_ms=clock.now_ms())
    assert [point.count for point in trends["posts"]] == [1, 1]


async def test_no_event_is_counted_twice(statistics: Statistics, meter: Meter, clock: FixedClock) -> None:
    meter.count_post(1)
    await asyncio.gather(*(meter.flush() for _ in range(5)))
    await meter.flush()
    now_ms = clock.now_ms()
    assert (await statistics.stats.site_totals(now_ms, now_ms, now_ms=now_ms))["posts"] == 1


async def test_a_process_without_events_writes_nothing(meter: Meter, deployment: Deployment) -> None:
    await meter.flush()
    assert deployment.all_keys() == []


async def test_views_are_read_before_they_are_flushed(statistics: Statistics, meter: Meter) -> None:
    meter.count_view(POST_ENTITY)
    meter.count_view(POST_ENTITY)
    await meter.flush()
    (before,) = await statistics.stats.view_counts([POST_ENTITY])
    await statistics.flusher.flush(statistics.clock.now_ms())
    (after,) = await statistics.stats.view_counts([POST_ENTITY])
    assert before == after
    assert after.views == 2


async def test_an_accounts_last_visit_is_written_once_in_an_interval(
    statistics: Statistics, meter: Meter, clock: FixedClock
) -> None:
    start_ms = clock.now_ms() // LAST_SEEN_INTERVAL_MS * LAST_SEEN_INTERVAL_MS
    for offset_ms in (0, 1_000, 61_000, LAST_SEEN_INTERVAL_MS + 1_000, LAST_SEEN_INTERVAL_MS + 90_000):
        clock.time_ms = start_ms + offset_ms
        meter.count_response(200, is_page=True, account_id=9)
        await meter.flush()
    (visits,) = await statistics.stats.view_counts([Entity("account", 9)])
    assert visits.seen_ms == start_ms + LAST_SEEN_INTERVAL_MS + 1_000


async def test_an_account_is_active_on_every_day_of_a_visit(
    statistics: Statistics, meter: Meter, clock: FixedClock
) -> None:
    midnight = clock.now_ms() // DAY_MS * DAY_MS
    for account_id, at_ms in ((8, midnight - 5_000), (9, midnight - 1_000), (9, midnight + 1_000)):
        clock.time_ms = at_ms
        meter.count_response(200, is_page=True, account_id=account_id)
        await meter.flush()
    for hours in (0, 1, 23):  # the whole day, not the hour
        now_ms = midnight + hours * 3_600_000 + 2_000
        assert await statistics.stats.count_active_accounts(1, now_ms=now_ms) == 1
        assert await statistics.stats.count_active_accounts(2, now_ms=now_ms) == 2


async def test_events_written_after_midnight_count_on_their_own_day(
    statistics: Statistics, meter: Meter, clock: FixedClock
) -> None:
    midnight = clock.now_ms() // DAY_MS * DAY_MS
    clock.time_ms = midnight - 300
    meter.count_response(200, is_page=True, account_id=9)
    clock.time_ms = midnight + 700
    await meter.flush()
    yesterday, today, figures = ((midnight - DAY_MS, midnight - 1), (midnight, clock.now_ms()), statistics.stats)
    assert await figures.count_active_accounts(1, now_ms=clock.now_ms()) == 0
    assert await figures.count_active_accounts(2, now_ms=clock.now_ms()) == 1
    assert await figures.series.read_top(metrics.ACCOUNTS_BY_REQUESTS, *yesterday, 3, now_ms=clock.now_ms()) == [(9, 1)]
    assert await figures.series.read_top(metrics.ACCOUNTS_BY_REQUESTS, *today, 3, now_ms=clock.now_ms()) == []


async def test_the_most_active_accounts_are_listed_first(
    statistics: Statistics, meter: Meter, clock: FixedClock
) -> None:
    for account_id, times in ((1, 2), (2, 5), (3, 1)):
        for _ in range(times):
            meter.count_post(account_id)
    await meter.flush()
    now_ms = clock.now_ms()
    best = await statistics.stats.series.read_top(metrics.ACCOUNTS_BY_POSTS, now_ms, now_ms, 2, now_ms=now_ms)
    assert best == [(2, 5), (1, 2)]


async def test_latency_is_reported_as_quantiles(statistics: Statistics, meter: Meter, clock: FixedClock) -> None:
    meter.count_deliveries(98, 15)
    meter.count_deliveries(2, 4_000)
    await meter.flush()
    latency = await statistics.stats.latency(clock.now_ms(), clock.now_ms(), now_ms=clock.now_ms())
    assert latency.p50_ms is not None
    assert latency.p99_ms is not None
    assert 10 < latency.p50_ms <= 20
    assert 2_000 < latency.p99_ms <= 5_000


def test_quantiles_are_computed_from_buckets() -> None:
    counts = [0] * len(metrics.DELIVERY_LATENCY.bucket_names)
    assert metrics.DELIVERY_LATENCY.quantile(counts, 0.5) is None
    counts[1] = 10  # 5 to 10 ms
    assert metrics.DELIVERY_LATENCY.quantile(counts, 0.5) == 7.5
    assert metrics.DELIVERY_LATENCY.quantile(counts, 1.0) == 10
    counts[-1] = 1_000
    assert metrics.DELIVERY_LATENCY.quantile(counts, 0.99) == metrics.DELIVERY_LATENCY.bounds_ms[-1]
    assert [metrics.DELIVERY_LATENCY.bucket_name(ms) for ms in (0, 5, 5.1, 10**9)] == ["5", "5", "10", "more"]


async def test_counts_are_retained_while_a_server_is_unavailable() -> None:
    server = RedisServer().start()
    store = await open_store(server.url)
    statistics = Statistics.create(store, FixedClock(await store.now_ms()), {})
    try:
        server.kill()
        for _ in range(3):
            statistics.meter.count_response(503, is_page=True, account_id=None)
            await statistics.meter.flush()
        server.start()
        await statistics.meter.flush()
        now_ms = statistics.clock.now_ms()
        assert (await statistics.stats.site_totals(now_ms, now_ms, now_ms=now_ms))["errors"] == 3
        assert statistics.meter.dropped == 0
    finally:
        await store.close()
        server.stop()


async def test_the_number_of_unwritten_events_is_bounded(meter: Meter) -> None:
    for number in range(MAX_PENDING + 50):
        meter.count_view(Entity("post", number))
        meter.count_view(POST_ENTITY)
    assert meter.dropped == 50


async def test_requests_are_recorded_by_the_meter(world: World) -> None:
    services = world.services
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)
    await bob.home()
    for number in range(3):
        await alice.publishes(f"post {number}", key=f"key {number}")
    await alice.publishes("post 2", key="key 2")  # the same again
    await world.deliver_all()
    await services.statistics.meter.flush()
    now_ms = services.clock.now_ms()
    totals = await services.statistics.stats.site_totals(now_ms - 60_000, now_ms, now_ms=now_ms)
    assert (totals["posts"], totals["deliveries"]) == (3, 3)
    latency = await services.statistics.stats.latency(now_ms - 60_000, now_ms, now_ms=now_ms)
    assert latency.p99_ms is not None


async def test_closing_the_services_writes_the_last_second(redis_urls: StoreUrls) -> None:
    async with open_services(redis_urls, ServiceConfig()) as services:
        services.statistics.meter.count_post(1)
    async with open_services(redis_urls, ServiceConfig()) as services:
        now_ms = services.clock.now_ms()
        totals = await services.statistics.stats.site_totals(now_ms - 5_000, now_ms, now_ms=now_ms)
    assert totals["posts"] == 1


async def test_a_deleted_posts_counters_are_deleted(world: World, alice: Person) -> None:
    post = await alice.publishes("words")
    statistics = world.services.statistics
    statistics.meter.count_view(Entity("post", post.id))
    await statistics.meter.flush()
    await statistics.flusher.flush(world.services.clock.now_ms())
    await alice.deletes(post)
    (visits,) = await statistics.stats.view_counts([Entity("post", post.id)])
    assert visits.views == 0


def test_metric_names_are_valid_in_keys() -> None:
    for kind in (metrics.POSTS, metrics.PAGE_VIEWS, metrics.LOGINS, metrics.REFUSALS, metrics.ACCOUNTS_BY_POSTS):
        assert kind.name.isalpha()
        assert kind.name.islower()
