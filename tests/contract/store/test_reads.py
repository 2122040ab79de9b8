"""Reads on every topology: awaited alone, several in one round trip, sent before they are awaited."""

import asyncio

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.store import CommandRefused, Read, Store, StoreUnavailable, combine
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
