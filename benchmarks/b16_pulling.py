"""The crossover between fan-out on write and fan-out on read for a much followed author's posts.

Pushing has a cost for each follower and post; pulling adds a cost to every read of a follower's home. Both are
measured by the CPU time of this process and of the server, in one process with 32 concurrent readers. The crossover
is the author's number of followers for each page read between two posts: above it pulling costs less.
"""

import asyncio
import resource
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from benchmarks.b4_home_read import READERS
from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples
from benchmarks.rounds import measure_in_rounds
from benchmarks.running import run_alone

if TYPE_CHECKING:
    from socialsite.container import Services
    from socialsite.ids import AccountId
    from tests.support.redis_server import RedisServer

FOLLOWERS = 10_000
SHORT_HOME = 20
POSTS, READS = 20, 6_400
PULLED_AUTHOR_COUNTS = (1, 10)
"""Numbers of pulled authors that a reader follows."""

Side = Callable[[], Awaitable[float]]


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from benchmarks.b9_growth import fresh_services
    from benchmarks.delivering import running_deliverer
    from benchmarks.full_homes import fill_homes, followed_author

    followers = plan.size(FOLLOWERS)
    async with fresh_services() as (services, server):
        author, owners = await followed_author(services, followers)
        with server.client() as client:
            fill_homes(client, owners, SHORT_HOME)
        readers = await readers_of(services)
        async with running_deliverer(services, author) as worker:

            async def push() -> float:
                before = cpu_s(server)
                for _ in range(POSTS):
                    await worker.deliver()
                return (cpu_s(server) - before) * 1e6 / POSTS / followers

            sides: dict[str, Side] = {
                "push": push,
                "read 0": prepare_home_reads(services, server, readers[0]),
            }
            for count in PULLED_AUTHOR_COUNTS:
                sides[f"read {count}"] = prepare_home_reads(services, server, readers[count])
            results = await measure_in_rounds(plan.rounds, sides)
    pushed, plain = Samples.all(results["push"]), Samples.all(results["read 0"])
    figures = [Figure("pushing a post, a follower", "us of CPU", pushed)]
    for count in PULLED_AUTHOR_COUNTS:
        pulled = Samples.all(results[f"read {count}"])
        what = f"reading a home, {count} of the followed pulled"
        figures.append(Figure(what, "us of CPU", pulled, None, plain, "none pulled"))
        more = [max(0.0, late - early) / count for late, early in zip(pulled.values, plain.values, strict=True)]
        crossover = [each / cost for each, cost in zip(more, pushed.values, strict=True)]
        what = f"crossover: pushes that cost as much as pulling one of {count} at one read"
        figures.append(Figure(what, "followers a read", Samples.all(crossover)))
    return figures


async def readers_of(services: "Services") -> "dict[int, AccountId]":
    """Return readers with no, one or ten pulled authors, by that number; each follows 50 authors."""
    now_ms = services.clock.now_ms()
    handles = [f"writer_{n}" for n in range(50)]
    names = {count: f"reader_{count}" for count in (0, *PULLED_AUTHOR_COUNTS)}
    people = await services.accounts.import_accounts(handles=[*handles, *names.values()], now_ms=now_ms)
    writers = [people[handle] for handle in handles]
    stars = writers[: max(PULLED_AUTHOR_COUNTS)]
    for star in stars:
        await services.repositories.fan_out_on_read_authors.add(star, now_ms - 3_600_000)
    readers = {count: people[name] for count, name in names.items()}
    for count, reader in readers.items():
        others = (
            writers[max(PULLED_AUTHOR_COUNTS) :]
            if count == 0
            else [*stars[:count], *writers[max(PULLED_AUTHOR_COUNTS) :]]
        )
        for writer in others:
            await services.following.follow(follower_id=reader, followed_id=writer, now_ms=now_ms)
    for number in range(150):
        author = writers[number % len(writers)]
        await services.publishing.publish(author_id=author, text=f"words {number}", now_ms=now_ms)
    return readers


def prepare_home_reads(services: "Services", server: "RedisServer", reader: "AccountId") -> Side:
    async def some() -> None:
        for _ in range(READS // READERS):
            await services.reading.home(reader)

    async def microseconds() -> float:
        before = cpu_s(server)
        await asyncio.gather(*(some() for _ in range(READERS)))
        return (cpu_s(server) - before) * 1e6 / READS

    return microseconds


def cpu_s(server: "RedisServer") -> float:
    """Return the CPU seconds used by this process and the server."""
    ours = resource.getrusage(resource.RUSAGE_SELF)
    with server.client() as client:
        theirs = client.info("cpu")
    return float(ours.ru_utime + ours.ru_stime + theirs["used_cpu_user"] + theirs["used_cpu_sys"])


if __name__ == "__main__":
    run_alone("B16", measure)
