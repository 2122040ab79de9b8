"""Detect connections that should be closed, by the servers' own client lists."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Self

import redis

from socialsite.store import Store
from tests.support.waiting import eventually

CLOSE_TIMEOUT_S = 3.0
"""Less than any reply timeout of the product: a connection closed only by a timeout is closed too late."""
READ_BYTES = 1_000


@contextlib.asynccontextmanager
async def assert_no_open_connections(*clients: Callable[[], redis.Redis]) -> AsyncIterator[None]:
    """Check that connections opened to these servers in the block are closed soon after it."""
    before = [connected_client_ids(client) for client in clients]
    yield
    await wait_until_closed(
        lambda: all(connected_client_ids(each) <= were for each, were in zip(clients, before, strict=True))
    )


def connected_client_ids(of_server: Callable[[], redis.Redis]) -> set[int]:
    """Return the ids of a server's clients, without Sentinels and this client."""
    with of_server() as client:
        own = client.client_id()
        clients = client.client_list(_type="normal")
    return {int(each["id"]) for each in clients if not each["name"].startswith("sentinel-")} - {int(own)}


async def cancel_at_every_step(start: Callable[[], Coroutine[Any, Any, Store]]) -> None:
    """Start repeatedly and cancel one turn of the loop later each time, until a start completes."""
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
    await eventually(holds, timeout_s=CLOSE_TIMEOUT_S)


class SilentServer:
    """A server on loopback that accepts every connection and never answers. `open` counts its connections now,
    `met_count` all of them."""

    def __init__(self) -> None:
        self.open = self.met_count = 0
        self.met = asyncio.Event()
        """Set when a client has sent something."""

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
        await wait_until_closed(lambda: self.open == 0)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.met_count += 1
        try:
            # Python 3.11 logs an error for a handler that ends as cancelled when the loop closes.
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                while await reader.read(READ_BYTES):
                    self.met.set()
        finally:
            self.open -= 1
            writer.close()
