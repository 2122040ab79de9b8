"""Memory of one entry of a home of 1,000: the server's MEMORY USAGE of the whole key, divided by the entries.

Ours: a home that was built, then pushed to until every entry was replaced, trimmed on the way.
References: a ZSET of status id -> float time (Redis in Action, section 8.2), and the same with the book's advice
(footnote of chapter 8) to allow the compact encoding beyond 2,000 entries.
"""

import time

from redis import Redis

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.servers import redis_server

ENTRIES = 1000


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    results = [await _all_three() for _ in range(plan.rounds)]
    ours, zset, compact = map(Samples.all, zip(*results, strict=True))
    what, unit = f"a home of {ENTRIES:,} entries", "bytes/entry"
    return [
        Figure(what, unit, ours, at_most(12), zset, "a ZSET of status id -> time", absolute=True),
        Figure(what, unit, ours, None, compact, "the same, listpack"),
    ]


async def _all_three() -> tuple[float, float, float]:
    with redis_server() as server, server.client() as client:
        ours = await _ours(server.url, client)
        zset = _zset(client, "home:zset")
        client.config_set("zset-max-listpack-entries", 2100)
        return ours, zset, _zset(client, "home:compact")


async def _ours(url: str, client: Redis) -> float:
    from benchmarks.full_homes import old_ids
    from socialsite.ids import AccountId
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services
    from timelines import keys

    owner = AccountId(1)
    async with open_services(url, ServiceConfig(home_cap=ENTRIES)) as services:
        homes = services.repositories.homes
        token = await homes.begin_build(owner)
        assert token is not None
        await homes.finish_build(owner, token, old_ids(ENTRIES), 0)
        length = ENTRIES
        pushed = 0
        while pushed < 2 * ENTRIES or length != ENTRIES + 1:
            await homes.push([owner], services.ids.next_id())
            pushed += 1
            length = int(client.llen(keys.home_timeline(owner)))
        return memory_usage(client, keys.home_timeline(owner)) / (length - 1)


def _zset(client: Redis, key: str) -> float:
    from benchmarks.full_homes import old_ids

    now_s = time.time()
    client.zadd(key, {str(id): now_s - 7.123456 * n for n, id in enumerate(old_ids(ENTRIES))})
    return memory_usage(client, key) / ENTRIES


def memory_usage(client: Redis, key: str) -> int:
    """Return the memory of a key with every element counted (SAMPLES 0)."""
    return int(client.memory_usage(key, samples=0) or 0)
