"""Unit costs used by docs/reference/scale.md: bytes of each kind of data, server's CPU time of each operation.

Bytes are the growth of used_memory: 20,000 accounts, the slashdot graph's follows (both sides), 20,000 posts
of 60 to 300 characters with their profiles. CPU is the server process's own: a delivery to one of 10,000 full
homes (edges read, pushes, trims, the job), a page of 30 at home and one of the public timeline (posts,
authors, rights), a publish until its answer, a job through the outbox. These figures have no budget.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from benchmarks.b4_home_read import LIMIT, pages_per_s
from benchmarks.b9_growth import fresh_services
from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples
from benchmarks.graphs import edges_of
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import cpu_s

if TYPE_CHECKING:
    from benchmarks.delivering import Deliverer
    from socialsite.container import Services
    from socialsite.ids import AccountId
    from tests.support.redis_server import RedisServer

Cost = tuple[float, float]
"""(CPU us of the server, CPU us of this process)."""
Side = Callable[[], Awaitable[Cost]]
Read = Callable[..., Awaitable[object]]
WEEK_MS = 7 * 86_400_000
ACCOUNTS, POSTS, FOLLOWERS = 20_000, 20_000, 10_000
EDGES_PER_BATCH = 20_000
PUBLISHED, JOBS = 1_000, 5_000


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    return [*await _bytes(plan), *await _work(plan)]


async def _bytes(plan: Plan) -> list[Figure]:
    from benchmarks.town import create_synthetic_site
    from socialsite.ids import AccountId
    from timelines.graph.follow import Follow

    figures: list[Figure] = []
    async with fresh_services() as (services, server):
        now_ms, weight = services.clock.now_ms(), memory_of(server)
        handles = [f"person_{n:06d}" for n in range(plan.size(ACCOUNTS))]
        await services.accounts.import_accounts(handles=handles, now_ms=now_ms)
        figures.append(cost_per_item("account", weight(), len(handles)))
        edges = list(islice(edges_of("slashdot"), plan.size(1_000_000)))
        weight()
        for some in chunks(edges, EDGES_PER_BATCH):
            await services.repositories.follows.add_many(
                Follow(AccountId(one), AccountId(other), now_ms) for one, other in some
            )
        figures.append(cost_per_item("follow", weight(), len(edges)))
    async with fresh_services() as (services, server):
        weight = memory_of(server)
        before = await create_synthetic_site(services, posts=plan.size(POSTS) // 20)
        weight()
        more = plan.size(POSTS)
        await write_more(services, before.ids, more)
        figures.append(cost_per_item("post", weight(), more))
    return figures


async def _work(plan: Plan) -> list[Figure]:
    from benchmarks.delivering import running_deliverer
    from benchmarks.full_homes import fill_homes, followed_author
    from benchmarks.town import build_homes, create_synthetic_site

    async with fresh_services() as (services, server), fresh_services() as (town_services, town_server):
        followers = plan.size(FOLLOWERS)
        author, owners = await followed_author(services, followers)
        with server.client() as client:
            fill_homes(client, owners, services.config.home_cap)
        town = await create_synthetic_site(town_services, posts=plan.size(20_000))
        readers = town.ids[:: len(town.ids) // 100]
        await build_homes(town_services, readers)
        async with running_deliverer(services, author) as worker:
            sides = {
                "delivery": prepare_deliveries(worker, server, followers),
                "home page": prepare_reads(town_services.reading.home, readers, town_server, plan),
                "public page": prepare_reads(public_reader(town_services), readers, town_server, plan),
                "publish": prepare_publishing(town_services, readers, town_server, plan.size(PUBLISHED)),
                "job": prepare_jobs(town_services, town_server, plan.size(JOBS)),
            }
            costs = await measure_in_rounds(plan.rounds, sides)
    return [
        Figure(f"a {what}", "CPU us of the server", Samples.all(server for server, _ in found),
               note=f"{Samples.all(own for _, own in found)} of the client")
        for what, found in costs.items()
    ]  # fmt: skip


def prepare_deliveries(worker: "Deliverer", server: "RedisServer", followers: int) -> Side:
    async def work() -> float:
        for _ in range(20):
            await worker.deliver()
        return 20 * followers

    return measure_server_cpu(server, work)


def prepare_reads(read: Read, readers: "list[AccountId]", server: "RedisServer", plan: Plan) -> Side:
    async def work() -> float:
        started = time.perf_counter()
        rate = await pages_per_s(lambda reader: read(reader, limit=LIMIT), readers, plan.seconds)
        return rate * (time.perf_counter() - started)

    return measure_server_cpu(server, work)


def public_reader(services: "Services") -> Read:
    async def read(_reader: "AccountId", limit: int) -> object:
        return await services.reading.public(viewer_id=None, limit=limit)

    return read


def prepare_publishing(services: "Services", authors: "list[AccountId]", server: "RedisServer", posts: int) -> Side:
    """Publish posts without a worker: jobs and deliveries are measured separately."""
    from benchmarks.delivering import TEXT

    async def work() -> float:
        for number in range(posts):
            author, now_ms = authors[number % len(authors)], services.clock.now_ms()
            await services.publishing.publish(author_id=author, text=TEXT, now_ms=now_ms)
        return posts

    return measure_server_cpu(server, work)


def prepare_jobs(services: "Services", server: "RedisServer", count: int) -> Side:
    """Add jobs to a separate queue, fetch them by hundreds as a busy worker does, and finish them."""
    from socialsite.recipes.job_queue import JobQueue

    queue = JobQueue(services.store, "units")

    async def work() -> float:
        await queue.create_group()
        await queue.send_heartbeat("abad1dea")
        for _ in range(count):
            await queue.add(b"x" * 400)
        while found := await queue.fetch("abad1dea", 100, 1):
            for job in found:
                await queue.finish(job)
        return count

    return measure_server_cpu(server, work)


def measure_server_cpu(server: "RedisServer", work: Callable[[], Awaitable[float]]) -> Side:
    """Measure the CPU time for each operation; `work` returns the number of its operations."""

    async def cost() -> Cost:
        server_s, own_s = cpu_s(server.pid), time.process_time()
        done = await work()
        return (cpu_s(server.pid) - server_s) * 1e6 / done, (time.process_time() - own_s) * 1e6 / done

    return cost


async def write_more(services: "Services", authors: "list[AccountId]", count: int) -> None:
    """Write posts with their profiles to an existing synthetic site."""
    import random

    from benchmarks.town import store_posts, write_posts

    handles = [f"citizen_{n:04d}" for n in range(len(authors))]
    earlier_ms = services.clock.now_ms() - WEEK_MS
    await store_posts(services, write_posts(random.Random(1), handles, authors, count, earlier_ms))


def memory_of(server: "RedisServer") -> Callable[[], int]:
    """Return a function that returns the growth of the server's data in bytes since its last call."""
    last = 0

    def grown() -> int:
        nonlocal last
        with server.client() as client:
            now = int(client.info("memory")["used_memory"])
        grown, last = now - last, now
        return grown

    grown()
    return grown


def cost_per_item(what: str, grown: int, count: int) -> Figure:
    return Figure(f"a {what}", "bytes", Samples.of(grown / count), note=f"of {count:,}")


def chunks(edges: Sequence[tuple[int, int]], size: int) -> Iterator[Sequence[tuple[int, int]]]:
    return (edges[start : start + size] for start in range(0, len(edges), size))
