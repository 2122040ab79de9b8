"""A post with 100,000 followers, and its effect on the delivery of other authors' posts.

The worker is the one of `manage.py syndicate`, in this process. Follower counts are those of the busiest accounts
of the real graphs; homes are short (the cost of a push does not depend on their length). Meanwhile an author with
three followers posts every 20 ms: the time of each of these posts from the outbox to its last home is measured
during the large fan-out and without it.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most

if TYPE_CHECKING:
    from socialsite.container import Services
    from socialsite.ids import AccountId, PostId

FOLLOWERS, FEW = 100_000, 3
SHORT_HOME = 20
POST_INTERVAL_S = 0.02
SMALL_POSTS = 25


class TimedWorker:
    """A running worker that records the time at which each post was completely delivered."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._open: dict[int, asyncio.Future[float]] = {}
        self.last: dict[AccountId, PostId] = {}

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        from timelines.jobs import SyndicatePass, SyndicatePost, decode_job

        job = decode_job(payload)
        following = await self._services.fan_out.handle(payload)
        if not following and isinstance(job, SyndicatePost | SyndicatePass):
            post_id = job.post.id if isinstance(job, SyndicatePost) else job.post_id
            self._open.pop(post_id).set_result(time.perf_counter())
        return following

    async def deliver(self, author: "AccountId") -> float:
        """Deliver a post; return the seconds until no job of the post is left."""
        from timelines.jobs import SyndicatePost, encode_job
        from timelines.posts.post import Post

        post = Post(self._services.ids.next_id(), author, "The quick brown fox jumps over the lazy dog.")
        self.last[author] = post.id
        through = self._open[post.id] = asyncio.get_running_loop().create_future()
        started = time.perf_counter()
        await self._services.outbox.add(encode_job(SyndicatePost.from_post(post)))
        ended: float = await through
        return ended - started


@contextlib.asynccontextmanager
async def running_timed_worker(services: "Services") -> AsyncIterator[TimedWorker]:
    from socialsite.recipes.job_worker import Worker

    watched = TimedWorker(services)
    worker = Worker(services.outbox, watched.handle)
    running = asyncio.create_task(worker.run())
    try:
        yield watched
    finally:
        worker.stop()
        await running


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from benchmarks.b9_growth import fresh_services
    from benchmarks.delivering import require_in_homes
    from benchmarks.full_homes import fill_homes, followed_author

    large, alone_ms, beside_ms, followers = [], [], [], plan.size(FOLLOWERS)
    async with fresh_services() as (services, server):
        star, owners = await followed_author(services, followers, "star")
        small, few = await followed_author(services, FEW, "small")
        with server.client() as client:
            fill_homes(client, [*owners, *few], SHORT_HOME)
        async with running_timed_worker(services) as worker:
            await worker.deliver(star)  # warms the caches of the rounds
            for _ in range(plan.rounds):
                alone_ms.append(max([await measure_paced_posts(worker, small) for _ in range(SMALL_POSTS)]) * 1000)
                fan_out = asyncio.create_task(worker.deliver(star))
                waits: list[float] = []
                while not fan_out.done():
                    waits.append(await measure_paced_posts(worker, small))
                large.append(await fan_out * 100_000 / followers)
                beside_ms.append(max(waits) * 1000)
            for author, post_id in worker.last.items():
                await require_in_homes(services, author, post_id)
    later = [beside - by_itself for beside, by_itself in zip(beside_ms, alone_ms, strict=True)]
    what = "a small post, slowest of a round, beside the large one"
    return [
        Figure("one post, for each 100,000 followers", "s", Samples.all(large), at_most(1.0)),
        Figure(what, "ms", Samples.all(beside_ms), None, Samples.all(alone_ms), "nothing else under way"),
        Figure("how much later that is", "ms", Samples.all(later), at_most(50)),
    ]


async def measure_paced_posts(worker: TimedWorker, author: "AccountId") -> float:
    started = time.perf_counter()
    took = await worker.deliver(author)
    await asyncio.sleep(max(0.0, POST_INTERVAL_S - (time.perf_counter() - started)))
    return took
