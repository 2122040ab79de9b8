"""Reads, pipelines and their round trips."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from prometheus_client import REGISTRY

from socialsite.analytics import prometheus as metrics
from socialsite.migration.store_factory import open_store
from socialsite.startup import open_services
from socialsite.store import (
    CommandRefused,
    Key,
    Node,
    Read,
    Script,
    Store,
    StoreUnavailable,
    StoreUrls,
    WrongType,
    combine,
)
from socialsite.store.address import Address
from socialsite.store.topology.standalone import Standalone
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer


def read_value(number: int, store: Store | None = None) -> Read[bytes | None]:
    return Read([("GET", numbered_key(number))], lambda replies: replies[0], store)


async def write_values(store: Store, count: int) -> None:
    for number in range(count):
        await store.node(numbered_key(number)).execute("SET", numbered_key(number), number)


async def test_a_read_runs_when_it_is_awaited(store: Store) -> None:
    read = read_value(1, store)
    await write_values(store, 2)
    assert await read == b"1"
    assert await read == b"1"
    assert await Read((), lambda replies: len(replies), store) == 0


async def test_several_reads_return_their_results_in_order(store: Store) -> None:
    await write_values(store, 10)
    assert await store.read(*map(read_value, range(10))) == [b"%d" % number for number in range(10)]


async def test_a_combined_read_returns_the_results_of_its_parts(store: Store) -> None:
    await write_values(store, 4)
    pair = combine(read_value(1, store), read_value(2, store))
    assert await pair == [b"1", b"2"]
    assert await store.read(combine(read_value(0), pair), read_value(3)) == [[b"0", [b"1", b"2"]], b"3"]


async def test_a_mapped_read_converts_the_result(store: Store) -> None:
    await write_values(store, 2)
    assert await combine(read_value(0, store), read_value(1, store)).map(b"".join) == b"01"


async def test_a_read_of_a_component_is_routed_like_its_commands(store: Store) -> None:
    await write_values(store, 3)
    commands = [("GET", numbered_key(number)) for number in range(3)]
    assert await Read(commands, list, store.component(numbered_key(0).component)) == [b"0", b"1", b"2"]


async def test_a_read_without_a_store_names_the_remedy() -> None:
    with pytest.raises(TypeError, match=r"pass it to Store\.read"):
        await read_value(1)


def test_a_combined_read_may_lag_only_if_each_part_may() -> None:
    exact, lagging = read_value(1), read_value(2).allow_lag()
    assert not combine(exact, lagging).may_lag
    assert combine(lagging, lagging).may_lag
    assert lagging.map(len).may_lag
    assert not lagging.allow_lag(False).may_lag


async def test_a_read_that_was_sent_now_returns_its_result_when_it_is_awaited(store: Store) -> None:
    await write_values(store, 20)
    pending = [store.send_now(read_value(number)) for number in range(20)]
    assert [await each for each in reversed(pending)] == [b"%d" % n for n in reversed(range(20))]
    assert await store.send_now(Read((), lambda replies: len(replies))) == 0


async def test_the_error_of_a_read_that_was_sent_now_is_raised_where_it_is_awaited(store: Store) -> None:
    key = numbered_key(1)
    await store.node(key).execute("LPUSH", key, "a list")
    pending = store.send_now(read_value(1))
    await store.node(key).execute("EXISTS", key)
    with pytest.raises(CommandRefused):
        await pending


async def test_a_reply_that_is_not_awaited_does_not_affect_the_next_reply(store: Store) -> None:
    store.send_now(read_value(1))
    assert await store.send_now(read_value(2)) is None


async def test_a_read_that_was_sent_now_fails_if_its_server_stops() -> None:
    server = RedisServer().start()
    store = await open_store(server.url)
    try:
        await store.node(numbered_key(1)).execute("PING")
        server.stop()
        pending, dropped = store.send_now(read_value(1)), store.send_now(read_value(2))
        await asyncio.sleep(0.05)
        with pytest.raises(StoreUnavailable):
            await pending
        with pytest.raises(StoreUnavailable):
            await store.send_now(read_value(3))
        del dropped
    finally:
        await store.close()
        server.stop()


KEY, LIST = (Key("posts", tag="1", name=name) for name in ("post", "source"))

APPEND = Script("append.lua", "return redis.call('APPEND', KEYS[1], ARGV[1])")


@pytest.fixture
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


def counted() -> float:
    """Return the number of round trips of all nodes in the histogram."""
    samples = (sample for family in REGISTRY.collect() for sample in family.samples)
    return sum(sample.value for sample in samples if sample.name == "socialsite_redis_round_trip_seconds_count")


async def test_closing_the_services_records_the_last_round_trips(redis_urls: StoreUrls) -> None:
    metrics.flush_round_trips()
    before = counted()
    async with open_services(redis_urls) as services:
        for _ in range(30):
            await services.store.now_ms()
    assert counted() >= before + 30
