"""A large site with many readers behind nginx, while posts are published and delivered.

The store is one server over TCP with an append-only file (everysec). It has 100,000 accounts that follow 48 others on
average, and 1,000,000 posts in several languages and scripts: a tenth are boosts, half have likes. 10,000 accounts
read; each has blocks, mutes, filters, a list and unread notifications. A load requests the homes of readers that a
power law selects.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from benchmarks.environment import prepare
from benchmarks.figures import Plan
from benchmarks.imported import data_path
from benchmarks.servers import BenchmarkDaphne, cpu_s, running_daphne, running_worker
from benchmarks.web import CSRF, HEADERS, request

if TYPE_CHECKING:
    from redis import Redis, RedisCluster

    from socialsite.container import Services
    from socialsite.ids import AccountId, PostId
    from socialsite.store import Command
    from timelines.posts.post import Post

ACCOUNTS, POSTS, READERS = 100_000, 1_000_000, 10_000
FOLLOWS_MEAN = 48
BOOST_SHARE, LIKED_SHARE, LIKES_MEAN = 0.1, 0.5, 3
POSTS_PER_S = 20
REQUESTS = 20_000
"""Number of different requests in a load. Each is by a reader chosen with weight 1/rank^0.8."""
YEAR_MS = 365 * 86_400_000
BATCH = 5_000
CONCURRENCY = 64
CORPORA = ("posts/ubuntu-irc.jsonl.gz", "posts/whitehouse-flotus.jsonl.gz", "posts/wisesight-thai.jsonl.gz")


@dataclass(slots=True)
class AsMetSite:
    """A running site: its processes, and the requests of its readers."""

    redis_pids: Sequence[int]
    redis_url: str
    jobs: "Redis | RedisCluster"
    """A client of the server with the jobs."""
    port: int
    cookies: dict["AccountId", str]
    web: BenchmarkDaphne
    worker: int
    numbers: Iterator[int] = field(default_factory=itertools.count)
    published: int = 0

    @property
    def cpu_s(self) -> float:
        """The processor seconds of all web processes, the worker and Redis."""
        return self.web.cpu_s + cpu_s(self.worker) + sum(map(cpu_s, self.redis_pids))

    def homes(self, readers_count: int = READERS) -> list[bytes]:
        """Return the requests of a load, by readers chosen by a power law."""
        readers = list(self.cookies)[:readers_count]
        weights = [1 / (rank + 1) ** 0.8 for rank in range(len(readers))]
        return [self._request("GET", "/", reader) for reader in random.Random(7).choices(readers, weights, k=REQUESTS)]

    def post(self, author: "AccountId", text: str) -> bytes:
        key = f"bench-{next(self.numbers)}"
        body = urlencode({"csrfmiddlewaretoken": CSRF, "text": text, "idempotency_key": key}).encode()
        return self._request("POST", "/posts/", author, body)

    def _request(self, method: str, path: str, reader: "AccountId", body: bytes = b"") -> bytes:
        headers = {**HEADERS, "Host": f"127.0.0.1:{self.port}", "Accept-Encoding": "gzip"}
        headers["Cookie"] = f"sessionid={self.cookies[reader]}; csrftoken={CSRF}"
        if body:
            headers |= {"Origin": f"http://127.0.0.1:{self.port}", "Content-Length": str(len(body))}
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return request(method, path, headers, body)

    @contextlib.asynccontextmanager
    async def publishing(self) -> AsyncIterator[None]:
        """Publish POSTS_PER_S over HTTP during the block. Raises RuntimeError if a post is refused."""
        stop = asyncio.Event()
        task = asyncio.create_task(self._publish(stop))
        try:
            yield
        finally:
            stop.set()
            await task

    async def publish_once(self, author: "AccountId") -> None:
        """Publish one post, as `publishing` does."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            await self._send_post(reader, writer, author)
        finally:
            writer.close()

    async def _publish(self, stop: asyncio.Event) -> None:
        authors, chance = list(self.cookies), random.Random(11)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            while not stop.is_set():
                await self._send_post(reader, writer, chance.choice(authors))
                await asyncio.sleep(1 / POSTS_PER_S)
        finally:
            writer.close()

    async def _send_post(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, author: "AccountId") -> None:
        writer.write(self.post(author, f"Post number {next(self.numbers)} of this afternoon"))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 303 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError(f"a post was refused: {head[:80]!r}")
        await read_body(reader, head)
        self.published += 1

    async def wait_until_delivered(self) -> None:
        """Wait until every home has the published posts: the stream of jobs is empty."""
        from tests.support.waiting import eventually

        await eventually(lambda: not self.jobs.xlen("jobs:{outbox}:stream"), timeout_s=60)


