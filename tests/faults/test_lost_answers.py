"""A command was applied and its reply is lost: repeating the request applies it once.

With REQUIRE_REPLICAS=1 a master that is cut off from its replica acknowledges nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from socialsite.store.errors import StoreUnavailable
from tests.support.fault_proxy import Fault, FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.replicas import follow, until_confirmed
from tests.support.world import World
from timelines.errors import PostUnconfirmed

MAX_REPLIES = 40
T = TypeVar("T")


@pytest.fixture
def proxy(redis_server: RedisServer, redis_url: str) -> Iterator[FaultProxy]:
    assert redis_url == redis_server.url  # emptied
    with FaultProxy(redis_server.socket) as started:
        yield started


@pytest.fixture
async def far(proxy: FaultProxy) -> AsyncIterator[World]:
    """The site's services behind a network that loses replies."""
    async with open_services(StoreUrls(proxy.url), ServiceConfig()) as opened:
        yield World(opened)


async def until_answered(act: Callable[[], Awaitable[T]]) -> tuple[T, int]:
    """Repeat the request until it is answered; return the answer and the number of refusals."""
    for refusals in range(5):
        try:
            return await act(), refusals
        except StoreUnavailable:
            continue
    raise AssertionError("refused five times although one reply was lost")


async def test_a_retry_after_any_lost_reply_of_publishing_leaves_one_post(far: World, proxy: FaultProxy) -> None:
    author, reader = await far.people("author", "reader")
    await reader.follows(author)
    await reader.home()
    posts, refused = [], 0
    for step in range(MAX_REPLIES):
        proxy.drop_replies_after(step)
        post, refusals = await until_answered(lambda step=step: author.publishes(f"post {step}", key=f"k{step}"))
        posts.append(post.id)
        refused += refusals
        if proxy.until_swallowed is not None:  # the request took fewer replies
            break
    proxy.drop_replies_after(10_000)
    assert 3 <= len(posts) < MAX_REPLIES
    assert refused >= 2
    await far.deliver_all()
    expected = sorted(posts, reverse=True)
    assert await author.profile_ids() == expected
    assert await author.home_ids() == expected
    assert await reader.home_ids() == expected
    assert await far.public_ids() == expected


async def test_a_retry_after_any_lost_reply_of_a_deletion_deletes_the_post(far: World, proxy: FaultProxy) -> None:
    author, reader = await far.people("author", "reader")
    await reader.follows(author)
    for step in range(MAX_REPLIES):
        proxy.drop_replies_after(10_000)
        post = await author.publishes(f"post {step}")
        await far.deliver_all()
        proxy.drop_replies_after(step)
        try:
            await until_answered(lambda post=post: author.deletes(post))
        finally:
            is_over = proxy.until_swallowed is not None
            proxy.drop_replies_after(10_000)
        assert (await author.profile_ids(), await reader.home_ids()) == ([], [])
        if is_over:
            break
    assert step >= 2


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.HALF, Fault.RESET])
async def test_a_master_cut_off_from_its_replica_acknowledges_nothing(fault: Fault) -> None:
    master, replica = RedisServer(options=("--repl-diskless-sync-delay", "0")).start(), RedisServer().start()
    try:
        with FaultProxy(master.socket) as between:
            with replica.client() as at_replica, master.client() as at_master:
                follow(at_replica, at_master, between.port)
            urls = StoreUrls(master.url)
            async with open_services(urls, ServiceConfig(require_replicas=1)) as opened:
                author = await World(opened).person("author")
                post = await until_confirmed(lambda: author.publishes("before", key="before"))
                acknowledged = [post.id]
                with between.with_fault(fault):
                    refused = 0
                    for number in range(2):
                        try:
                            acknowledged.append((await author.publishes(f"cut off {number}")).id)
                        except PostUnconfirmed:
                            refused += 1
                    with replica.client() as client:
                        client.replicaof("NO", "ONE")
            async with open_services(StoreUrls(replica.url), ServiceConfig()) as taken_over:
                stored = set(await taken_over.repositories.posts.find_many(acknowledged))
        assert refused == 2
        assert stored == set(acknowledged)
    finally:
        replica.stop()
        master.stop()
