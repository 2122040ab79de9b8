"""Questions under way: asked now, answered later, by any topology."""

import asyncio

import pytest

from socialsite.migration.opening import open_store
from socialsite.store import CommandRefused, Read, Store, StoreUnavailable
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer


def value_of(number: int) -> Read[bytes | None]:
    return Read([("GET", numbered_key(number))], lambda replies: replies[0])


async def test_what_was_asked_is_answered_when_it_is_awaited(store: Store) -> None:
    for number in range(20):
        await store.node(numbered_key(number)).execute("SET", numbered_key(number), f"post {number}")
    asked = [store.send_now(value_of(number)) for number in range(20)]
    assert [await each for each in reversed(asked)] == [b"post %d" % n for n in reversed(range(20))]
    assert await store.send_now(Read((), lambda replies: len(replies))) == 0


async def test_an_error_is_raised_where_it_is_awaited(store: Store) -> None:
    place = numbered_key(1)
    await store.node(place).execute("LPUSH", place, "a list")
    asked = store.send_now(value_of(1))
    await store.node(place).execute("EXISTS", place)
    with pytest.raises(CommandRefused):
        await asked


async def test_an_answer_that_nobody_waits_for_disturbs_nobody(store: Store) -> None:
    store.send_now(value_of(1))
    assert await store.send_now(value_of(2)) is None


async def test_a_server_that_goes_away_meanwhile_is_no_answer() -> None:
    server = RedisServer().start()
    store = await open_store(server.url)
    try:
        await store.node(numbered_key(1)).execute("PING")
        server.stop()
        asked, forgotten = store.send_now(value_of(1)), store.send_now(value_of(2))
        await asyncio.sleep(0.05)
        with pytest.raises(StoreUnavailable):
            await asked
        with pytest.raises(StoreUnavailable):
            await store.send_now(value_of(3))
        del forgotten
    finally:
        await store.close()
        server.stop()
