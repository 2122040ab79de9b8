"""Floods at a socket (messages, frames, fragments, pings) cost only the socket that sends them.

The long form of idle sockets is a command: `python -m benchmarks.idle_sockets` (10,000 for ten minutes).
"""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.daphnes import DaphneProcess, running_daphne
from tests.support.redis_server import RedisServer
from tests.support.sockets import (
    CONTINUATION,
    FINAL,
    PING,
    PONG,
    TEXT,
    SocketClient,
    encode_frame,
    encode_upgrade_request,
    open_socket,
)
from tests.support.stalls import StallMonitor
from tests.support.waiting import eventually
from tests.support.world import Person, World
from timelines.live.server import SOCKETS_PER_MESSAGE

GROWTH_KB = 20 * 1024
HEARD_WITHIN_S = 3.0
"""About 10 ms on a quiet machine; tens of seconds if the flood were processed first."""
FLOOD_S = 8.0
FLOOD_CPU_S = 1.5
"""Limit of CPU time. Twenty pages and six handshakes take 0.1 s; to process the floods would take 3 s or more."""


@pytest.fixture(scope="module")
def daphne(redis_server: RedisServer) -> Iterator[DaphneProcess]:
    redis_server.flush()
    with running_daphne(redis_server.url, RATE_LIMIT_SOCKET="60/m") as process:
        yield process


class Raw:
    """A websocket that sends frames built by the test, valid or not."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def frame(self, payload: bytes, code: int, *, length: int | None = None) -> None:
        self._writer.write(encode_frame(payload, code, length=length))

    async def drain(self) -> bool:
        """Return whether the server still accepts bytes."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.drain()
                return True
        return False

    async def is_closed(self, within_s: float = 20.0) -> bool:
        with contextlib.suppress(ConnectionError):
            try:
                async with asyncio.timeout(within_s):
                    while await self._reader.read(65_536):
                        pass
            except TimeoutError:
                return False
        return True


@contextlib.asynccontextmanager
async def raw_socket(daphne: DaphneProcess) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", daphne.port)
    writer.write(encode_upgrade_request(daphne))
    async with asyncio.timeout(10):
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    yield Raw(reader, writer)
    writer.close()


@contextlib.asynccontextmanager
async def others_unmoved(daphne: DaphneProcess, world: World) -> AsyncIterator[SocketClient]:
    """Check that another reader receives posts in time during the flood and that memory stays."""
    bob = await world.person("bob")
    async with open_socket(daphne) as listener:
        await listener.subscribe("public")
        before_kb = daphne.resident_kb()
        with StallMonitor() as stalls:
            slowest_post = asyncio.create_task(slowest(bob, listener))
            yield listener
            slowest_s, grown_kb = await slowest_post, daphne.resident_kb() - before_kb
        print(f"meanwhile a post is heard within {slowest_s:.2f} s; memory grew by {grown_kb} kB")
        assert slowest_s < HEARD_WITHIN_S + stalls.total_s
        assert grown_kb < GROWTH_KB


async def slowest(bob: Person, listener: SocketClient) -> float:
    took = 0.0
    for number in range(10):
        began = time.monotonic()
        post = await bob.publishes(f"meanwhile {number}")
        await listener.receive_entry(post.id, "public", timeout_s=20)
        took = max(took, time.monotonic() - began)
        await asyncio.sleep(0.05)
    return took


async def test_a_thousand_messages_a_second_end_the_socket(daphne: DaphneProcess, world: World) -> None:
    async with others_unmoved(daphne, world), raw_socket(daphne) as flood:
        for _ in range(10):
            for _ in range(100):
                flood.frame(b'{"type":"unsubscribe","timeline":"public"}', FINAL | TEXT)
            await flood.drain()
        assert await flood.is_closed()


async def test_a_frame_of_two_megabytes_ends_the_socket_at_its_head(daphne: DaphneProcess, world: World) -> None:
    """The frame's head states its length: the server closes the socket before the bytes arrive."""
    async with others_unmoved(daphne, world), raw_socket(daphne) as flood:
        flood.frame(b"x" * 8_000, FINAL | TEXT, length=2 * 1024 * 1024)
        await flood.drain()
        assert await flood.is_closed()


@pytest.mark.parametrize("length", [2**40, 2**63 - 1, 2**63])
async def test_a_frame_with_a_huge_stated_length_costs_nothing(
    daphne: DaphneProcess, world: World, length: int
) -> None:
    async with others_unmoved(daphne, world), raw_socket(daphne) as flood:
        flood.frame(b"x" * 100, FINAL | TEXT, length=length)
        await flood.drain()
        assert await flood.is_closed()


async def test_a_message_in_endless_fragments_is_cut_off(daphne: DaphneProcess, world: World) -> None:
    async with others_unmoved(daphne, world), raw_socket(daphne) as flood:
        flood.frame(b"x" * 1_000, TEXT)
        for _ in range(2_000):
            flood.frame(b"x" * 1_000, CONTINUATION)
        await flood.drain()
        assert await flood.is_closed()


async def test_endless_pings_do_not_disturb_other_readers(daphne: DaphneProcess, world: World) -> None:
    """The client does not read the pongs: the server stops reading from it, so they do not pile up."""
    async with others_unmoved(daphne, world), raw_socket(daphne) as flood:
        for _ in range(500 * 1_000):
            for _ in range(500):
                flood.frame(b"p" * 125, FINAL | PING)
            if not await flood.drain():
                break
        else:
            pytest.fail("a flood of 30 GB was read")


async def test_a_hundred_silent_sockets_leave_the_site_answering(daphne: DaphneProcess, world: World) -> None:
    async with others_unmoved(daphne, world), contextlib.AsyncExitStack() as stack:
        for _ in range(100):
            await stack.enter_async_context(raw_socket(daphne))


