"""What is still connected when it should not be: seen from the servers, which know best."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Self

import redis

from socialsite.store import Store

CLOSE_TIMEOUT_S = 3.0
"""Less than the product waits for any reply: what closes only because its time is over comes too late."""
READ_BYTES = 1_000


@contextlib.asynccontextmanager
async def assert_no_open_connections(*clients: Callable[[], redis.Redis]) -> AsyncIterator[None]:
    """What connects to these servers in here is gone at the end, or soon after."""
    before = [connected_client_ids(client) for client in clients]
    yield
    await wait_until_closed(
        lambda: all(connected_client_ids(each) <= were for each, were in zip(clients, before, strict=True))
    )


def connected_client_ids(of_server: Callable[[], redis.Redis]) -> set[int]:
    """Who is connected to a server: the numbers it gave them, without Sentinels and whoever asks."""
    with of_server() as client:
        own = client.client_id()
        found = client.client_list(_type="normal")
    return {int(each["id"]) for each in found if not each["name"].startswith("sentinel-")} - {int(own)}


async def cancel_at_every_step(start: Callable[[], Coroutine[Any, Any, Store]]) -> None:
    """Start again and again, and break off a turn of the loop later each time, until it comes to its end."""
    turns, is_open = 0, False
    while not is_open:
        turns += 1
        starting = asyncio.create_task(start())
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await starting).close()
            is_open = True


async def wait_until_closed(holds: Callable[[], bool]) -> None:
    end = asyncio.get_running_loop().time() + CLOSE_TIMEOUT_S
    while not holds():
        assert asyncio.get_running_loop().time() < end, "a connection was left open"
        await asyncio.sleep(0.02)


class SilentServer:
    """Listens on loopback, takes every connection and never answers; `open` are those not closed yet."""

    def __init__(self) -> None:
        self.open = 0
        self.met = asyncio.Event()
        """Somebody has said something."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._hear, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def wait_until_abandoned(self) -> None:
        """Returns once nobody is connected any more."""
        await wait_until_closed(lambda: self.open == 0)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            with contextlib.suppress(ConnectionError):
                while await reader.read(READ_BYTES):
                    self.met.set()
        finally:
            self.open -= 1
            writer.close()
