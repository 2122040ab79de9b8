"""Shared parts of the socket benchmarks: sites with thousands of open sockets, and pushes of one post to them."""

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.environment import prepare
from benchmarks.listeners import ListenerOptions, ListenerProcess, percentile, running_listeners
from benchmarks.servers import BenchmarkDaphne, redis_server, running_daphne

if TYPE_CHECKING:
    from socialsite.container import Services
    from socialsite.ids import AccountId

SOCKET_COUNT = 2_000
MAX_FIRST_PUSHES = 5
POST_TEXT = "The quick brown fox jumps over the lazy dog, then sits down and tells everybody about it all."
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class PushResult:
    """The cost and latency of posts that were pushed to every socket."""

    cpu_us: float  # CPU time of the server process for each delivery
    p50_ms: float
    p99_ms: float


@dataclass(slots=True)
class Audience:
    """A server and the process with its open sockets."""

    server: BenchmarkDaphne
    listeners: ListenerProcess
    publish: Callable[[str], Awaitable[None]]
    frame_bytes: int
    name: str

    async def push(self, posts: int) -> PushResult:
        """Publish one post after another, each after the last socket has received the previous one."""
        waits: list[float] = []
        cpu = self.server.cpu_s
        for _ in range(posts):
            mark = f"mark{next(_numbers):06d}"
            await asyncio.to_thread(self.listeners.arm, mark)
            started = time.monotonic()
            await self.publish(f"{mark} {POST_TEXT}")
            waits += [at - started for at in await asyncio.to_thread(self._arrivals)]
        cpu_us = (self.server.cpu_s - cpu) * 1e6 / len(waits)
        return PushResult(cpu_us, percentile(waits, 50) * 1000, percentile(waits, 99) * 1000)

    async def push_until_heard(self) -> None:
        """Push posts until each socket receives one: a subscription of the client API has no acknowledgement."""
        for _attempt in range(MAX_FIRST_PUSHES):
            with contextlib.suppress(RuntimeError):
                await self.push(1)
                return
        raise RuntimeError(f"{self.name}: the sockets were not subscribed in time")

    def _arrivals(self) -> list[float]:
        try:
            return self.listeners.arrivals()
        except RuntimeError as error:
            raise RuntimeError(f"{self.name}: {error}") from error


@dataclass(slots=True)
class FollowedSite:
    """A running site with an author; `followers` accounts follow the author, are signed in and have built homes."""

    redis_url: str
    services: "Services"
    server: BenchmarkDaphne
    author: "AccountId"
    cookies: list[str]  # the followers' cookies, then the strangers'
    author_cookie: str
    readers: list["AccountId"]  # in the order of `cookies`

    async def publish(self, text: str) -> None:
        author, now_ms = self.author, self.services.clock.now_ms()
        await self.services.publishing.publish(author_id=author, text=text, now_ms=now_ms)

    async def frame_bytes(self) -> int:
        """Return the size of the frame of an entry with POST_TEXT."""
        from timelines.live.frames import render_entry_frame

        author, now_ms = self.author, self.services.clock.now_ms()
        text = f"mark000000 {POST_TEXT}"
        post = await self.services.publishing.publish(author_id=author, text=text, now_ms=now_ms)
        entry = await self.services.reading.post(post.id, viewer_id=None)
        return len(render_entry_frame("home", entry, "en").text)


def encode_subscription(timeline: str) -> str:
    return json.dumps({"type": "subscribe", "timeline": timeline})


@contextlib.asynccontextmanager
async def followed_site(followers: int, *, strangers: int = 0, own_worker: bool = True) -> AsyncIterator[FollowedSite]:
    """Run a site with an author. `strangers` have accounts and follow no account.

    The site's worker runs in this process, not in the server.
    """
    prepare()
    from benchmarks.delivering import running_deliverer
    from benchmarks.visitors import sign_in
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services
    from timelines.graph.follow import Follow

    with redis_server() as redis, running_daphne("socialsite.asgi:application", REDIS_URL=redis.url) as server:
        async with open_services(redis.url, ServiceConfig()) as services:
            now_ms = services.clock.now_ms()
            handles = ["author", *(f"reader_{n}" for n in range(followers + strangers))]
            people = await services.accounts.import_accounts(handles=handles, now_ms=now_ms)
            author, *readers = people.values()
            await services.repositories.follows.add_many(Follow(i, author, now_ms) for i in readers[:followers])
            for reader in readers:
                await services.reading.home(reader)
            own, *cookies = (await sign_in(services, [author, *readers])).values()
            async with AsyncExitStack() as stack:
                if own_worker:
                    await stack.enter_async_context(running_deliverer(services, author))
                yield FollowedSite(redis.url, services, server, author, cookies, own, readers)


@contextlib.asynccontextmanager
async def home_audience(sockets: int) -> AsyncIterator[Audience]:
    """Open the home timeline of each follower of the author."""
    async with followed_site(sockets) as site:
        with running_listeners(
            ListenerOptions(site.server.port, site.cookies, encode_subscription("home"))
        ) as listeners:
            yield Audience(site.server, listeners, site.publish, await site.frame_bytes(), "homes")


@contextlib.asynccontextmanager
async def api_audience(sockets: int) -> AsyncIterator[Audience]:
    """Open the stream `user` of the client API for each follower of the author, with access tokens."""
    async with followed_site(sockets) as site:
        from accounts.sessions.values import TokenGrant

        grant, tokens = TokenGrant("", "Benchmark", ("read",)), []
        for reader in site.readers:
            account = await site.services.accounts.get(reader)
            tokens.append(await site.services.access_tokens.issue(account, grant))
        options = ListenerOptions(
            site.server.port, tokens, "", "/api/v1/streaming?stream=user", header="Authorization: Bearer "
        )
        with running_listeners(options) as listeners:
            audience = Audience(site.server, listeners, site.publish, await site.frame_bytes(), "API streams")
            await audience.push_until_heard()
            yield audience


@contextlib.asynccontextmanager
async def public_audience(sockets: int) -> AsyncIterator[Audience]:
    """Open the public timeline as visitors."""
    async with followed_site(1) as site:
        with running_listeners(
            ListenerOptions(site.server.port, [""] * sockets, encode_subscription("public"))
        ) as listeners:
            yield Audience(site.server, listeners, site.publish, await site.frame_bytes(), "public")


@contextlib.asynccontextmanager
async def layer_audience(sockets: int, frame_bytes: int) -> AsyncIterator[Audience]:
    """Open the reference: consumers in one group; a post's text is padded to the size of the site's frame."""
    from channels_redis.pubsub import RedisPubSubChannelLayer  # type: ignore[import-untyped]

    from benchmarks.layer.consumers import GROUP

    with redis_server() as redis, running_daphne("benchmarks.layer.asgi:application", LAYER_URL=redis.url) as server:
        layer = RedisPubSubChannelLayer(hosts=[redis.url])

        async def publish(text: str) -> None:
            await layer.group_send(GROUP, {"type": "entry", "text": text.ljust(frame_bytes, ".")})

        with running_listeners(ListenerOptions(server.port, [""] * sockets, "{}")) as listeners:
            yield Audience(server, listeners, publish, frame_bytes, "channels_redis pub/sub")
        await layer.flush()