async def read_body(reader: asyncio.StreamReader, head: bytes) -> None:
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    if lengths:
        await reader.readexactly(int(lengths[0]))
    elif b"chunked" in head.lower():
        await reader.readuntil(b"0\r\n\r\n")


@contextlib.asynccontextmanager
async def as_met_site(plan: Plan) -> AsyncIterator[AsMetSite]:
    """Populate a store and run the site on it."""
    prepare()
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services
    from tests.support.ports import free_port
    from tests.support.redis_server import RedisServer

    redis_port = free_port()
    with contextlib.ExitStack() as stack:
        redis = RedisServer(aof=True, options=("--port", str(redis_port), "--bind", "127.0.0.1"))
        stack.callback(redis.stop)
        redis.start()
        url = f"redis://127.0.0.1:{redis_port}/0"
        async with open_services(url, ServiceConfig()) as services:
            cookies = await populate(services, plan)
        yield stack.enter_context(running_site(url, [redis.pid], redis.client(), cookies))


@contextlib.contextmanager
def running_site(
    url: str, redis_pids: Sequence[int], jobs: "Redis | RedisCluster", cookies: dict["AccountId", str]
) -> Iterator[AsMetSite]:
    """Run a web process behind nginx, and a worker, on a populated store."""
    from tests.support.ports import free_port

    os.environ.update(TRUSTED_PROXIES="127.0.0.1", COMPRESS_PAGES="0")  # of the processes behind nginx
    port = free_port()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        web = stack.enter_context(running_daphne("socialsite.asgi:application", REDIS_URL=url))
        stack.enter_context(running_proxy(Path(name), port, web.port))
        worker = stack.enter_context(running_worker(url))
        yield AsMetSite(redis_pids, url, jobs, port, cookies, web, worker)


@contextlib.contextmanager
def running_proxy(directory: Path, port: int, upstream: int) -> Iterator[None]:
    """Run nginx with the shipped configuration, without TLS, on `port`."""
    from tests.deploy.support import nginx_files, running_nginx
    from tests.support.ports import free_port

    directory.mkdir(exist_ok=True)
    conf = nginx_files(directory, upstream=upstream, plain=free_port(), tls=port, without_tls=True)
    with running_nginx(conf, port):
        yield


async def populate(services: "Services", plan: Plan) -> dict["AccountId", str]:
    """Fill an empty store. Return the session cookies of the readers; the first is the most followed account."""
    from benchmarks.town import choose_follows
    from benchmarks.visitors import sign_in
    from timelines.graph.follow import Follow

    chance, now_ms = random.Random(21), services.clock.now_ms()
    handles = [f"citizen_{n:06d}" for n in range(plan.size(ACCOUNTS))]
    people = await services.accounts.import_accounts(handles=handles, now_ms=now_ms)
    ids = list(people.values())
    following = choose_follows(chance, ids, FOLLOWS_MEAN)
    edges = (Follow(one, other, now_ms - 1 - one % 5_000) for one in ids for other in following[one])
    await services.repositories.follows.add_many(edges)
    posts = list(generate_posts(chance, ids, plan.size(POSTS), now_ms))
    await store_posts(services, chance, ids, posts)
    readers = [ids[0], *chance.sample(ids[1:], plan.size(READERS) - 1)]
    await run_in_batches(prepare_reader(services, reader, following[reader], ids, now_ms) for reader in readers)
    return await sign_in(services, readers)