@pytest.mark.parametrize(
    ("first", "repeated"),
    [(None, FINAL | PING), (None, FINAL | PONG), (TEXT, CONTINUATION)],
    ids=["ping", "pong", "empty"],
)
async def test_six_visitors_that_flood_with_empty_frames_are_disconnected_and_pages_stay_fast(
    daphne: DaphneProcess, world: World, first: int | None, repeated: int
) -> None:
    head = b"" if first is None else encode_frame(b"x", first)
    quiet_s = await slowest_page(daphne)
    with StallMonitor() as stalls:
        before_s = daphne.cpu_s()
        floods = [asyncio.to_thread(is_disconnected_for, daphne, head, encode_frame(b"", repeated)) for _ in range(6)]
        *are_disconnected, flooded_s = await asyncio.gather(*floods, slowest_page(daphne))
        used_s = daphne.cpu_s() - before_s
    print(f"slowest page: quiet {quiet_s:.3f} s, flooded {flooded_s:.3f} s; {used_s:.2f} s of CPU")
    assert all(are_disconnected)
    assert used_s < FLOOD_CPU_S
    assert flooded_s < 5 * quiet_s + 0.5 + stalls.total_s


def is_disconnected_for(daphne: DaphneProcess, head: bytes, frame: bytes) -> bool:
    """Send the frame again and again, and read the answers. Return whether the server disconnects."""
    with socket.create_connection(("127.0.0.1", daphne.port), timeout=10) as flood:
        flood.sendall(encode_upgrade_request(daphne))
        assert b" 101 " in flood.recv(4096)
        flood.sendall(head)
        flood.setblocking(False)
        until = time.monotonic() + FLOOD_S
        while time.monotonic() < until:
            try:
                with contextlib.suppress(BlockingIOError):
                    flood.send(frame * 10_000)
                with contextlib.suppress(BlockingIOError):
                    if not flood.recv(65_536):
                        return True
            except ConnectionError:
                return True
            time.sleep(0.002)
    return False


async def slowest_page(daphne: DaphneProcess) -> float:
    took = 0.0
    async with httpx.AsyncClient(base_url=daphne.origin, trust_env=False, timeout=30) as reader:
        for _ in range(20):
            began = time.monotonic()
            assert (await reader.get("/public/")).status_code == 200
            took = max(took, time.monotonic() - began)
            await asyncio.sleep(0.02)
    return took


async def test_the_bytes_stored_before_a_socket_is_accepted_are_limited(
    daphne: DaphneProcess, world: World, redis_server: RedisServer
) -> None:
    os.kill(redis_server.pid, signal.SIGSTOP)  # the handshake waits for the session, and ends with 503 after 3 s
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", daphne.port)
        writer.write(encode_upgrade_request(daphne))
        await eventually(lambda: unread_bytes(writer.get_extra_info("sockname")[1], daphne.port) == 0)
        writer.write(encode_frame(b"x" * 1_000, FINAL | TEXT) * 1_000)
        answer = b""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(20):
                answer = await reader.read()
        assert b" 503 " not in answer
        writer.close()
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)


async def test_an_address_has_a_maximum_of_sockets(daphne: DaphneProcess, world: World) -> None:
    """Without it, a visitor opens 1,200 a minute, each of 35 kB, and may send messages on each of them."""
    async with contextlib.AsyncExitStack() as sockets:
        opened = [await sockets.enter_async_context(raw_socket(daphne)) for _ in range(60 * SOCKETS_PER_MESSAGE - 1)]
        first = contextlib.AsyncExitStack()
        opened.append(await first.enter_async_context(raw_socket(daphne)))
        assert await handshake_status(daphne, "127.0.0.1") == 429
        assert await handshake_status(daphne, "127.0.0.2") == 101
        await first.aclose()

        async def has_room() -> bool:
            return await handshake_status(daphne, "127.0.0.1") == 101

        await eventually(has_room)


async def handshake_status(daphne: DaphneProcess, address: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", daphne.port, local_addr=(address, 0))
    writer.write(encode_upgrade_request(daphne))
    async with asyncio.timeout(10):
        status = (await reader.readline()).split()[1]
    writer.close()
    return int(status)


def unread_bytes(client_port: int, server_port: int) -> int:
    """Return the number of bytes of the connection that the server has not read; -1 if there is no connection."""
    ends = f"0100007F:{server_port:04X} 0100007F:{client_port:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines():
        if ends in line:
            return int(line.split()[4].partition(":")[2], 16)
    return -1


async def test_a_thousand_connections_of_an_address_delay_others_as_little_as_sixty(daphne: DaphneProcess) -> None:
    """Each connection repeats its request as soon as it is answered. The answers to it during one page are counted."""
    head = f"GET /public/ HTTP/1.1\r\nHost: 127.0.0.1:{daphne.port}\r\n\r\n".encode()
    answered = 0

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        while True:
            writer.write(head)
            await reader.readuntil(b"\r\nDate: ")
            answered += 1
            await reader.readuntil(b"</html>")

    connections = [await asyncio.open_connection("127.0.0.1", daphne.port, limit=2**20) for _ in range(800)]
    async with asyncio.TaskGroup() as flood:
        tasks = [flood.create_task(repeat(*each)) for each in connections]
        await eventually(lambda: answered > 400)
        other = httpx.AsyncHTTPTransport(local_address="127.0.0.2")
        async with httpx.AsyncClient(base_url=daphne.origin, transport=other, timeout=30) as reader:
            before = answered
            assert (await reader.get("/public/")).status_code == 200
            during = answered - before
        for task in tasks:
            task.cancel()
    for _, writer in connections:
        writer.close()
    print(f"{during} pages of the flood during one page of another reader")
    assert during < 400
