"""The store: shared pipelined connections, kinds of errors, scripts and groups."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.store import (
    CommandRefused,
    InvalidStoreUrl,
    Key,
    Node,
    Script,
    Store,
    StoreFull,
    StoreUnavailable,
    StoreUrls,
)
from socialsite.store.address import Address
from socialsite.store.node import BULK_MIN_COMMANDS
from socialsite.store.topology.standalone import Standalone
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer
from tests.support.stalls import StallMonitor

ECHO = Script("echo", "return {KEYS[1], ARGV[1]}")


def server_of(store: Store, key: Key) -> Node:
    """Return the server of the key; behind a proxy return any server, accessed directly."""
    node = store.node(key)
    return node if node in store.nodes else store.nodes[0]


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """Yield a server that the test may stop."""
    with RedisServer(aof=True) as server:
        yield server


@pytest.fixture
async def node(own_server: RedisServer) -> AsyncIterator[Node]:
    opened = Node(Address.parse(own_server.url), reply_timeout_s=0.5)
    yield opened
    await opened.close()


async def test_many_tasks_share_one_connection_and_get_their_own_replies(store: Store) -> None:
    async def one(number: int) -> None:
        await store.execute_all([("SET", numbered_key(number), number), ("GET", numbered_key(number + 1))])
        assert await store.node(numbered_key(number)).execute("GET", numbered_key(number)) == b"%d" % number

    await asyncio.gather(*(one(number) for number in range(500)))
    clients = await store.nodes[0].execute("CLIENT", "LIST", "TYPE", "normal")
    assert len([line for line in clients.splitlines() if b"name=sentinel" not in line]) <= 2


async def test_a_cancelled_caller_does_not_affect_other_callers(store: Store) -> None:
    node = server_of(store, numbered_key(1))
    await node.execute("SET", numbered_key(1), "a")
    doomed = [asyncio.create_task(node.execute("GET", numbered_key(1))) for _ in range(50)]
    await asyncio.sleep(0)
    for task in doomed[::2]:
        task.cancel()
    assert await node.execute("GET", numbered_key(1)) == b"a"
    replies = await asyncio.gather(*doomed, return_exceptions=True)
    assert {reply for reply in replies if isinstance(reply, bytes)} <= {b"a"}


async def test_an_error_reply_raises_after_the_following_commands_were_executed(store: Store) -> None:
    node = server_of(store, numbered_key(1))
    with pytest.raises(CommandRefused, match="WRONGTYPE"):
        await node.execute_all(
            [("SET", numbered_key(1), "a"), ("LPUSH", numbered_key(1), "b"), ("SET", numbered_key(2), "c")]
        )
    assert await node.execute("GET", numbered_key(2)) == b"c"


async def test_errors_are_returned_in_the_list_of_replies(store: Store) -> None:
    node = server_of(store, numbered_key(1))
    await node.execute("SET", numbered_key(1), "a")
    payload = b"*3\r\n$6\r\nLPUSHX\r\n$14\r\nposts:{1}:post\r\n$1\r\n7\r\n*1\r\n$4\r\nPING\r\n"
    refused, pong = await node.send_encoded(payload, 2)
    assert isinstance(refused, CommandRefused)
    assert pong == b"PONG"


async def test_a_large_batch_of_commands_uses_its_own_connection(store: Store) -> None:
    node = server_of(store, numbered_key(1))
    await node.execute("GET", numbered_key(1))
    before = await node.read_client_ids()
    for _ in range(2):
        assert (
            await node.send_encoded(b"*1\r\n$4\r\nPING\r\n" * BULK_MIN_COMMANDS, BULK_MIN_COMMANDS)
            == [b"PONG"] * BULK_MIN_COMMANDS
        )
    assert len(await node.read_client_ids() - before) == 1
    await node.drain()


async def test_scripts_are_loaded_again_after_a_script_flush(store: Store) -> None:
    node = server_of(store, numbered_key(1))
    for _ in range(2):
        assert await node.execute(*ECHO.command([numbered_key(1)], ["x"])) == [numbered_key(1).encode(), b"x"]
        await node.execute("SCRIPT", "FLUSH")


async def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    node = server_of(store, numbered_key(1))
    assert await node.transaction([("INCR", numbered_key(1)), ECHO.command([numbered_key(1)], ["y"])]) == [
        1,
        [numbered_key(1).encode(), b"y"],
    ]
    with pytest.raises(CommandRefused):
        await node.transaction([("INCR", numbered_key(1)), ("NOSUCHCOMMAND",)])
    assert await node.execute("GET", numbered_key(1)) == b"1"


async def test_the_error_of_a_full_server_is_store_full(store: Store) -> None:
    node = server_of(store, numbered_key(1))
    await node.execute("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(StoreFull):
            await node.execute("SET", numbered_key(1), "a")
    finally:
        await node.execute("CONFIG", "SET", "maxmemory", 0)


async def test_a_killed_server_fails_pending_commands_and_is_used_again_after_a_restart(
    own_server: RedisServer, node: Node
) -> None:
    await node.execute("SET", numbered_key(1), "a")
    waiting = asyncio.create_task(node.execute("BLPOP", Key("posts", tag="9", name="list"), 0))
    await asyncio.sleep(0.1)
    own_server.kill()
    with pytest.raises(StoreUnavailable):
        await waiting
    with pytest.raises(StoreUnavailable, match="cannot connect"):
        await node.execute("GET", numbered_key(1))
    own_server.start()
    assert await node.execute("PING") == b"PONG"


async def test_calls_to_a_silent_server_end_with_their_deadline(own_server: RedisServer, node: Node) -> None:
    await node.execute("PING")
    os.kill(own_server.pid, signal.SIGSTOP)
    try:
        with StallMonitor() as stalls:
            started = time.monotonic()
            answers = await asyncio.gather(*(node.execute("PING") for _ in range(20)), return_exceptions=True)
            took_s = time.monotonic() - started
        assert all(isinstance(answer, StoreUnavailable) for answer in answers)
        assert took_s < 1.5 + stalls.total_s
    finally:
        os.kill(own_server.pid, signal.SIGCONT)
    assert await node.execute("PING") == b"PONG"


async def test_a_blocking_command_does_not_delay_other_commands(store: Store) -> None:
    empty = Key("jobs", tag="outbox", name="list")
    node = server_of(store, empty)
    await node.execute("PING")
    waiting = asyncio.create_task(node.blocking("BLPOP", empty, 30, timeout_s=30))
    async with asyncio.timeout(10):  # INFO is answered during the blocking command
        while b"blocked_clients:0" in await node.execute("INFO", "clients"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert not waiting.done()
    await node.execute("RPUSH", empty, "word")
    assert await waiting == [empty.encode(), b"word"]


async def test_a_blocking_command_does_not_delay_other_blocking_commands(store: Store) -> None:
    """A worker has two queues, and waits for both at the same time."""
    empty, full = (Key("jobs", tag="outbox", name=name) for name in ("empty", "full"))
    node = server_of(store, empty)
    waiting = asyncio.create_task(node.blocking("BLPOP", empty, 30, timeout_s=30))
    async with asyncio.timeout(10):
        while b"blocked_clients:0" in await node.execute("INFO", "clients"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for word in ("one", "two"):
            await node.execute("RPUSH", full, word)
            assert await node.blocking("BLPOP", full, 30, timeout_s=30) == [full.encode(), word.encode()]
    assert not waiting.done()
    await node.execute("RPUSH", empty, "word")
    assert await waiting == [empty.encode(), b"word"]


async def test_the_time_is_that_of_the_server(store: Store) -> None:
    assert abs(await store.now_ms() - time.time() * 1000) < 5_000


async def test_commands_go_to_the_node_of_their_key_and_replies_keep_their_order(
    redis_url: str, own_server: RedisServer
) -> None:
    store = await open_store(StoreUrls(redis_url, {"timelines": own_server.url}))
    home = Key("timelines", tag="1", name="home")
    assert len(store.nodes) == 2
    assert store.node(home) is not store.node(numbered_key(1))
    replies = await store.execute_all(
        [("RPUSH", home, "x"), ("SET", numbered_key(1), "a"), ("RPUSH", home, "y"), ("GET", numbered_key(1))]
    )
    assert replies == [1, b"OK", 2, b"a"]
    groups = store.group_by_node("timelines", [1, 2, 3], lambda n: Key("timelines", tag=str(n), name="home"))
    assert [(node, list(owners)) for node, owners in groups] == [(store.node(home), [1, 2, 3])]
    await store.close()


async def test_equal_urls_share_their_nodes(redis_url: str) -> None:
    store = await open_store(StoreUrls(redis_url, {"timelines": redis_url}))
    assert len(store.nodes) == 1
    await store.close()


async def test_a_closed_store_leaves_no_task(redis_url: str) -> None:
    before = asyncio.all_tasks()
    store = await open_store(redis_url)
    await asyncio.sleep(0.6)  # longer than the interval of lease renewals
    await store.close()
    assert asyncio.all_tasks() == before


async def test_a_command_without_a_key_has_no_node(redis_url: str, own_server: RedisServer) -> None:
    store = await open_store(StoreUrls(redis_url, {"timelines": own_server.url}))
    with pytest.raises(LookupError):
        await store.execute_all([("PING",)])
    await store.close()


@pytest.mark.parametrize("url", ["", "localhost", "memcached://x", "redis+shards", "redis://h:notaport"])
async def test_an_invalid_url_is_refused_with_a_short_error(url: str) -> None:
    with pytest.raises(InvalidStoreUrl) as refused:
        await open_store(url)
    assert "\n" not in str(refused.value)


def test_an_unknown_component_is_refused() -> None:
    with pytest.raises(InvalidStoreUrl, match="there is no component"):
        StoreUrls("redis://localhost", {"tweets": "redis://localhost"})


def test_a_key_of_another_component_is_not_looked_up() -> None:
    store = Store(Standalone("redis://localhost"))
    with pytest.raises(KeyError):
        store.component("timelines")[numbered_key(1)]


def test_keys_are_parsed_and_invalid_keys_are_refused() -> None:
    made = Key("follows", tag="p7", name="followers:9")
    assert made == "follows:{p7}:followers:9"
    parsed = Key.parse(made)
    assert (parsed.component, parsed.tag) == ("follows", "p7")
    for text in ("follows:p7:x", "follows:{p7}", "follows:{P7}:x", "follows:{p7}:x:@bob", "a:{b}{c}:d"):
        with pytest.raises(ValueError, match="not a key"):
            Key.parse(text)
