"""Fan-out: the worker delivers posts to 10,000 full homes as in B1, sampled in this process."""

import time

from benchmarks.flames import Flame
from benchmarks.sampling import sample_stacks
from benchmarks.servers import redis_server

FOLLOWERS = 10_000


async def collect(seconds: float) -> Flame:
    from benchmarks.delivering import running_deliverer
    from benchmarks.full_homes import fill_homes, followed_author
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    config = ServiceConfig()
    with redis_server() as server, server.client() as client:
        async with open_services(server.url, config) as services:
            author, owners = await followed_author(services, FOLLOWERS)
            fill_homes(client, owners, config.home_cap)
            async with running_deliverer(services, author) as worker:
                await worker.deliver()
                passes, until, began_s = 0, time.monotonic() + seconds, time.process_time()
                with sample_stacks() as stacks:
                    while time.monotonic() < until:
                        await worker.deliver()
                        passes += FOLLOWERS // config.posts_per_pass
                cpu_s = time.process_time() - began_s
    title = f"Syndication: passes of {config.posts_per_pass:,} followers, the worker's time"
    return Flame(title, stacks, "pass", passes, cpu_s)
