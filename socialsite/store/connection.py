"""Connections to one server: a pipelined connection that many tasks share, and separate connections for WAIT.

Commands that are sent in one iteration of the event loop leave in one write; hiredis parses the replies in order. This
saves most of the work of a client with one connection per task (measured: 3,800 to 5,700 pages/s instead of 1,600).
Every request has a deadline. If the oldest request passes it, the connection is closed and all requests in flight fail,
because later replies can no longer be assigned to their requests.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import cycle, repeat
from typing import Any, Self
from weakref import WeakSet

import hiredis

from socialsite.store.address import Address
from socialsite.store.commands import as_eval, encode, load_script
from socialsite.store.errors import (
    ClusterRedirection,
    NotDurable,
    ReadOnlyServer,
    StoreError,
    StoreUnavailable,
    parse_error,
)
from socialsite.store.key_families import INSTALLATION, key_by_word

wait_key = key_by_word("map:{<mark>}:wait", "string",
    "written and deleted by one script before each WAIT, so no client sees it", role=INSTALLATION,
    condition="REQUIRE_REPLICAS is set")  # fmt: skip

ADVANCE_OFFSET = load_script("advance_offset.lua", "socialsite.store")
CONNECT_TIMEOUT_S = 2.0
REPLY_TIMEOUT_S = 5.0
MAX_REQUESTS_IN_FLIGHT = 20_000
"""The maximum number of requests in flight. Further requests are refused, because the server is too slow."""
DEADLINE_CHECK_INTERVAL_S = 0.25
REPLIES_PER_READ = 128
"""The number of replies that one call of `map` takes from the hiredis reader. The loop of `map` runs in C."""
NO_COMPLETE_REPLY = object()
"""Returned by the hiredis reader if the next reply is incomplete."""
MAX_CONNECT_BACKOFF_S = 0.5
"""The maximum time in which attempts to connect fail immediately after a failed attempt.

