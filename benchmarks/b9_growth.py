"""The growth of costs: each figure is compared with itself at the smallest size, measured in turn.

Reading a home of 30 (ReadingService.home, 32 concurrent readers) for readers who follow 10, 100 and 1,000
accounts, and in towns of 10,000, 100,000 and 1,000,000 posts; one post by the worker to 100, 1,000, 10,000
and 100,000 followers with short homes, for each follower. Ratios above 1 mean that the larger one costs more.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.b4_home_read import LIMIT, pages_per_s
from benchmarks.environment import prepare
from benchmarks.figures import Budget, Figure, Plan, Samples, at_most
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import redis_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from socialsite.container import Services
    from socialsite.ids import AccountId
    from tests.support.redis_server import RedisServer

Side = Callable[[], Awaitable[float]]
FOLLOWS = (10, 100, 1_000)
POSTS = (10_000, 100_000, 1_000_000)
FOLLOWERS = (100, 1_000, 10_000, 100_000)
READERS = 50
SHORT_HOME = 20
DELIVERIES = 10_000
"""Approximate deliveries of each size in a round; in all rounds together no home exceeds its cap."""
MAX_GROWTH = 1.1
"""Limit of the cost for each follower, 100,000 relative to 10,000: a small fan-out is dominated by its fixed cost."""


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    return [*await _by_follows(plan), *await _by_posts(plan), *await _by_followers(plan)]


async def _by_follows(plan: Plan) -> list[Figure]:
    from benchmarks.town import create_synthetic_site, readers_of

    async with fresh_services() as (services, _):
        town = await create_synthetic_site(
            services, accounts=2_000 if not plan.quick else 1_200, posts=plan.size(20_000)
        )
        sides: dict[str, Side] = {}
        for count in FOLLOWS:
            readers = await readers_of(services, town, readers=READERS, follow=count)
            sides[f"{count:,}"] = prepare_home_reads(services, readers, plan)
        return growth("reading a home, following", await measure_in_rounds(plan.rounds, sides), at_most(1.3))


async def _by_posts(plan: Plan) -> list[Figure]:
    from benchmarks.town import build_homes, create_synthetic_site

    async with AsyncExitStack() as stack:
        sides: dict[str, Side] = {}
        for count in POSTS:
            services, _ = await stack.enter_async_context(fresh_services())
            town = await create_synthetic_site(services, posts=plan.size(count))
            readers = town.ids[:: len(town.ids) // READERS]
            await build_homes(services, readers)
            town.posts.clear()  # a million objects in this process would slow every garbage collection
            sides[f"{count:,}"] = prepare_home_reads(services, readers, plan)
        return growth("reading a home, posts", await measure_in_rounds(plan.rounds, sides), at_most(1.3))


async def _by_followers(plan: Plan) -> list[Figure]:
    async with AsyncExitStack() as stack:
        sides: dict[str, Side] = {}
        for count in FOLLOWERS[:-1] if plan.quick else FOLLOWERS:
            sides[f"{count:,}"] = await stack.enter_async_context(prepare_fan_out(count, plan))
        times = await measure_in_rounds(plan.rounds, sides)
        largest = dict(list(times.items())[-2:])
        what = "one post, a follower, followers"
        return [*growth(what, times, None), *growth(f"{what}, the largest two:", largest, at_most(MAX_GROWTH))]


def prepare_home_reads(services: "Services", readers: "list[AccountId]", plan: Plan) -> Side:
    async def microseconds() -> float:
        read = services.reading.home
        return 1e6 / await pages_per_s(lambda reader: read(reader, limit=LIMIT), readers, plan.seconds / 3)

    return microseconds


@asynccontextmanager
async def prepare_fan_out(followers: int, plan: Plan) -> "AsyncIterator[Side]":
    from benchmarks.delivering import running_deliverer
    from benchmarks.full_homes import fill_homes, followed_author

    async with fresh_services() as (services, server):
        author, owners = await followed_author(services, followers)
        with server.client() as client:
            fill_homes(client, owners, SHORT_HOME)
        async with running_deliverer(services, author) as worker:

            async def microseconds() -> float:
                posts = max(1, plan.size(DELIVERIES) // followers)
                return sum([await worker.deliver() for _ in range(posts)]) * 1e6 / posts / followers

            yield microseconds


@asynccontextmanager
async def fresh_services() -> "AsyncIterator[tuple[Services, RedisServer]]":
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    with redis_server() as server:
        async with open_services(server.url, ServiceConfig()) as services:
            yield services, server


def growth(what: str, found: dict[str, list[float]], budget: Budget | None) -> list[Figure]:
    """Return the ratio of each size to the smallest."""
    smallest, *larger = found
    least = Samples.all(found[smallest])
    sizes = {f"{what} {size}": Samples.all(found[size]) for size in larger}
    return [Figure(name, "us", ours, budget, least, smallest) for name, ours in sizes.items()]
