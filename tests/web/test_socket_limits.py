"""What one socket may cost, and how soon a lost right closes it."""

import asyncio
import contextlib
import os
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from statistics import median

import pytest
from websockets.exceptions import InvalidStatus

from accounts.tokens import Token
from socialsite.outlet import STALLED_S
from socialsite.services import Services
from tests.support.redis_server import RedisServer
from tests.support.sockets import Client, Daphne, client, running, signed_in
from tests.support.stalls import Stalls
from tests.support.world import Person, World

ENTRY_TEXT = "x" * 480
SOCKETS = 100
POSTS = 300
"""410 kB of entries for each socket: more than Twisted and daphne hold for one, and mostly the kernel."""
ROUNDS = 10
"""So many posts at most until the kernel (4 MB a socket, if it likes) takes no more for a deaf reader."""


@pytest.fixture(scope="module")
def site(redis_server: RedisServer) -> Iterator[Daphne]:
    with running(redis_server.url) as found:
        yield found


@pytest.fixture(scope="module")
def limited_site(redis_server: RedisServer) -> Iterator[Daphne]:
    with running(redis_server.url, RATE_LIMIT_SOCKET="10/m") as found:
        yield found


@pytest.fixture
def world(services: Services) -> World:
    return World(services)


async def test_signing_out_closes_that_sessions_sockets_alone(site, world, services) -> None:
    alice = await world.person("alice")
    phone, desk = await signed_in(alice), await signed_in(alice)
    async with client(site, phone) as one, client(site, phone) as two, client(site, desk) as other:
        for reader in (one, two, other):
            await reader.subscribe("home")
        token = Token.find(phone)
        assert token is not None
        with Stalls() as stalls:
            began = time.monotonic()
            await services.sessions.end(alice.id, token.session_id)
            assert await one.close_code() == await two.close_code() == 4401
            took_s = time.monotonic() - began
        assert took_s < 2 + stalls.total_s
        post = await alice.publishes("still here")
        await other.entry(post.id)


