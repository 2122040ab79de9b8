"""Fan-out of one post to 10,000 followers' homes, against Redis in Action, listing 8.6.

Ours: as B1. Reference: syndicate_status (listing 8.6) in redis-py on the same server and socket: followers in
passes of 1,000, then one pipeline of ZADD and ZREMRANGEBYRANK a pass, on homes that are full ZSETs.
"""

import time

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_least
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import redis_server

FOLLOWERS = 10_000
POSTS = 10


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from benchmarks import seed
    from benchmarks.delivering import running_deliverer
    from benchmarks.full_homes import fill_homes, followed_author, old_ids
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    followers, config = plan.size(FOLLOWERS), ServiceConfig()
    with redis_server() as server, server.client() as client:
        async with open_services(server.url, config) as services:
            author, owners = await followed_author(services, followers)
            fill_homes(client, owners, config.home_cap)
            seed.fill(client, owners, "followers:1", old_ids(seed.HOME_TIMELINE_SIZE), time.time() - 86_400)
            async with running_deliverer(services, author) as worker:

                async def ours() -> float:
                    return POSTS * followers / sum([await worker.deliver() for _ in range(POSTS)])

                async def reference() -> float:
                    started = time.perf_counter()
                    seed.syndicate_status(client, "followers:1", services.ids.next_id(), time.time())
                    return followers / (time.perf_counter() - started)

                answers = await measure_in_rounds(plan.rounds, {"ours": ours, "reference": reference})
    return [
        Figure(
            f"one post to {followers:,} full homes, by the worker",
            "deliveries/s",
            Samples.all(answers["ours"]),
            at_least(8),
            Samples.all(answers["reference"]),
            "listing 8.6: ZADD + ZREMRANGEBYRANK",
        )
    ]