The time is as long as the failed attempt took.
"""
WAIT_CONNECTIONS_PER_NODE = 8
"""The number of connections per node for writes that wait for replicas."""
WAIT_TIMEOUT_MS = 1_000


class PendingRequest:
    """The replies that one caller waits for. The future gets all of them; error replies are exceptions in the list."""

    __slots__ = ("deadline", "expected_replies", "future", "replies")

    def __init__(self, expected_replies: int, deadline: float, future: asyncio.Future[list[Any]]) -> None:
        self.expected_replies = expected_replies
        self.deadline = deadline
        self.future = future
        self.replies: list[Any] = []


class PipelinedConnection(asyncio.Protocol):
    """A connection to one server, shared by all tasks of one event loop."""

    def __init__(self, name: str, on_lost: Callable[["PipelinedConnection"], None]) -> None:
        self.name = name
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(
            protocolError=StoreUnavailable, replyError=self._make_error, notEnoughData=NO_COMPLETE_REPLY
        )
        self._requests: deque[PendingRequest] = deque()
        self._outgoing: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._is_demoted = False
        self.loaded_scripts: set[str] = set()
        self.is_read_only = False
        """Whether the node has to call `authorize_writes` before it sends a write (migration/connection_gate.py)."""

    @classmethod
    async def open(cls, address: Address, on_lost: Callable[["PipelinedConnection"], None]) -> Self:
        """Connect and authenticate. Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                if address.path:
                    _, connection = await loop.create_unix_connection(lambda: cls(str(address), on_lost), address.path)
                else:
                    context = address.tls.context() if address.tls else None
                    _, connection = await loop.create_connection(
                        lambda: cls(str(address), on_lost), address.host, address.port, ssl=context
                    )
                await connection._authenticate(address)
        except (OSError, TimeoutError) as error:
            raise StoreUnavailable(f"cannot connect to {address}: {str(error) or 'time-out'}") from error
        return connection

    async def _authenticate(self, address: Address) -> None:
        commands: list[tuple[Any, ...]] = []
        if address.password is not None:
            commands.append(("AUTH", *([address.username] if address.username else []), address.password))
        if address.db:
            commands.append(("SELECT", address.db))
        if commands:
            payload = b"".join(hiredis.pack_command(command) for command in commands)
            try:
                for reply in await self.send(payload, len(commands)):
                    if isinstance(reply, StoreError):
                        raise reply
            except BaseException:  # refused, timed out or cancelled
                self.close()
                raise

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._is_demoted

    def send(self, payload: bytes, replies: int, timeout_s: float = REPLY_TIMEOUT_S) -> asyncio.Future[list[Any]]:
        """Queue encoded commands. The future gets their replies, or StoreUnavailable if they are lost."""
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        if self._transport is None or len(self._requests) >= MAX_REQUESTS_IN_FLIGHT:
            reason = "is closed" if self._transport is None else "is not keeping up"
            future.set_exception(StoreUnavailable(f"the connection to {self.name} {reason}"))
            return future
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(payload)
        self._requests.append(PendingRequest(replies, self._loop.time() + timeout_s, future))
        if self._deadline_timer is None:
            self._deadline_timer = self._loop.call_later(DEADLINE_CHECK_INTERVAL_S, self._check_deadline)
        return future

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._fail_requests(StoreUnavailable(f"the connection to {self.name} was closed"))

    def _make_error(self, text: str) -> StoreError:
        """Return the exception for an error reply. READONLY ends the use of this connection for new commands."""
        error = parse_error(text)
        if isinstance(error, ReadOnlyServer) and not self._is_demoted:
            self._is_demoted = True
            self._on_lost(self)
            self._loop.call_later(REPLY_TIMEOUT_S, self.close)
        return error

    def _flush(self) -> None:
        payloads, self._outgoing = self._outgoing, []
        if self._transport is not None and payloads:
            self._transport.write(payloads[0] if len(payloads) == 1 else b"".join(payloads))

    def _check_deadline(self) -> None:
        self._deadline_timer = None
        if not self._requests:
            return
        if self._requests[0].deadline < self._loop.time():
            self._fail_requests(StoreUnavailable(f"no answer from {self.name} in time"))
            return
        self._deadline_timer = self._loop.call_later(DEADLINE_CHECK_INTERVAL_S, self._check_deadline)

    def _fail_requests(self, error: StoreUnavailable) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
            self._on_lost(self)
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
            self._deadline_timer = None
        self._outgoing = []
        requests, self._requests = self._requests, deque()
        for request in requests:
            if not request.future.done():
                request.future.set_exception(error)
                request.future.exception()  # asyncio would log an exception that a cancelled caller never retrieves

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        reason = f": {exc}" if isinstance(exc, ssl.SSLError) else ""
        self._fail_requests(StoreUnavailable(f"lost the connection to {self.name}{reason}"))

    def data_received(self, data: bytes) -> None:
        requests = self._requests
        self._reader.feed(data)
        gets = self._reader.gets
        while requests:
            request = requests[0]
            replies = request.replies
            while missing := request.expected_replies - len(replies):
                start = len(replies)
                replies.extend(map(gets, repeat(False, min(missing, REPLIES_PER_READ))))
                if replies[-1] is NO_COMPLETE_REPLY:
                    del replies[replies.index(NO_COMPLETE_REPLY, start) :]
                    return
            requests.popleft()
            if not request.future.done():
                request.future.set_result(replies)


