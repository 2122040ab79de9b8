"""Measure the choices of deploy/redis/redis.conf: encodings, by bytes and server time, and the cost of the AOF.

Entries: timelines of 1,000 post ids; an insert adds one id after the oldest was removed; its cost is the server's
own (INFO commandstats). Each way to store them is compared with the LIST of a home. An account: as sign-up stores
it, with hash-max-listpack-value at Redis's default of 64, and with our value. Durability: 50 concurrent writers
publish through PublishingService in one process; without an AOF, with appendfsync everysec (ours), and always.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples
from benchmarks.rounds import measure_in_rounds
from benchmarks.running import run_alone
from benchmarks.servers import redis_server

if TYPE_CHECKING:
    import redis

    from socialsite.container import Services

ENTRIES = 1_000
INSERTS, SLICES = 4_000, 40
KEYS = 20
WRITERS = 50
FIRST_ID = 3_400_000_000_000_000
CONF_VALUE = 1024  # hash-max-listpack-value of deploy/redis/redis.conf
FSYNC_MODES = {"no file": ("no", "no"), "everysec": ("yes", "everysec"), "always": ("yes", "always")}


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    return [*_entries(plan), *await _account(), *await _durability(plan)]


def _entries(plan: Plan) -> list[Figure]:
    with redis_server("--enable-debug-command", "yes") as server, server.client() as client:
        costs = {name: kind(client, plan) for name, kind in KINDS.items()}
        client.rpush("long", *range(FIRST_ID, FIRST_ID + 20_000))
        shape: Any = client.execute_command("DEBUG", "OBJECT", "long")
    words = dict(part.split(":", 1) for part in str(shape).split() if ":" in part)
    nodes = int(words["ql_nodes"])
    home = costs.pop("LIST")
    figures = [Figure("ids in a node of a LIST of 20,000 (8 kB)", "ids", Samples.of(20_000 / nodes))]
    for unit, at in (("bytes/entry", 0), ("us an insert", 1)):
        mine = Samples.of(home[at])
        figures.append(Figure("a LIST of 1,000 ids", unit, mine))
        figures += [
            Figure(f"{name} of 1,000", unit, Samples.of(each[at]), None, mine, "a LIST") for name, each in costs.items()
        ]
    return figures


def _measure_list(client: "redis.Redis", plan: Plan) -> tuple[float, float]:
    return _measure_inserts(
        client, plan, "lpush", lambda pipe, key, id: pipe.lpush(key, id), lambda pipe, key: pipe.rpop(key)
    )


def _measure_zset(most: int, score: Callable[[int], float]) -> "Callable[[redis.Redis, Plan], tuple[float, float]]":
    """Return a measurement of sorted sets that are compact up to `most` entries."""

    def measured(client: "redis.Redis", plan: Plan) -> tuple[float, float]:
        client.config_set("zset-max-listpack-entries", most)
        return _measure_inserts(
            client,
            plan,
            "zadd",
            lambda pipe, key, id: pipe.zadd(key, {str(id): score(id)}),
            lambda pipe, key: pipe.zpopmin(key),
        )

    return measured


def _measure_inserts(
    client: "redis.Redis",
    plan: Plan,
    command: str,
    add: "Callable[[Any, str, int], object]",
    drop: "Callable[[Any, str], object]",
) -> tuple[float, float]:
    """Return (bytes an entry, server's us an insert) of timelines with a constant length of 1,000."""
    client.flushall()
    names = [f"t{n}" for n in range(KEYS)]
    ids = itertools.count(FIRST_ID, 4096)
    _fill(client, names, ENTRIES * KEYS, lambda pipe, name: add(pipe, name, next(ids)))

    def turn(pipe: Any, name: str) -> None:
        drop(pipe, name)
        add(pipe, name, next(ids))

    costs: list[float] = []
    for _ in range(SLICES):
        client.config_resetstat()
        _fill(client, names, plan.size(INSERTS) // SLICES, turn)
        stats: Any = client.info("commandstats")
        costs.append(float(stats[f"cmdstat_{command}"]["usec_per_call"]))
    weight: Any = client.memory_usage(names[0], samples=0)
    return weight / ENTRIES, min(costs)  # the other slices had more interruptions


def _fill(client: "redis.Redis", names: list[str], count: int, each: "Callable[[Any, str], object]") -> None:
    for start in range(0, count, 1_000):
        pipe = client.pipeline(transaction=False)
        for number in range(start, min(count, start + 1_000)):
            each(pipe, names[number % len(names)])
        pipe.execute()


KINDS: "dict[str, Callable[[redis.Redis, Plan], tuple[float, float]]]" = {
    "LIST": _measure_list,
    "a ZSET, score = time": _measure_zset(128, lambda id: 1.7e9 + (id - FIRST_ID) / 4.096e6 + 0.123456),
    "a compact ZSET, score = time": _measure_zset(2_000, lambda id: 1.7e9 + (id - FIRST_ID) / 4.096e6 + 0.123456),
    "a compact ZSET, score = id": _measure_zset(2_000, float),
}


async def _account() -> list[Figure]:
    bytes_by_limit = {most: await _account_bytes(most) for most in (CONF_VALUE, 64)}
    ours, default = Samples.of(bytes_by_limit[CONF_VALUE]), Samples.of(bytes_by_limit[64])
    what = f"an account, hash-max-listpack-value {CONF_VALUE}"
    return [Figure(what, "bytes", ours, None, default, "Redis's default, 64")]


async def _account_bytes(most: int) -> float:
    from accounts import keys as account_keys
    from socialsite.ids import AccountId

    with redis_server("--hash-max-listpack-value", str(most)) as server:
        async with open_benchmark_services(server.url) as services:
            account = await services.accounts.sign_up(
                handle="somebody_here", password="rather long words 9", now_ms=services.clock.now_ms()
            )
            key = account_keys.account(AccountId(account.id))
            return float((await services.store.execute_all([("MEMORY", "USAGE", key, "SAMPLES", 0)]))[0])


async def _durability(plan: Plan) -> list[Figure]:
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:
        sides: dict[str, Callable[[], Awaitable[float]]] = {}
        for name, (file, sync) in FSYNC_MODES.items():
            server = stack.enter_context(redis_server("--appendonly", file, "--appendfsync", sync))
            services = await stack.enter_async_context(open_benchmark_services(server.url))
            sides[name] = await prepare_publishing(services, plan)
        results = await measure_in_rounds(plan.rounds, sides)
    none, ours, always = (Samples.all(results[name]) for name in FSYNC_MODES)
    return [
        Figure("50 writers, appendfsync everysec", "posts/s", ours, None, none, "no file"),
        Figure("50 writers, appendfsync always", "posts/s", always, None, ours, "everysec"),
    ]


def open_benchmark_services(url: str) -> Any:
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    return open_services(url, ServiceConfig())


async def prepare_publishing(services: "Services", plan: Plan) -> Callable[[], Awaitable[float]]:
    handles = [f"writer_{n}" for n in range(WRITERS)]
    writers = await services.accounts.import_accounts(handles=handles, now_ms=services.clock.now_ms())

    async def posts_a_s() -> float:
        started, until = time.perf_counter(), time.perf_counter() + plan.seconds

        async def write(author: Any) -> int:
            count = 0
            while time.perf_counter() < until:
                await services.publishing.publish(
                    author_id=author, text=f"the {count}th of many", now_ms=services.clock.now_ms()
                )
                count += 1
            return count

        done = sum(await asyncio.gather(*map(write, writers.values())))
        return done / (time.perf_counter() - started)

    return posts_a_s


if __name__ == "__main__":
    run_alone("B14", measure)
