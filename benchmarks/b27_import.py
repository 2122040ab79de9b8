"""The import of a graph of 870,161 follows, and of 72,567 posts with their search index (ubuntu-irc).

Times of the importer alone, with files that are read and checked line by line, onto one server without persistence.
The garbage collector is set as in the import commands. Reference: the commands of such an import, recorded and encoded
before, sent to an empty server through one socket by a plain loop that reads the replies of each thousand.
"""

import asyncio
import contextlib
import socket
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import hiredis

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.imported import GRAPH, POSTS, import_graph, import_posts, open_services_on_one_server, split_file
from benchmarks.servers import redis_server

if TYPE_CHECKING:
    from socialsite.container import Services
    from tests.support.redis_server import RedisServer

SENT_AT_ONCE = 1_000
NOT_SENT = {b"HELLO", b"CLIENT", b"SUBSCRIBE", b"PSUBSCRIBE", b"SSUBSCRIBE"}
"""Commands that set up a connection."""
Seconds = tuple[float, float]
"""For the follows, and for the posts."""


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from socialsite.web.gc_tuning import freeze_startup_objects

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (graph,), (posts,) = split_file(GRAPH, folder, plan, 1), split_file(POSTS, folder, plan, 1)
        count, follows_commands, posts_commands = await record_commands(folder / "relay", graph, posts)
        freeze_startup_objects()
        ours: list[Seconds] = []
        sent: list[Seconds] = []
        for _ in range(plan.rounds):
            async with open_services_on_one_server() as services:
                ours.append(await run_imports(services, graph, posts))
            with redis_server() as server:
                sent.append((send_all(server, follows_commands), send_all(server, posts_commands)))
    what = ("import of the follows", f"import of {count:,} posts with search")
    return [
        Figure(name, "s", Samples.all(own), at_most(1.5), Samples.all(least), "its commands, sent by a plain loop")
        for name, own, least in zip(what, zip(*ours, strict=True), zip(*sent, strict=True), strict=True)
    ]


async def run_imports(services: "Services", graph: Path, posts: Path) -> Seconds:
    started = time.perf_counter()
    await import_graph(services, graph)
    imported_graph = time.perf_counter()
    await import_posts(services, posts)
    return imported_graph - started, time.perf_counter() - imported_graph


async def record_commands(relay: Path, graph: Path, posts: Path) -> tuple[int, list[bytes], list[bytes]]:
    """Return the number of posts, and the encoded commands of both imports."""
    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    commands: list[bytes] = []
    with redis_server() as server:
        async with (
            recording_relay(relay, server, commands),
            open_services(f"unix://{relay}?db=0", ServiceConfig()) as services,
        ):
            await import_graph(services, graph)
            follows = len(commands)
            count = await import_posts(services, posts)
    return count, commands[:follows], commands[follows:]


@contextlib.asynccontextmanager
async def recording_relay(path: Path, server: "RedisServer", commands: list[bytes]) -> AsyncIterator[None]:
    """Relay connections to the server, and append each of their commands, encoded."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, to_server = await asyncio.open_unix_connection(str(server.socket))
        back = asyncio.create_task(copy(answers, writer))
        parser = hiredis.Reader()
        while data := await reader.read(1 << 20):
            parser.feed(data)
            while (command := parser.gets()) is not False:
                if command[0] not in NOT_SENT:
                    commands.append(hiredis.pack_command(tuple(command)))
            to_server.write(data)
            await to_server.drain()
        to_server.close()
        await back

    listening = await asyncio.start_unix_server(relay, path)
    try:
        yield
    finally:
        listening.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 20):
        writer.write(data)
        await writer.drain()


def send_all(server: "RedisServer", commands: list[bytes]) -> float:
    """Return the seconds until every reply is read. Joining the commands is not counted."""
    starts = range(0, len(commands), SENT_AT_ONCE)
    parts = [(len(some := commands[at : at + SENT_AT_ONCE]), b"".join(some)) for at in starts]
    parser = hiredis.Reader()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.socket))
        started = time.perf_counter()
        for missing, part in parts:
            connection.sendall(part)
            while missing:
                if parser.gets() is not False:
                    missing -= 1
                else:
                    parser.feed(connection.recv(1 << 20))
    return time.perf_counter() - started
