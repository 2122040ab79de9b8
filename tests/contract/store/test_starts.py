"""What the site needs to start: reachable servers, their versions, and settings that the system checks accept."""

import asyncio
import contextlib
import os
import re
import sys
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.store import Node, StoreUnavailable
from socialsite.store.address import Address
from socialsite.store.connection import (
    CONNECT_TIMEOUT_S,
    MAX_CONNECT_BACKOFF_S,
    WAIT_CONNECTIONS_PER_NODE,
    PipelinedConnection,
)
from socialsite.store.embedded.binaries import ServerBinary, ServerVersion, find_server_binary
from tests.support.connections import CLOSE_TIMEOUT_S, SilentServer, assert_no_open_connections, connected_client_ids
from tests.support.nodes import numbered_key
from tests.support.ports import free_port
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


async def test_a_closed_node_opens_no_connection(own_server: RedisServer) -> None:
    node = Node(Address.parse(own_server.url))
    await node.execute("PING")
    async with assert_no_open_connections(own_server.client):
        await node.close()
        ping = ("PING",)
        for asked in (node.execute(*ping), node.blocking(*ping, timeout_s=1), node.write_all([ping], 0)):
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


async def test_concurrent_writes_keep_a_limited_number_of_connections(own_server: RedisServer) -> None:
    node = Node(Address.parse(own_server.url))
    before = connected_client_ids(own_server.client)
    await asyncio.gather(
        *(node.write_all([("SET", numbered_key(n), n)], 0) for n in range(3 * WAIT_CONNECTIONS_PER_NODE))
    )
    await node.write_all([("PING",)], 0)
    assert len(connected_client_ids(own_server.client) - before) <= WAIT_CONNECTIONS_PER_NODE
    await node.close()


def check(*arguments: str) -> str:
    """Return the output of the command; raise SystemCheckError on a warning."""
    out = StringIO()
    call_command("check", *arguments, fail_level="WARNING", stdout=out, stderr=out)
    return out.getvalue()


def test_a_plain_check_opens_no_connection(settings: Any) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}"
    assert "no issues" in check()


def test_the_redis_tag_connects_and_names_unreachable_servers(settings: Any) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}"
    with pytest.raises(SystemCheckError, match=r"socialsite\.E002"):
        check("--tag", "redis")


def test_a_server_without_persistence_is_a_warning(settings: Any, redis_url: str) -> None:
    settings.REDIS_URL = redis_url
    with pytest.raises(SystemCheckError, match=r"socialsite\.W001") as found:
        check("--tag", "redis")
    assert "E00" not in str(found.value)


def test_an_evicting_server_is_an_error_and_a_durable_server_passes(settings: Any, redis_url: str) -> None:
    settings.REDIS_URL = redis_url
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("appendonly", "yes")
        try:
            assert "no issues" in check("--tag", "redis")
            client.config_set("maxmemory-policy", "allkeys-lru")
            with pytest.raises(SystemCheckError, match=r"socialsite\.E004"):
                check("--tag", "redis")
        finally:
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("appendonly", "no")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_replica_that_does_not_answer_is_a_warning(settings: Any, host: str) -> None:
    port, server = free_port(), RedisServer(aof=True)
    with ExitStack() as stack:
        stack.callback(server.stop)
        settings.REDIS_URL = f"{server.start().url}&replica={host}:{port}"
        with pytest.raises(SystemCheckError, match=rf"socialsite\.W006.*{re.escape(host)}:{port}"):
            check("--tag", "redis")


def test_another_number_of_partitions_is_an_error(settings: Any, redis_url: str) -> None:
    settings.REDIS_URL = redis_url
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("appendonly", "yes")
        client.set("follows:{map}:partitions", 8)
        try:
            with pytest.raises(SystemCheckError, match=r"socialsite\.E005"):
                check("--tag", "redis")
        finally:
            client.config_set("appendonly", "no")


def test_the_server_of_the_virtual_environment_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "env" / "bin"
    own.mkdir(parents=True)
    fake_server(own, "Redis server v=8.0.0 sha=0")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    assert find_server_binary(search_path=str(own)).path.parent != own


def test_a_server_older_than_7_is_skipped(tmp_path: Path) -> None:
    fake_server(tmp_path, "Redis server v=6.2.14 sha=0")
    assert find_server_binary(search_path=str(tmp_path)).path.parent != tmp_path


def test_the_first_server_that_reads_the_data_is_chosen(tmp_path: Path) -> None:
    older, newer = tmp_path / "older", tmp_path / "newer"
    fake_server(older, "Redis server v=7.0.15 sha=0")
    fake_server(newer, "Redis server v=7.2.4 sha=0")
    binary = find_server_binary(ServerVersion("redis", (7, 2, 0)), f"{older}{os.pathsep}{newer}")
    assert binary == ServerBinary(newer / "redis-server", ServerVersion("redis", (7, 2, 4)))


@pytest.mark.parametrize(
    ("now", "earlier", "reads"),
    [
        (("redis", (7, 0, 15)), ("redis", (7, 0, 15)), True),
        (("redis", (7, 0, 14)), ("redis", (7, 0, 15)), True),
        (("redis", (7, 0, 15)), ("redis", (7, 2, 0)), False),
        (("valkey", (9, 1, 2)), ("redis", (7, 2, 5)), True),
        (("valkey", (9, 1, 2)), ("redis", (8, 0, 0)), False),
        (("redis", (8, 0, 0)), ("valkey", (9, 1, 2)), False),
    ],
)
def test_data_are_opened_only_by_equal_or_newer_versions(
    now: tuple[str, tuple[int, int, int]], earlier: tuple[str, tuple[int, int, int]], reads: bool
) -> None:
    assert ServerVersion(*now).can_read(ServerVersion(*earlier)) is reads


def fake_server(folder: Path, answer: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / "redis-server"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