class ConnectionTracker:
    """All connections of one node, including connections to a demoted server.

    After `close`, no connection is open or can be opened. A site that stops, or that fails to start, closes its nodes
    while some connections are being opened. `close` interrupts these attempts, and a connection that is established
    later is closed. The caller of `open` gets StoreUnavailable.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._failure = ""
        self._retry_at = float("-inf")
        self._connections: WeakSet[PipelinedConnection] = WeakSet()
        """The references are weak, because the event loop refers to open connections."""

    @property
    def open_connections(self) -> list[PipelinedConnection]:
        """The connections that accept commands."""
        return [connection for connection in tuple(self._connections) if connection.is_open]

    async def open(
        self,
        locate: Callable[[], Awaitable[Address]],
        prepare: Callable[[PipelinedConnection], Awaitable[None]],
        on_lost: Callable[[PipelinedConnection], None],
    ) -> PipelinedConnection:
        """Return an open connection after `prepare` has finished with it. Raises StoreUnavailable.

        If a server drops packets, all waiting callers fail together after one timeout.
        """
        self._require_open()
        started = asyncio.get_running_loop().time()
        if started < self._retry_at:
            raise StoreUnavailable(self._failure)
        try:
            connection = await PipelinedConnection.open(await locate(), on_lost)
        except StoreUnavailable as error:
            now = asyncio.get_running_loop().time()
            self._failure, self._retry_at = str(error), now + min(now - started, MAX_CONNECT_BACKOFF_S)
            raise
        self._connections.add(connection)
        try:
            self._require_open()
            await prepare(connection)
            if not connection.is_open:  # it was lost during `prepare`
                raise StoreUnavailable(f"lost the connection to {connection.name}")
        except BaseException:
            connection.close()
            raise
        return connection

    def drop_connections(self) -> None:
        """Close the connections that accept commands, so that the next command opens a new one.

        A connection to a demoted server stays open until its pending replies are read.
        """
        for connection in self.open_connections:
            connection.close()

    def close(self) -> None:
        """Close all connections and refuse new ones."""
        self.is_closed = True
        for connection in tuple(self._connections):
            connection.close()

    def _require_open(self) -> None:
        if self.is_closed:
            raise StoreUnavailable("the store was closed: open another")


class WaitConnections:
    """A few connections to one server, used in turn, for writes that replicas have to confirm (REQUIRE_REPLICAS).

    WAIT blocks its connection. So it is the last command of the pipeline that writes, and it does not use the shared
    connection. A failover between the write and WAIT breaks the connection, so a new master cannot confirm a write that
    only the previous master had.

    A repeated write may change nothing, although the first write is not on a replica. Since Redis 7.2, WAIT refers to
    the last command of its connection that changed data. So a script that always changes data precedes WAIT. Its key
    has one of `tags()`, which the server has to own.
    """

    def __init__(
        self, open_connection: Callable[[], Awaitable[PipelinedConnection]], tags: Callable[[], Iterable[str]]
    ) -> None:
        self._open_connection = open_connection
        self._tags = tags
        self.connections: list[PipelinedConnection | None] = [None] * WAIT_CONNECTIONS_PER_NODE
        self._next_index = cycle(range(WAIT_CONNECTIONS_PER_NODE))

    async def send(self, payload: bytes, replies: int, replicas: int) -> list[Any]:
        """Return the replies to encoded commands after `replicas` replicas have the writes.

        Error replies are in the list. Raises NotDurable, StoreUnavailable.
        """
        wait = encode(("WAIT", replicas, WAIT_TIMEOUT_MS))
        connection = await self._get_connection(next(self._next_index))
        command_replies: list[Any] = []
        for tag in self._tags():
            advance = encode(as_eval(ADVANCE_OFFSET.command([wait_key(tag)])))
            missing = replies - len(command_replies)
            received = await connection.send(payload + advance + wait, missing + 2, REPLY_TIMEOUT_S)
            command_replies += received[:missing]
            if any(isinstance(reply, ClusterRedirection) for reply in command_replies):
                return command_replies
            advanced, confirmations = received[missing:]
            if not isinstance(advanced, ClusterRedirection):
                break
            payload = b""  # the slot of the tag moves to another server: only the script is repeated
        for reply in (confirmations, advanced):
            if isinstance(reply, StoreError):
                raise reply
        if int(confirmations) < replicas:
            raise NotDurable(f"{confirmations} of {replicas} replicas of {connection.name} confirmed in time")
        return command_replies

    async def _get_connection(self, index: int) -> PipelinedConnection:
        connection = self.connections[index]
        if connection is None or not connection.is_open:
            new_connection = await self._open_connection()
            connection = self.connections[index]
            if connection is not None and connection.is_open:  # another write has opened a connection meanwhile
                new_connection.close()
            else:
                connection = self.connections[index] = new_connection
        return connection