async def test_suspension_and_deletion_close_every_socket_of_the_account(site, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    async with client(site, await signed_in(alice)) as one, client(site, await signed_in(bob)) as two:
        await one.subscribe("public")
        await two.subscribe("public")
        await services.accounts.suspend(account_id=alice.id)
        assert await one.close_code() == 4401
        await services.accounts.delete(account_id=bob.id, now_ms=services.clock.now_ms())
        assert await two.close_code() == 4401


async def test_a_session_that_ended_unheard_is_closed_within_five_seconds(site, world, services) -> None:
    """The control message is lost: the session goes behind everybody's back."""
    alice = await world.person("alice")
    cookie = await signed_in(alice)
    token = Token.find(cookie)
    assert token is not None
    async with client(site, cookie) as reader:
        await reader.subscribe("home")
        await services.repositories.sessions.end(alice.id, token.session_id)
        with Stalls() as stalls:
            began = time.monotonic()
            assert await reader.close_code() == 4401
            took_s = time.monotonic() - began
        assert took_s <= 5 + stalls.total_s


async def test_the_last_of_a_hundred_sockets_closes_within_five_seconds(site, world, services) -> None:
    """Suspended people's by a word, ended sessions' unheard, in turns."""
    people = await world.people(*(f"reader{number}" for number in range(SOCKETS)))
    cookies = [await signed_in(person) for person in people]

    async def closed_at(reader: Client) -> float:
        assert await reader.close_code(timeout_s=15) == 4401
        return time.monotonic()

    async with contextlib.AsyncExitStack() as stack:
        stalls = stack.enter_context(Stalls())
        readers = [await stack.enter_async_context(client(site, cookie)) for cookie in cookies]
        for reader in readers:
            await reader.subscribe("home")
        closing, lost = [asyncio.create_task(closed_at(reader)) for reader in readers], []
        for number, (person, cookie) in enumerate(zip(people, cookies, strict=True)):
            lost.append(time.monotonic())
            token = Token.find(cookie)
            assert token is not None
            if number % 2:
                await services.accounts.suspend(account_id=person.id)
            else:
                await services.repositories.sessions.end(person.id, token.session_id)
        took = [await closed - at for closed, at in zip(closing, lost, strict=True)]
    print(
        f"{SOCKETS} sockets: p50 {median(took):.2f} s from the loss to the close, the last {max(took):.2f} s"
    )
    assert max(took) <= 5 + stalls.total_s


async def test_a_cookie_that_is_over_is_nobody(site, world, services) -> None:
    alice = await world.person("alice")
    cookie = await signed_in(alice)
    await services.sessions.end_all(alice.id)
    async with client(site, cookie) as reader:
        await reader.say({"type": "subscribe", "timeline": "home"})
        assert await reader.next() == {"type": "error", "code": "signed_out"}


async def test_over_the_limit_is_told_and_a_flood_is_closed(limited_site, world) -> None:
    async with client(limited_site) as reader:
        for _ in range(10):
            await reader.say({"type": "unsubscribe", "timeline": "public"})
        await reader.say({"type": "subscribe", "timeline": "public"})
        assert await reader.next() == {"type": "error", "code": "rate_limited"}
        with contextlib.suppress(ConnectionError):
            for _ in range(30):
                await reader.say({"type": "unsubscribe", "timeline": "public"})
        assert await reader.close_code() == 4429


async def test_a_frame_over_4_kb_ends_the_socket_and_others_stay(site, world) -> None:
    bob = await world.person("bob")
    async with client(site) as loud, client(site) as other:
        await other.subscribe("public")
        await loud.say("x" * 5000)
        assert await loud.close_code() in (1006, 1009)
        post = await bob.publishes("unmoved")
        await other.entry(post.id)


async def test_more_timelines_than_the_cap_are_refused(site, world) -> None:
    people = await world.people(*(f"person{n}" for n in range(21)))
    async with client(site) as reader:
        for person in people[:20]:
            await reader.subscribe(f"profile:{person.handle}")
        await reader.say({"type": "subscribe", "timeline": "profile:person20"})
        assert await reader.next() == {"type": "error", "code": "bad_message"}


async def test_a_reader_that_never_reads_is_closed_and_costs_little(site, world) -> None:
    """Beside what the same posts cost a process whose readers read."""
    bob = await world.person("bob")
    async with client(site) as reader:
        await reader.subscribe("public")
        posts, _ = await published(site, bob, reader)  # until pools and kept fragments have their size
        more, usual_kb = await published(site, bob, reader)
        stuck = [_deaf_socket(site) for _ in range(20)]
        await asyncio.sleep(0.5)
        began = time.monotonic()
        last, growth_kb = await published(site, bob, reader)
        each_s = (time.monotonic() - began) / POSTS
        for _ in range(ROUNDS):
            await asyncio.sleep(1.5)
            closed = sum(_is_closed(each) for each in stuck)
            if closed == len(stuck):
                break
            last += (await published(site, bob, reader))[0]
        for each in stuck:
            each.close()
    print(
        f"{closed} deaf sockets closed, {growth_kb} kB more, {usual_kb} kB without; heard in {each_s:.3f} s"
    )
    assert closed == len(stuck)
    assert reader.entry_ids("public") == [*posts, *more, *last]
    assert each_s < 1.0
    assert growth_kb - usual_kb < 20 * 64


async def published(site: Daphne, author: Person, reader: Client) -> tuple[list[int], int]:
    """Posts, each heard by a reader that reads; and by how many kB the process grew meanwhile."""
    before_kb, ids = site.resident_kb(), []
    for number in range(POSTS):
        ids.append((await author.publishes(f"{number} {ENTRY_TEXT}")).id)
        await reader.entry(ids[-1])
    return ids, site.resident_kb() - before_kb


async def test_a_reader_that_stalls_for_ten_seconds_is_closed_though_little_waits(site, world) -> None:
    bob = await world.person("bob")
    async with client(site) as other, _deaf(site) as deaf:
        await asyncio.sleep(0.5)
        await other.subscribe("public")  # after the deaf one, so that it is sent to after it
        unsent, stuck = [-1], time.monotonic()
        while (
            len(unsent) < 20 or len(set(unsent[-20:])) > 1
        ):  # the kernel takes no more: 27 kB wait in daphne
            await other.entry((await bob.publishes(ENTRY_TEXT)).id)
            unsent.append(_kernel_queue(site, deaf))
            stuck = time.monotonic() if unsent[-1] != unsent[-2] else stuck
        await asyncio.sleep(max(0.0, stuck + 7 - time.monotonic()))
        is_closed = _is_closed(deaf)
        assert not is_closed or time.monotonic() > stuck + STALLED_S
        async with asyncio.timeout(20):
            while not _is_closed(deaf):  # noqa: ASYNC110 - the kernel knows, nothing sets an event
                await asyncio.sleep(0.2)


async def test_without_a_store_the_handshake_is_503_and_works_again_after(site, world, redis_server) -> None:
    cookie = await signed_in(await world.person("alice"))
    os.kill(redis_server.pid, 19)  # SIGSTOP: connected, but no answer
    try:
        with pytest.raises(InvalidStatus) as refused:
            async with asyncio.timeout(15), client(site, cookie):
                pass
        assert refused.value.response.status_code == 503
    finally:
        os.kill(redis_server.pid, 18)
    async with client(site, cookie) as reader:
        await reader.subscribe("home")


def _deaf_socket(site: Daphne) -> socket.socket:
    """A websocket subscribed to public, with a receive buffer of 4 kB that nobody reads."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found.connect(("127.0.0.1", site.port))
    found.sendall(
        (
            f"GET /ws/stream/ HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nOrigin: {site.origin}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ).encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += found.recv(1)
    assert b"101" in answer.split(b"\r\n")[0]
    text = b'{"type":"subscribe","timeline":"public"}'
    found.sendall(struct.pack("!BB", 0x81, 0x80 | len(text)) + b"\0\0\0\0" + text)
    return found


@contextlib.asynccontextmanager
async def _deaf(site: Daphne) -> AsyncIterator[socket.socket]:
    found = _deaf_socket(site)
    try:
        yield found
    finally:
        found.close()


def _is_closed(deaf: socket.socket) -> bool:
    """Whether the server gave the connection up: a write is answered by a reset."""
    try:
        deaf.setblocking(False)
        deaf.send(struct.pack("!BB", 0x8A, 0x80) + b"\0\0\0\0")  # an unasked pong
        time.sleep(0.02)
        return deaf.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
    except (ConnectionResetError, BrokenPipeError):
        return True
    except BlockingIOError:
        return False


def _kernel_queue(site: Daphne, deaf: socket.socket) -> int:
    """Bytes that the server's kernel holds for the socket."""
    local, remote = f"0100007F:{site.port:04X}", f"0100007F:{deaf.getsockname()[1]:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == [local, remote]:
            return int(fields[4].split(":")[0], 16)
    raise AssertionError("the server has no such connection")
