"""Connections that are being opened while the store is closed or the caller is cancelled."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.store import Node, StoreUnavailable
from socialsite.store.address import Address
from socialsite.store.connection import (
    CONNECT_TIMEOUT_S,
    MAX_CONNECT_BACKOFF_S,
    WAIT_CONNECTIONS_PER_NODE,
    PipelinedConnection,
)
from tests.support.left_open import (
    CLOSE_TIMEOUT_S,
    SilentServer,
    assert_no_open_connections,
    connected_client_ids,
)
from tests.support.nodes import numbered_key
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually


class Cutting:
    """A connection gate that authorizes every connection and cuts the first one."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self.admitted = 0

    async def authorize(self, connection: PipelinedConnection) -> None:
        self.admitted += 1
        if self.admitted == 1:
            with self._server.client() as client:
                client.client_kill_filter(_type="normal", skipme=True)
            while connection.is_open:  # noqa: ASYNC110 - that is what it is about
                await asyncio.sleep(0.01)


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


async def test_a_closed_node_opens_no_connection(own_server: RedisServer) -> None:
    node = Node(Address.parse(own_server.url))
    await node.execute("PING")
    async with assert_no_open_connections(own_server.client):
        await node.close()
        ping = ("PING",)
        for asked in (
            node.execute(*ping),
            node.blocking(*ping, timeout_s=1),
            node.write_all([ping], 0),
        ):
            with pytest.raises(StoreUnavailable, match="was closed"):
                await asked


async def test_closing_ends_calls_to_a_silent_server_immediately() -> None:
    async with SilentServer() as silent:
        node = Node(Address.parse(f"redis://{silent.place}/0"))
        node.connection_gate = ConnectionGate("site-feed", asyncio.Event().wait)
        waiting = [asyncio.create_task(node.execute("PING")) for _ in range(3)]
        await silent.met.wait()
        await node.close()
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            for each in waiting:
                with pytest.raises(StoreUnavailable):
                    await each
        await silent.wait_until_abandoned()


@pytest.mark.parametrize("login", [":word@", ""])
async def test_the_connection_of_a_cancelled_caller_is_closed(login: str) -> None:
    """The caller is cancelled during the login or the choice of the database."""
    async with SilentServer() as silent:
        node = Node(Address.parse(f"redis://{login}{silent.place}/1"))
        waiting = asyncio.create_task(node.execute("PING"))
        await silent.met.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        await silent.wait_until_abandoned()
        await node.close()


async def test_the_error_of_a_server_that_never_answers_names_the_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socialsite.store.connection.CONNECT_TIMEOUT_S", 0.1)
    async with SilentServer() as silent:
        node = Node(Address.parse(f"redis://:word@{silent.place}/0"))
        with pytest.raises(StoreUnavailable, match="time-out"):
            await node.execute("PING")
        await node.close()


async def test_callers_of_a_server_that_swallows_packets_fail_together_and_the_next_ones_at_once() -> None:
    async with SilentServer() as silent:
        node = Node(Address.parse(f"redis://:word@{silent.place}/0"))
        loop = asyncio.get_running_loop()
        started = loop.time()
        results = await asyncio.gather(*(node.execute("PING") for _ in range(20)), return_exceptions=True)
        elapsed_s = loop.time() - started
        assert {type(result) for result in results} == {StoreUnavailable}
        assert elapsed_s < 2 * CONNECT_TIMEOUT_S
        assert silent.met_count == 1

        async def tries_again() -> bool:
            with contextlib.suppress(StoreUnavailable):
                await node.execute("PING")
            return silent.met_count == 2

        await eventually(tries_again, timeout_s=MAX_CONNECT_BACKOFF_S + 4 * CONNECT_TIMEOUT_S)
        await node.close()


async def test_a_connection_lost_before_its_first_use_is_opened_again(own_server: RedisServer) -> None:
    node = Node(Address.parse(own_server.url))
    node.connection_gate = guard = Cutting(own_server)
    with pytest.raises(StoreUnavailable, match="lost the connection"):
        await node.execute("PING")
    assert await node.execute("PING") == b"PONG"
    assert guard.admitted == 2
    await node.close()


async def test_concurrent_writes_keep_a_limited_number_of_connections(
    own_server: RedisServer,
) -> None:
    node = Node(Address.parse(own_server.url))
    before = connected_client_ids(own_server.client)
    await asyncio.gather(
        *(node.write_all([("SET", numbered_key(n), n)], 0) for n in range(3 * WAIT_CONNECTIONS_PER_NODE))
    )
    await node.write_all([("PING",)], 0)
    assert len(connected_client_ids(own_server.client) - before) <= WAIT_CONNECTIONS_PER_NODE
    await node.close()