def generate_posts(chance: random.Random, ids: Sequence["AccountId"], count: int, now_ms: int) -> Iterator["Post"]:
    """Yield posts of the last four weeks, oldest first. Each tenth is a boost of a recent post."""
    from socialsite.ids import id_at
    from timelines.posts.post import Post

    texts, weights = read_texts(), list(itertools.accumulate((rank + 10) ** -0.6 for rank in range(len(ids))))
    authors = chance.choices(ids, cum_weights=weights, k=count)
    span_ms = 28 * 86_400_000
    recent: list[Post] = []
    for n, author in enumerate(authors):
        post_id = id_at(now_ms - 5_000 - span_ms * (count - n) // count, n)
        if recent and chance.random() < BOOST_SHARE:
            original = chance.choice(recent)
            yield Post(post_id, author, "", boost_of=original.id, boosted_author_id=original.author_id)
            continue
        post = Post(post_id, author, chance.choice(texts))
        recent.append(post)
        if len(recent) > 1_000:
            del recent[:500]
        yield post


def read_texts() -> list[str]:
    """Return texts in English and Thai, and quotations in many scripts. Raises DataNotAvailable."""
    import gzip

    texts: list[str] = []
    for name in CORPORA:
        with gzip.open(data_path(name), "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"][:400] for line in itertools.islice(lines, 20_000)]
    lines_of_quotes = data_path("demo_quotes.txt").read_text().splitlines()
    quotes = [line.replace(" / ", "\n") for line in lines_of_quotes if line and line[0] not in "#="]
    return texts + quotes * max(1, 10_000 // len(quotes))


async def store_posts(
    services: "Services", chance: random.Random, ids: Sequence["AccountId"], posts: Sequence["Post"]
) -> None:
    """Store posts, author timelines, boosts, likes and counts, and the public timeline."""
    from timelines import keys
    from timelines.author_timelines.hashtag_timelines import add_commands as add_hashtags
    from timelines.posts.post import encode_post

    likers = ids[: max(1, len(ids) // 10)]

    boosts_and_likes: dict[PostId, list[int]] = defaultdict(lambda: [0, 0])

    def commands_of(post: "Post") -> "Iterator[Command]":
        yield "SET", keys.post(post.id), encode_post(post)
        yield "ZADD", keys.author_timeline(post.author_id), post.id, post.id
        if post.boost_of is not None:
            yield "ZADD", keys.boosts(post.boost_of), post.id, post.author_id
            yield "ZADD", keys.boosted_posts(post.author_id), post.created_ms, post.boost_of
            boosts_and_likes[post.boost_of][0] += 1
        elif chance.random() < LIKED_SHARE:
            accounts = set(chance.choices(likers, k=1 + chance.randrange(2 * LIKES_MEAN - 1)))
            yield "ZADD", keys.likes(post.id), *(part for one in accounts for part in (post.created_ms, one))
            boosts_and_likes[post.id][1] = len(accounts)
            for one in accounts:
                yield "ZADD", keys.liked_posts(one), post.created_ms, post.id

    def count_commands() -> "Iterator[Command]":
        for id, (boosts, likes) in boosts_and_likes.items():
            yield "SET", keys.post_counts(id), f"0 {boosts} {likes}"

    changes = (command for post in posts for command in commands_of(post))
    commands = itertools.chain(changes, count_commands(), add_hashtags(posts))
    while batch := list(itertools.islice(commands, BATCH)):
        await services.store.execute_all(batch)
    newest = [post.id for post in posts[-services.config.public_cap :] if post.is_discoverable]
    await services.repositories.public.add_many(newest)


async def prepare_reader(
    services: "Services", reader: "AccountId", followed: Sequence["AccountId"], ids: Sequence["AccountId"], now_ms: int
) -> None:
    """Give a reader blocks, mutes, filters, a list and unread notifications, and build the home."""
    from timelines.notifications.kinds import FOLLOW
    from timelines.notifications.notification import Notification

    chance, graph = random.Random(reader), services.repositories.blocks_and_mutes
    others = [one for one in chance.sample(ids, 10) if one != reader and one not in followed]
    for other in others[:3]:
        await graph.block(reader, other, now_ms)
    for other in [*others[3:5], chance.choice(followed)]:
        await graph.mute(reader, other, now_ms + YEAR_MS, now_ms)
    for phrase in ("ubuntu server", f"word{reader % 50}"):
        await services.filters.add(account_id=reader, phrase=phrase)
    members = await services.lists.create(owner_id=reader, title="Friends", now_ms=now_ms)
    for member in followed[:5]:
        await services.lists.add_member(owner_id=reader, list_id=members.id, account_id=member, now_ms=now_ms)
    for other in others[-3:]:
        notification = Notification(services.ids.next_id(), FOLLOW, other)
        await services.repositories.notifications.add(reader, notification)
    await services.reading.home(reader, limit=1)


async def run_in_batches(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run CONCURRENCY coroutines at a time."""
    pending = iter(coroutines)
    while batch := list(itertools.islice(pending, CONCURRENCY)):
        await asyncio.gather(*batch)
