"""Pipelines of one node: scripts sent before they are awaited, and error replies among others."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from socialsite.migration.store_factory import open_store
from socialsite.store import CommandRefused, Key, Node, Read, Script, Store, StoreUnavailable, WrongType
from socialsite.store.address import Address
from socialsite.store.topology.standalone import Standalone
from tests.support.redis_server import RedisServer

KEY, LIST = (Key("posts", tag="1", name=name) for name in ("post", "source"))
APPEND = Script("append.lua", "return redis.call('APPEND', KEYS[1], ARGV[1])")


@pytest_asyncio.fixture
async def node(redis_url: str) -> AsyncIterator[Node]:
    opened = Node(Address.parse(redis_url))
    yield opened
    await opened.close()


async def test_a_script_that_is_sent_before_it_is_awaited_shifts_no_reply(redis_url: str) -> None:
    store = Store(Standalone(redis_url))
    await store.node(KEY).execute("SET", KEY, "a")
    read = Read([("GET", KEY), APPEND.command([KEY], ["b"]), ("GET", KEY)], list)
    pending = store.send_now(read)
    assert await store.node(KEY).execute("STRLEN", KEY) == 2
    assert await pending == [b"a", 2, b"ab"]
    await store.close()


async def test_a_key_of_a_wrong_type_stops_no_other_command_of_its_pipeline(
    node: Node, redis_server: RedisServer
) -> None:
    await node.execute_all([APPEND.command([KEY], ["a"]), ("RPUSH", LIST, "x")])
    with redis_server.client() as client:
        client.script_flush()
    with pytest.raises(WrongType):
        await node.execute_all([("GET", LIST), APPEND.command([KEY], ["b"]), ("HSET", LIST, "f", 1)])
    assert await node.execute("GET", KEY) == b"ab"


async def test_a_connection_whose_name_is_refused_is_not_used(redis_url: str, redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "nameless", "on", ">word", "~*", "+@all", "-client|setname")
        store = await open_store(redis_url.replace("unix://", "unix://nameless:word@"))
        try:
            with pytest.raises((CommandRefused, StoreUnavailable), match="NOPERM"):
                await store.node(KEY).execute("GET", KEY)
        finally:
            await store.close()
            client.execute_command("ACL", "DELUSER", "nameless")
