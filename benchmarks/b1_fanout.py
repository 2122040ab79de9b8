"""Fan-out of one post to 10,000 followers' homes, compared with the fastest pushes of the server.

Ours: a job enters the outbox, a running worker reads the author's follow edges in passes and pushes the id to
10,000 existing homes, full to their cap, and trims homes above their maximum length; until the last pass is done.
Reference: `redis-benchmark` pushing to 10,000 lists of the same lengths on the same server and unix socket,
64 commands in flight on each of 50 connections: it reads no edges, decides nothing and trims nothing.

Ours is bounded by one core of the server and one of the worker, which overlap
(docs/reference/decisions/fan-out-passes.md). A push on one connection costs the server 0.5-0.6 us, on 50 with
their short reads and writes about 0.85; reading edges and trimming (a home once in 150 pushes) add 0.1-0.2.
The worker's 0.4-0.6 us are replies, wake-ups and, once a read, its round trips
(docs/images/flame-fanout.svg); before the first push and after the last one it waits for some 2 ms in all.
"""

import shutil
import subprocess

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_least
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import redis_server

FOLLOWERS = 10_000
POSTS, PUSHES_EACH = 20, 40
"""Posts of ours in a round, and pushes of the reference to each list; each takes about half a second."""


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from benchmarks.delivering import running_deliverer
    from benchmarks.full_homes import copy_each, fill_homes, followed_author
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services
    from timelines import keys

    followers, config = plan.size(FOLLOWERS), ServiceConfig()
    with redis_server() as server, server.client() as client:
        async with open_services(server.url, config) as services:
            author, owners = await followed_author(services, followers)
            fill_homes(client, owners, config.home_cap)
            copy_each(client, [(keys.home_timeline(o), lists_key(n)) for n, o in enumerate(owners)])
            async with running_deliverer(services, author) as worker:

                async def ours() -> float:
                    seconds = sum([await worker.deliver() for _ in range(POSTS)])
                    return POSTS * followers / seconds

                async def reference() -> float:
                    return pushes_per_s(str(server.socket), followers, PUSHES_EACH * followers)

                answers = await measure_in_rounds(plan.rounds, {"ours": ours, "reference": reference})
    return [
        Figure(
            f"one post to {followers:,} full homes, by the worker",
            "deliveries/s",
            Samples.all(answers["ours"]),
            at_least(0.70),
            Samples.all(answers["reference"]),
            "redis-benchmark LPUSH -P 64",
        )
    ]


def lists_key(number: int) -> str:
    """Return a key as redis-benchmark writes its __rand_int__: twelve digits."""
    return f"timelines:{{{number:012d}}}:list"


def pushes_per_s(socket: str, lists: int, pushes: int) -> float:
    binary = shutil.which("redis-benchmark")
    assert binary, "redis-benchmark is not installed (Debian package redis-tools)"
    command = [binary, "-s", socket, "-P", "64", "-n", str(pushes), "-r", str(lists), "--csv"]
    command += ["LPUSH", "timelines:{__rand_int__}:list", "3312345678901234"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return float(done.stdout.splitlines()[-1].split('","')[1].strip('"'))
