"""Statistics: the costs of counting a request, of the flush, of a query and of a limit check.

A query is 24 hours of ten series, by the optimal rollup (hours: 250 points) and by minutes (14,410 points).
The flush moves 1,500 buffers to their totals, four round trips for each 2,048. A check is one hit of a limit
for two subjects, account and address, in one round trip; the reference is a bare PING on the same connection.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import redis_server

if TYPE_CHECKING:
    from socialsite.container import Services
    from socialsite.store import Store

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
SERIES = 10
BUFFERS = 1_000
REPEATS = 20


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    with redis_server() as server:
        async with open_services(server.url, ServiceConfig()) as services:
            figures = await measure_queries(services, plan)
            figures += await measure_counting(services, plan)
            return figures + await measure_checks(services.store, plan)


async def measure_queries(services: "Services", plan: Plan) -> list[Figure]:
    from socialsite.recipes.time_series import ALL_MEMBERS, MINUTE, Metric, MetricEvent, TimeSeries, count_commands

    series, now_ms = TimeSeries(services.store), services.clock.now_ms()
    kinds = [Metric(f"measured{letter}") for letter in "abcdefghij"[:SERIES]]
    for kind in kinds:
        times_ms = range(now_ms - DAY_MS, now_ms, 60_000)
        await services.store.execute_all(
            count_commands({MetricEvent(kind, ALL_MEMBERS, at // 1000): 3 for at in times_ms})
        )
    queries = [(kind, ALL_MEMBERS) for kind in kinds]

    async def by_hours() -> None:
        await series.read_ranges(queries, now_ms - DAY_MS, now_ms, now_ms=now_ms)

    async def by_minutes() -> None:
        await series.read_ranges(queries, now_ms - DAY_MS, now_ms, now_ms=now_ms, rollup=MINUTE)

    hours = [await median_ms(by_hours) for _ in range(plan.rounds)]
    minutes = [await median_ms(by_minutes, 3) for _ in range(plan.rounds)]
    return [
        Figure(f"24 h of {SERIES} series, by the optimal rollup", "ms", Samples.all(hours), at_most(10)),
        Figure(f"24 h of {SERIES} series, by minutes", "ms", Samples.all(minutes)),
    ]


async def measure_counting(services: "Services", plan: Plan) -> list[Figure]:
    from socialsite.recipes.buffer import Entity

    meter, flusher = services.statistics.meter, services.statistics.flusher
    counting, writing, flushing = [], [], []
    for _ in range(plan.rounds):
        started = time.process_time()
        for number in range(10_000):
            meter.count_response(200, is_page=True, account_id=number % 500)
        counting.append((time.process_time() - started) * 100)  # us for each call
        for number in range(BUFFERS):
            meter.count_view(Entity("post", number))
        writing.append(await median_ms(meter.flush, 1))
        flushing.append(await median_ms(lambda: flusher.flush(services.clock.now_ms()), 1))
    return [
        Figure("counting an answered request, in memory", "us of CPU", Samples.all(counting), at_most(10)),
        Figure(f"a second's counts written: 500 accounts, {BUFFERS} posts", "ms", Samples.all(writing)),
        Figure("buffers flushed to totals: about 1,500", "ms", Samples.all(flushing)),
    ]


async def measure_checks(store: "Store", plan: Plan) -> list[Figure]:
    from socialsite.recipes.rate_limit import Identifier, RateLimiter, Rule

    limits, rules = RateLimiter(store), [Rule("post", 9_999_999)]
    checks = [(Identifier.account(42), rules), (Identifier.address("192.0.2.1"), rules)]

    async def check() -> float:
        now_ms = await store.now_ms()
        return await median_ms(lambda: limits.hit_all(checks, now_ms), 500)

    async def ping() -> float:
        return await median_ms(lambda: store.nodes[0].execute("PING"), 500)

    results = await measure_in_rounds(plan.rounds, {"ours": check, "reference": ping})
    return [
        Figure(
            "limit check of account and address",
            "ms",
            Samples.all(results["ours"]),
            None,
            Samples.all(results["reference"]),
            "one PING",
            "one round trip; the rest is encoding and two scripts",
        )
    ]


async def median_ms(work: Callable[[], Awaitable[object]], times: int = REPEATS) -> float:
    took = []
    for _ in range(times):
        started = time.perf_counter()
        await work()
        took.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(0)
    return sorted(took)[len(took) // 2]
