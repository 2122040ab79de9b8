"""A node: one server or proxy that commands are sent to.

It handles timeouts, error replies and script digests. Replies are RESP2 values: bytes, int, None or lists of these. An
error reply raises, so that it cannot be read as empty data.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import NoneType
from typing import Any, ClassVar, NamedTuple, Protocol

from socialsite.store.address import Address
from socialsite.store.aof import track_node, wait_for_node_aof
from socialsite.store.commands import Command, Reply, as_eval, encode, encode_pipeline, is_write
from socialsite.store.connection import REPLY_TIMEOUT_S, ConnectionTracker, PipelinedConnection, WaitConnections
from socialsite.store.errors import ScriptMissing, StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.replies import exec_results

BULK_MIN_COMMANDS = 100
"""From this number on, encoded commands use a separate connection, so that other commands do not wait."""
SUCCESS_REPLY_TYPES = frozenset((bytes, int, list, NoneType))
"""The types of all replies that are not errors."""


class ConnectionAuthorizer(Protocol):
    """Authorizes each new connection before it is used (migration/connection_gate.py)."""

    async def authorize(self, connection: PipelinedConnection) -> None:
        """Allow a new connection to send all commands, or only reads (`is_read_only`). Raises StoreError."""

    async def authorize_writes(self, connection: PipelinedConnection) -> None:
        """Allow a read-only connection to send all commands. Raises StoreUnavailable."""


class ReadReplicas(Protocol):
    """The replicas of a node (replicas.py)."""

    @property
    def nodes(self) -> "Sequence[Node]": ...

    def pick_fresh(self) -> "Node | None":
        """Return a replica with recent data, or None."""


class SentCommands(NamedTuple):
    """Commands whose replies are awaited. `replies` starts with `preface` replies to SCRIPT LOAD."""

    commands: Sequence[Command]
    replies: asyncio.Future[list[Reply]]
    preface: int
    disconnects_before: int
    """The disconnect count of the node when the commands were sent."""


class Node:
    """One server or proxy, used through one shared connection of this event loop."""

    on_round_trip: ClassVar[Callable[[str, float, bool], None]] = staticmethod(lambda node, seconds, succeeded: None)
    """A function that is called after each round trip. It gets the node's name, the seconds, and the success."""
    connection_gate: ConnectionAuthorizer | None = None
    replicas: ReadReplicas | None = None
    replaced_by: "Node | None" = None
    """The node that has the data after a migration, for callers that still use this node."""

    def __init__(self, address: Address, *, reply_timeout_s: float = REPLY_TIMEOUT_S) -> None:
        self.address = address
        self._name = str(address)
        self._reply_timeout_s = reply_timeout_s
        self._connection: PipelinedConnection | None = None
        self._connect_lock: asyncio.Lock | None = None
        self._idle_blocking_connections: list[PipelinedConnection] = []
        self._bulk_connection: PipelinedConnection | None = None
        self._wait_connections = WaitConnections(self._open_writing_connection, self._wait_tags)
        self._connections = ConnectionTracker()
        self._disconnect_count = 0

    def __repr__(self) -> str:
        return f"<Node {self.address}>"

    async def execute(self, *command: Any) -> Reply:
        return (await self.execute_all((command,)))[0]

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        """Run commands in one round trip and return the replies in order. Raises the first error reply."""
        if self.replaced_by is not None:
            return await self.replaced_by.execute_all(commands)
        commands = commands if isinstance(commands, (list, tuple)) else list(commands)
        return await self._handle_error_replies(commands, await self._send_commands(commands))

    def send_now(self, commands: Sequence[Command]) -> SentCommands | None:
        """Send commands now. Pass the result to `await_replies`. Returns None if no connection is open."""
        if self.replaced_by is not None or self._connection is None or self._connection.is_read_only:
            return None
        preface, payload = self._encode(self._connection, commands)
        replies = self._connection.send(payload, preface + len(commands), self._reply_timeout_s)
        started = time.perf_counter()
        replies.add_done_callback(
            lambda done: Node.on_round_trip(
                self._name, time.perf_counter() - started, not done.cancelled() and done.exception() is None
            )
        )
        return SentCommands(commands, replies, preface, self.disconnect_count)

    async def await_replies(self, sent: SentCommands) -> list[Reply]:
        """Return the replies to commands that `send_now` sent. Raises the first error reply."""
        return await self._handle_error_replies(sent.commands, await self._receive(sent))

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """Run commands on keys of one tag in MULTI/EXEC."""
        if self.replaced_by is not None:
            return await self.replaced_by.transaction(commands)
        return exec_results(await self.execute_all([("MULTI",), *commands, ("EXEC",)]))

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        """Send commands that the caller has encoded. Error replies are in the list. The fan-out uses this method."""
        if self.replaced_by is not None:
            return await self.replaced_by.send_encoded(payload, replies, required_replicas=required_replicas)
        await self._before_sending()
        if required_replicas:
            return await track_node(self, self._wait_connections.send(payload, replies, required_replicas))
        bulk_connection = await self._connect_bulk() if replies >= BULK_MIN_COMMANDS else None
        connection = bulk_connection or self._connection or await self._connect()
        if connection.is_read_only:
            await self._authorize_writes(connection)
        return await self._time_round_trip(connection.send(payload, replies, self._reply_timeout_s))

    async def write_all(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        """Run commands as `execute_all` does, and wait until `replicas` replicas have the writes. Raises NotDurable."""
        if self.replaced_by is not None:
            return await self.replaced_by.write_all(commands, replicas)
        await self._before_sending()
        payload = b"".join(encode(as_eval(command)) for command in commands)
        confirmed = self._wait_connections.send(payload, len(commands), replicas)
        return await self._handle_error_replies(commands, await track_node(self, confirmed))

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        """Run a command that blocks on the server for up to `timeout_s` seconds.

        The connection runs no other command meanwhile: a blocked command delays all later commands of its connection.
        """
        if self.replaced_by is not None:
            return await self.replaced_by.blocking(*command, timeout_s=timeout_s)
        await self._before_sending()
        async with self._get_connect_lock():
            idle = self._idle_blocking_connections
            connection = idle.pop() if idle else await self._open_connection()
        try:
            if connection.is_read_only:
                await self._authorize_writes(connection)
            (reply,) = await connection.send(encode(command), 1, timeout_s + self._reply_timeout_s)
        except BaseException:
            connection.close()
            raise
        if isinstance(reply, StoreError):
            connection.close()
            raise reply
        self._idle_blocking_connections.append(connection)
        return reply

    def serving_node(self, key: Key) -> "Node":
        """Return the server that has a key or a channel. It differs from this node only during a migration."""
        return self

    def pick_reader(self) -> "Node":
        """Return the node for reads that may lag: a replica with recent data, or this node."""
        if self.replicas is None or self.replaced_by is not None:
            return self
        return self.replicas.pick_fresh() or self

    async def resolve_address(self) -> Address:
        """Return the address to connect to now. Raises StoreUnavailable if it is unknown."""
        return self.address

    async def drain(self) -> None:
        """Wait for the replies to all commands sent before. Raises StoreUnavailable if they are lost."""
        async with self._get_connect_lock():  # callers that wait for a connection send before the PING
            connections = self._connections.open_connections
        replies = await asyncio.gather(*(connection.send(encode(("PING",)), 1) for connection in connections))
        for (reply,) in replies:
            if isinstance(reply, StoreError):
                raise reply

    @property
    def disconnect_count(self) -> int:
        """The number of connections lost. After a loss the address may lead to another server."""
        return self._disconnect_count

    async def wait_for_aof(self) -> None:
        """Wait until the append-only file has all acknowledged writes. Raises NotDurable, StoreUnavailable."""
        await wait_for_node_aof(self)

    async def read_client_ids(self) -> set[int]:
        """Return the server's ids of this node's connections (CLIENT ID)."""
        payload = encode(("CLIENT", "ID"))
        connections = self._connections.open_connections
        replies = await asyncio.gather(*(connection.send(payload, 1) for connection in connections))
        return {int(reply) for (reply,) in replies}

    async def close(self) -> None:
        """Close all connections, also those being opened. Later commands raise StoreUnavailable."""
        self._connections.close()

    async def _before_sending(self) -> None:
        """Check the server, on topologies whose servers may change."""

    async def _send_commands(self, commands: Sequence[Command]) -> list[Reply]:
        """Run commands in one round trip. Error replies are in the list."""
        if not commands:
            return []
        await self._before_sending()
        connection = self._connection or await self._connect()
        if connection.is_read_only and any(map(is_write, commands)):
            await self._authorize_writes(connection)
        preface, payload = self._encode(connection, commands)
        replies = await self._time_round_trip(connection.send(payload, preface + len(commands), self._reply_timeout_s))
        if preface:
            del replies[:preface]
        return replies

    async def _receive(self, sent: SentCommands) -> list[Reply]:
        """Return the replies. Error replies are in the list."""
        replies = await track_node(self, sent.replies, sent.disconnects_before)
        if sent.preface:
            del replies[: sent.preface]
        return replies

    async def _time_round_trip(self, replies: Awaitable[list[Reply]]) -> list[Reply]:
        started, succeeded = time.perf_counter(), True
        try:
            return await track_node(self, replies)
        except StoreUnavailable:
            succeeded = False
            raise
        finally:
            Node.on_round_trip(self._name, time.perf_counter() - started, succeeded)

    async def _handle_error_replies(self, commands: Sequence[Command], replies: list[Reply]) -> list[Reply]:
        """Repeat scripts that the server lacks with their source; return all replies. Raises any other error reply."""
        if SUCCESS_REPLY_TYPES.issuperset(map(type, replies)):
            return replies
        for position, reply in enumerate(replies):
            if isinstance(reply, ScriptMissing):
                replies[position] = await self._eval_source(commands[position])
        for reply in replies:  # checked afterwards, so that every command of the pipeline is executed
            if isinstance(reply, StoreError):
                raise reply
        return replies

    def _encode(self, connection: PipelinedConnection, commands: Sequence[Command]) -> tuple[int, bytes]:
        """Return the number of leading replies to skip, and the bytes. Scripts are loaded before their first use."""
        return encode_pipeline(commands, connection.loaded_scripts)

    async def _eval_source(self, command: Command) -> Reply:
        """Run a script with its source, because the server has lost its script cache. The reply may be an error."""
        connection = self._connection or await self._connect()
        if connection.is_read_only and is_write(command):
            await self._authorize_writes(connection)
        (reply,) = await track_node(self, connection.send(encode(as_eval(command)), 1, self._reply_timeout_s))
        return reply

    async def _connect(self) -> PipelinedConnection:
        async with self._get_connect_lock():
            if self._connection is None:
                self._connection = await self._open_connection()
            return self._connection

    async def _connect_bulk(self) -> PipelinedConnection:
        async with self._get_connect_lock():
            if self._bulk_connection is None:
                self._bulk_connection = await self._open_connection()
            return self._bulk_connection

    async def _open_connection(self) -> PipelinedConnection:
        return await self._connections.open(self.resolve_address, self._prepare, self._on_connection_lost)

    async def _open_writing_connection(self) -> PipelinedConnection:
        connection = await self._open_connection()
        if connection.is_read_only:
            try:
                await self._authorize_writes(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _wait_tags(self) -> Iterable[str]:
        """Return tags whose keys this server can write. At least one tag is returned."""
        return ("m0",)

    async def _authorize_writes(self, connection: PipelinedConnection) -> None:
        assert self.connection_gate is not None
        await self.connection_gate.authorize_writes(connection)

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Prepare a new connection. If this raises, the connection is closed."""
        if self.connection_gate is not None:
            await self.connection_gate.authorize(connection)

    def _get_connect_lock(self) -> asyncio.Lock:
        if self._connect_lock is None:
            self._connect_lock = asyncio.Lock()
        return self._connect_lock

    def _on_connection_lost(self, connection: PipelinedConnection) -> None:
        self._disconnect_count += connection in (
            self._connection,
            self._bulk_connection,
            *self._wait_connections.connections,
        )
        if self._connection is connection:
            self._connection = None
        if connection in self._idle_blocking_connections:
            self._idle_blocking_connections.remove(connection)
        if self._bulk_connection is connection:
            self._bulk_connection = None
