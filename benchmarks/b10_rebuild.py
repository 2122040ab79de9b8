"""Rebuild and read the first page of an uncached home for a reader who follows 1,000 accounts.

Their profiles have between one and some thousands of posts (log-normal, median 40), spread over a year. The time
is that of ReadingService.home of 30 alone: token, followees, profiles, one script that merges and stores 1,000
entries, then the page with posts, authors and rights.
"""

import random
import time
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import redis_server

if TYPE_CHECKING:
    from socialsite.container import Services
    from socialsite.ids import AccountId

FOLLOWED_COUNT = 1_000
REBUILD_COUNT = 5
YEAR_MS = 365 * 86_400_000


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    followed = plan.size(FOLLOWED_COUNT)
    with redis_server() as server:
        async with open_services(server.url, ServiceConfig()) as services:
            reader, posts = await _create_accounts(services, followed)

            async def rebuild() -> float:
                spent = 0.0
                for _ in range(REBUILD_COUNT):
                    await services.repositories.homes.invalidate(reader)
                    started = time.perf_counter()
                    page = await services.reading.home(reader)
                    spent += time.perf_counter() - started
                    assert len(page.entries) == 30
                    part = await services.repositories.homes.read_whole(reader)
                    assert part is not None
                    assert len(part.ids) == min(services.config.home_cap, posts)
                return spent * 1000 / REBUILD_COUNT

            results = await measure_in_rounds(plan.rounds, {"ours": rebuild})
    what = f"an absent home rebuilt and read, following {followed:,}"
    return [Figure(what, "ms", Samples.all(results["ours"]), at_most(150))]


async def _create_accounts(services: "Services", followed: int) -> "tuple[AccountId, int]":
    from benchmarks.town import random_text, store_posts
    from socialsite.ids import id_at
    from socialsite.store import Command
    from timelines import keys
    from timelines.graph.follow import Follow
    from timelines.posts.post import Post

    chance, now_ms = random.Random(20_261_120), services.clock.now_ms()
    handles = [f"writer_{n}" for n in range(followed)]
    people = await services.accounts.import_accounts(handles=["reader", *handles], now_ms=now_ms)
    reader, *writers = people.values()
    await services.repositories.follows.add_many(Follow(reader, writer, now_ms) for writer in writers)
    ids = []
    commands: list[Command] = []
    for writer in writers:
        for _ in range(min(5_000, 1 + round(chance.lognormvariate(3.7, 1.2)))):
            post_id = id_at(now_ms - 10_000 - chance.randrange(YEAR_MS), chance.randrange(4096))
            ids.append((post_id, writer))
            commands.append(("ZADD", keys.author_timeline(writer), post_id, post_id))
    for start in range(0, len(commands), 2_000):
        await services.store.execute_all(commands[start : start + 2_000])
    newest = sorted(ids, reverse=True)[:2_000]
    await store_posts(services, [Post(post_id, writer, random_text(chance, handles)) for post_id, writer in newest])
    return reader, len(ids)
