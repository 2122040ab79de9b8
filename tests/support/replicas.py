"""A master and its replica on loopback, with a replication link that can be paused."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import redis

from socialsite.store import NotDurable
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.waiting import repeat_while_refused, wait_until
from timelines.errors import PostUnconfirmed

CONFIRMATION_TIMEOUT_S = 60.0
T = TypeVar("T")


def follow(replica: redis.Redis, master: redis.Redis, port: int) -> None:
    """Make the server of one client a replica of another, reached at `port`, and wait until it is replicated."""
    replica.replicaof("127.0.0.1", str(port))
    wait_until(lambda: is_replicated(master) and is_linked(replica), "the replica to have the data")


def is_linked(replica: redis.Redis) -> bool:
    """Return whether a replica says that its link is up. Valkey 9 says so after its master does."""
    return bool(replica.info("replication")["master_link_status"] == "up")


def is_replicated(master: redis.Redis) -> bool:
    """Return whether a server has replicas, and all are online and have acknowledged its last write.

    A replica that says that its link is up may still be offline for its master: then WAIT does not count it.
    """
    facts = master.info("replication")
    replicas = [facts[f"slave{number}"] for number in range(facts["connected_slaves"])]
    return bool(replicas) and all(
        each["state"] == "online" and each["offset"] == facts["master_repl_offset"] for each in replicas
    )


async def until_confirmed(act: Callable[[], Awaitable[T]]) -> T:
    """Repeat an idempotent request until replicas confirm it: on a busy machine they may need more than a second."""
    return await repeat_while_refused(act, NotDurable, PostUnconfirmed, timeout_s=CONFIRMATION_TIMEOUT_S)


class PausableRelay:
    """Relays the replication stream. While paused it passes no bytes and closes neither end."""

    def __init__(self, target_port: int) -> None:
        (self.port,) = free_ports(1)
        self._target_port = target_port
        self._passing = asyncio.Event()
        self._passing.set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)

    def pause(self) -> None:
        self._passing.clear()

    def resume(self) -> None:
        self._passing.set()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)
        await asyncio.sleep(0)  # lets the transports process the end of their connections

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to, back = await asyncio.open_connection("127.0.0.1", self._target_port)
        for source, sink in ((reader, back), (to, writer)):
            task = asyncio.create_task(self._pass_on(source, sink))
            self._carrying.add(task)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                while data := await source.read(65_536):
                    await self._passing.wait()
                    sink.write(data)
                    await sink.drain()
        finally:
            sink.transport.abort()


class ReplicatedServer:
    """`master` and `replica`, which replicate over `wire`."""

    def __init__(self) -> None:
        ports = free_ports(2)
        self.master, self.replica = (
            RedisServer(options=("--port", str(port), "--bind", "127.0.0.1", *QUICK)) for port in ports
        )
        self.wire = PausableRelay(ports[0])
        self.url = f"{self.master.url}&replica={self.replica.socket}"

    async def start(self) -> None:
        self.master.start()
        self.replica.start()
        await self.wire.start()
        with self.replica.client() as replica, self.master.client() as master:
            await asyncio.to_thread(follow, replica, master, self.wire.port)

    def is_synced(self) -> bool:
        with self.replica.client() as client:
            return is_linked(client)

    async def stop(self) -> None:
        await self.wire.stop()
        self.master.stop()
        self.replica.stop()


QUICK = ("--repl-diskless-sync-delay", "0", "--repl-timeout", "60")


@contextlib.asynccontextmanager
async def replicated_server() -> AsyncIterator[ReplicatedServer]:
    servers = ReplicatedServer()
    try:
        await servers.start()
        yield servers
    finally:
        await servers.stop()


def count_reads(client: redis.Redis) -> int:
    """Return how many range, size and value reads the server has executed since its start."""
    with client:
        stats = client.info("commandstats")
    return sum(
        int(stats[f"cmdstat_{command}"]["calls"])
        for command in ("zrevrangebyscore", "zrangebyscore", "zcard", "get")
        if f"cmdstat_{command}" in stats
    )
