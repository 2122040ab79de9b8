"""Reading one home page of 30 in one process with 32 concurrent readers, without HTML.

Ours: ReadingService.home: the ids, then posts, numbers of replies, authors as they are now, and whether the
reader still follows each of them; 32 tasks on the store's one shared connection.
Reference: get_status_messages (Redis in Action, listing 8.3) in redis-py asyncio: the ids, then one MULTI of
30 HGETALL, and the same numbers of replies; its statuses have their author's name; no rights are checked.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis as AsyncRedis

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_least
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import redis_server

if TYPE_CHECKING:
    from benchmarks.town import SyntheticSite
    from socialsite.container import Services
    from socialsite.ids import AccountId

READERS = 32
LIMIT = 30
BATCH = 1_000


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from benchmarks import seed
    from benchmarks.town import build_homes, create_synthetic_site
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    with redis_server() as server:
        async with open_services(server.url, ServiceConfig()) as services:
            town = await create_synthetic_site(services, plan.size(1_000), plan.size(20_000))
            readers = town.ids[:: max(1, len(town.ids) // 200)]
            await build_homes(services, readers)
            client = AsyncRedis(unix_socket_path=str(server.socket), max_connections=READERS)
            await copy_to_seed(services, town, readers, client)

            async def ours() -> float:
                read = services.reading.home
                return await pages_per_s(lambda reader: read(reader, limit=LIMIT), readers, plan.seconds)

            async def reference() -> float:
                read = seed.get_status_messages
                return await pages_per_s(lambda reader: read(client, reader, LIMIT), readers, plan.seconds)

            answers = await measure_in_rounds(plan.rounds, {"ours": ours, "reference": reference})
            await client.aclose()
    return [
        Figure(
            f"home page of {LIMIT}, {READERS} readers at once",
            "pages/s",
            Samples.all(answers["ours"]),
            at_least(4),
            Samples.all(answers["reference"]),
            "Redis in Action, listing 8.3, asyncio",
        )
    ]


async def pages_per_s(
    read: Callable[["AccountId"], Awaitable[object]], readers: Sequence["AccountId"], seconds: float
) -> float:
    """Run 32 tasks that read one page after another, each for another reader."""
    pages = 0
    turn = itertools.cycle(readers)
    started = time.perf_counter()

    async def reading() -> None:
        nonlocal pages
        while time.perf_counter() - started < seconds:
            await read(next(turn))
            pages += 1

    await asyncio.gather(*(reading() for _ in range(READERS)))
    return pages / (time.perf_counter() - started)


async def copy_to_seed(
    services: "Services", town: "SyntheticSite", readers: Sequence["AccountId"], client: "AsyncRedis"
) -> None:
    """Copy the posts and homes to the layout of Redis in Action."""
    names = {account_id: handle for handle, account_id in town.people.items()}
    for start in range(0, len(town.posts), BATCH):
        pipe = client.pipeline(transaction=False)
        for post in town.posts[start : start + BATCH]:
            status: dict[Any, Any] = {
                "message": post.text, "posted": post.created_ms / 1000, "id": post.id,
                "uid": post.author_id, "login": names[post.author_id],
            }  # fmt: skip
            pipe.hset(f"status:{post.id}", mapping=status)
            if post.in_reply_to:
                pipe.zadd(f"replies:{post.in_reply_to}", {str(post.id): post.created_ms / 1000})
        await pipe.execute()
    for reader in readers:
        part = await services.repositories.homes.read_whole(reader)
        assert part is not None
        assert len(part.ids) > LIMIT, "the town is too quiet to fill a page"
        await client.zadd(f"home:{reader}", {str(id): float(id >> 12) for id in part.ids})
