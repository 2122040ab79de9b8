"""The server closes sockets of readers that never read or stop reading; other readers lose nothing."""

import asyncio
import contextlib
import socket
import time
from pathlib import Path

from socialsite.web.socket_writer import STALL_TIMEOUT_S
from tests.support.daphnes import DaphneProcess
from tests.support.sockets import FINAL, PONG, TEXT, SocketClient, encode_frame, encode_upgrade_request, open_socket
from tests.support.stalls import StallMonitor
from tests.support.world import Person

ENTRY_TEXT = "x" * 480
POSTS = 300
"""410 kB of entries per socket, of which the kernel stores 130 kB."""
DEAF_SOCKETS = 60
MAX_GROWTH_KB = 8_000
"""More than two equal rounds of posts differ by. A copy of each pending frame for each deaf socket takes 40 MB."""
ROUNDS = 10
"""Most rounds of posts until the kernel (up to 4 MB a socket) accepts no more for a deaf reader."""
SAME = 20
"""Posts without a change in the kernel's buffer, after which it is full and 27 kB wait in daphne."""


class Deaf:
    """A websocket subscribed to public that never reads; its receive buffer is 4 kB."""

    def __init__(self, daphne: DaphneProcess) -> None:
        self._daphne = daphne
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.connect(("127.0.0.1", daphne.port))
        self._socket.sendall(encode_upgrade_request(daphne))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._socket.recv(1)
        assert b"101" in answer.split(b"\r\n")[0]
        self._socket.sendall(encode_frame(b'{"type":"subscribe","timeline":"public"}', FINAL | TEXT))

    def close(self) -> None:
        self._socket.close()

    def is_closed(self) -> bool:
        """Return whether the server has closed the connection: it answers a write with a reset."""
        try:
            self._socket.setblocking(False)
            self._socket.send(encode_frame(b"", FINAL | PONG))  # an unsolicited pong
            time.sleep(0.02)
            return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except (ConnectionResetError, BrokenPipeError):
            return True
        except BlockingIOError:
            return False

    def unsent(self) -> int:
        """Return the bytes that the server's kernel stores for the socket."""
        ports = (self._daphne.port, self._socket.getsockname()[1])
        ends = [f"0100007F:{port:04X}" for port in ports]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1:3] == ends:
                return int(fields[4].split(":")[0], 16)
        raise AssertionError("the server has no such connection")


async def test_a_reader_that_never_reads_is_closed_and_costs_little(daphne, world) -> None:
    """Compare with the cost of the same posts while every reader reads."""
    bob = await world.person("bob")
    async with open_socket(daphne) as reader:
        await reader.subscribe("public")
        posts, *_ = await published(daphne, bob, reader)  # until connection pools and caches are full
        more, usual_kb, usual_s = await published(daphne, bob, reader)
        stuck = [Deaf(daphne) for _ in range(DEAF_SOCKETS)]
        await asyncio.sleep(0.5)
        with StallMonitor() as stalls:
            last, growth_kb, p99_s = await published(daphne, bob, reader)
        for _ in range(ROUNDS):
            await asyncio.sleep(1.5)
            closed = sum(each.is_closed() for each in stuck)
            if closed == len(stuck):
                break
            last += (await published(daphne, bob, reader))[0]
        for each in stuck:
            each.close()
    print(
        f"{closed} deaf sockets closed, {growth_kb} kB more, {usual_kb} kB without; "
        f"another reader hears within {p99_s * 1000:.0f} ms (p99), {usual_s * 1000:.0f} ms without"
    )
    assert closed == len(stuck)
    assert reader.entry_ids("public") == [*posts, *more, *last]
    assert p99_s < usual_s + 0.5 + stalls.total_s
    assert growth_kb - usual_kb < MAX_GROWTH_KB


async def published(daphne: DaphneProcess, author: Person, reader: SocketClient) -> tuple[list[int], int, float]:
    """Publish posts that a reader receives; return ids, growth in kB and the p99 delay in seconds."""
    before_kb, ids, took = daphne.resident_kb(), [], []
    for number in range(POSTS):
        began = time.monotonic()
        ids.append((await author.publishes(f"{number} {ENTRY_TEXT}")).id)
        await reader.receive_entry(ids[-1])
        took.append(time.monotonic() - began)
    return ids, daphne.resident_kb() - before_kb, sorted(took)[POSTS * 99 // 100]


async def test_a_reader_that_stalls_for_ten_seconds_is_closed_with_few_bytes_pending(daphne, world) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne) as other:
        with contextlib.closing(Deaf(daphne)) as deaf:
            await asyncio.sleep(0.5)
            await other.subscribe("public")  # after the deaf reader, so that the server sends to this one later
            unsent, stuck = [-1], time.monotonic()
            while len(unsent) < SAME or len(set(unsent[-SAME:])) > 1:
                await other.receive_entry((await bob.publishes(ENTRY_TEXT)).id)
                unsent.append(deaf.unsent())
                stuck = time.monotonic() if unsent[-1] != unsent[-2] else stuck
            await asyncio.sleep(max(0.0, stuck + 7 - time.monotonic()))
            is_closed = deaf.is_closed()
            assert not is_closed or time.monotonic() > stuck + STALL_TIMEOUT_S
            async with asyncio.timeout(20):
                while not deaf.is_closed():  # noqa: ASYNC110 - only the kernel knows, nothing sets an event
                    await asyncio.sleep(0.2)
