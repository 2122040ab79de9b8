"""A node: what a command is sent to. Time-outs, decoding of errors and the scripts' digests end here.

Replies are RESP2 as the server gave them: bytes, int, None or lists of these. Repositories turn them into
their own types; an error reply raises, so it can never be read as "empty".
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import NoneType
from typing import Any, ClassVar, Protocol

from socialsite.store.address import Address
from socialsite.store.aof import track_node, wait_for_node_aof
from socialsite.store.commands import Command, Reply, Script, as_eval, encode
from socialsite.store.connection import REPLY_TIMEOUT_S, ConnectionTracker, PipelinedConnection, WaitConnections
from socialsite.store.encoding import EncodedPipeline, PipelineChain, encode_pipeline
from socialsite.store.errors import ScriptMissing, StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.replies import exec_results

BULK_MIN_COMMANDS = 100
"""So many commands encoded by the caller have a connection of their own: nobody waits behind a pass."""
SUCCESS_REPLY_TYPES = frozenset((bytes, int, list, NoneType))
"""What a reply is that is no error."""


class ConnectionAuthorizer(Protocol):
    """Asked about each new connection before it is used (moving/guard.py)."""

    async def authorize(self, connection: PipelinedConnection) -> None: ...


class ReadReplicas(Protocol):
    """The replicas of a node (replicas.py)."""

    def pick_fresh(self) -> "Node | None": ...


class Node:
    """One server (or proxy), reached by one shared connection of this event loop."""

    on_round_trip: ClassVar[Callable[[str, float, bool], None]] = staticmethod(lambda node, seconds, came: None)
    """Told of each round trip: the node, how long it was waited for, and whether an answer came."""
    connection_gate: ConnectionAuthorizer | None = None
    replicas: ReadReplicas | None = None
    replaced_by: "Node | None" = None
    """Who answers since the data of this node moved, for those who still hold it."""

    def __init__(self, address: Address, *, reply_timeout_s: float = REPLY_TIMEOUT_S) -> None:
        self.address = address
        self._name = str(address)
        self._reply_timeout_s = reply_timeout_s
        self._connection: PipelinedConnection | None = None
        self._connect_lock: asyncio.Lock | None = None
        self._blocking_connection: PipelinedConnection | None = None
        self._bulk_connection: PipelinedConnection | None = None
        self._wait_connections = WaitConnections(self._open_connection)
        self._connections = ConnectionTracker()
        self._disconnect_count = 0

    def __repr__(self) -> str:
        return f"<Node {self.address}>"

    async def execute(self, *command: Any) -> Reply:
        """One command, one reply."""
        return (await self.pipeline((command,)))[0]

    async def run(self, script: Script, keys: Sequence[Key], args: Sequence[Any] = ()) -> Reply:
        """One script, one reply."""
        return (await self.pipeline((script.command(keys, args),)))[0]

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        """Several commands in one round trip, replies in order. Raises the first error reply."""
        if self.replaced_by is not None:
            return await self.replaced_by.pipeline(commands)
        commands = commands if isinstance(commands, (list, tuple, EncodedPipeline, PipelineChain)) else list(commands)
        return await self._handle_error_replies(commands, await self._send_commands(commands))

    def send_now(self, commands: Sequence[Command]) -> "asyncio.Future[list[Reply]] | None":
        """Commands without scripts, sent now; `finish` waits. None where a connection is to be made first."""
        if self.replaced_by is not None or self._connection is None:
            return None
        _, payload = self._encode(self._connection, commands)
        return self._connection.send(payload, len(commands), self._reply_timeout_s)

    async def await_replies(self, commands: Sequence[Command], begun: "asyncio.Future[list[Reply]]") -> list[Reply]:
        """The replies to what `begin` sent. Raises as `pipeline`."""
        return await self._handle_error_replies(commands, await self._time_round_trip(begun))

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """MULTI/EXEC: all or nothing, on keys of one tag."""
        if self.replaced_by is not None:
            return await self.replaced_by.transaction(commands)
        return exec_results(await self.pipeline([("MULTI",), *commands, ("EXEC",)]))

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        """Commands encoded by the caller (syndication's passes). Error replies stand in the list."""
        if self.replaced_by is not None:
            return await self.replaced_by.send_encoded(payload, replies, required_replicas=required_replicas)
        if required_replicas:
            return await track_node(self, self._wait_connections.send(payload, replies, required_replicas))
        apart = await self._connect_bulk() if replies >= BULK_MIN_COMMANDS else None
        connection = apart or self._connection or await self._connect()
        return await self._time_round_trip(connection.send(payload, replies, self._reply_timeout_s))

    async def pipeline_with_wait(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        """As `pipeline`, answered only once `replicas` replicas have it. Raises Unconfirmed."""
        if self.replaced_by is not None:
            return await self.replaced_by.pipeline_with_wait(commands, replicas)
        payload = b"".join(encode(as_eval(command)) for command in commands)
        sent = self._wait_connections.send(payload, len(commands), replicas)
        return await self._handle_error_replies(commands, await track_node(self, sent))

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        """A command that waits on the server for up to `timeout_s`, on a connection of its own."""
        if self.replaced_by is not None:
            return await self.replaced_by.blocking(*command, timeout_s=timeout_s)
        async with self._get_connect_lock():
            connection = self._blocking_connection or await self._open_connection()
            self._blocking_connection = connection
        payload = encode(command)
        (reply,) = await connection.send(payload, 1, timeout_s + self._reply_timeout_s)
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def serving_node(self, key: Key) -> "Node":
        """The server that answers readers of a key, or carries a channel; this one but for relays."""
        return self

    def pick_reader(self) -> "Node":
        """Who answers reads that may be a second old: a replica known to be fresh enough, or this node."""
        if self.replicas is None or self.replaced_by is not None:
            return self
        return self.replicas.pick_fresh() or self

    async def resolve_address(self) -> Address:
        """Where to connect to now. Raises StoreUnavailable where nobody can tell."""
        return self.address

    async def drain(self) -> None:
        """Returns when everything sent so far was answered. Raises StoreUnavailable where that is unknown."""
        async with self._get_connect_lock():  # who waits for a connection sends before we do
            connections = self._connections.open_connections
        replies = await asyncio.gather(*(each.send(encode(("PING",)), 1) for each in connections))
        for (reply,) in replies:
            if isinstance(reply, StoreError):
                raise reply

    @property
    def disconnect_count(self) -> int:
        """How many connections that answered were lost: what stands behind the next may be another server."""
        return self._disconnect_count

    async def wait_for_aof(self) -> None:
        """Returns once what was answered here is in the file. Raises Unconfirmed, StoreUnavailable."""
        await wait_for_node_aof(self)

    async def read_client_ids(self) -> set[int]:
        """What the server calls the connections of this node (CLIENT ID)."""
        question = encode(("CLIENT", "ID"))
        replies = await asyncio.gather(*(each.send(question, 1) for each in self._connections.open_connections))
        return {int(reply) for (reply,) in replies}

    async def close(self) -> None:
        """For ever: whoever asks it now is refused, and nothing that is being opened stays open."""
        self._connections.close()

    async def _send_commands(self, commands: Sequence[Command]) -> list[Reply]:
        """One round trip; error replies stand in the list."""
        if not commands:
            return []
        connection = self._connection or await self._connect()
        preface, payload = self._encode(connection, commands)
        replies = await self._time_round_trip(connection.send(payload, preface + len(commands), self._reply_timeout_s))
        if preface:
            del replies[:preface]
        return replies

    async def _time_round_trip(self, answer: Awaitable[list[Reply]]) -> list[Reply]:
        asked, came = time.perf_counter(), True
        try:
            return await track_node(self, answer)
        except StoreUnavailable:
            came = False
            raise
        finally:
            Node.on_round_trip(self._name, time.perf_counter() - asked, came)

    async def _handle_error_replies(self, commands: Sequence[Command], replies: list[Reply]) -> list[Reply]:
        """The replies with forgotten scripts sent whole; raises any other error reply."""
        if SUCCESS_REPLY_TYPES.issuperset(map(type, replies)):
            return replies
        for position, reply in enumerate(replies):
            if isinstance(reply, StoreError):
                if not isinstance(reply, ScriptMissing):
                    raise reply
                replies[position] = await self._eval_source(commands[position])
        return replies

    def _encode(self, connection: PipelinedConnection, commands: Sequence[Command]) -> tuple[int, bytes]:
        """(replies to skip, bytes): a script the server has not seen from us is loaded ahead of its use."""
        return encode_pipeline(commands, connection.loaded_scripts)

    async def _eval_source(self, command: Command) -> Reply:
        """Send a script whole: somebody emptied the server's cache of scripts under us."""
        connection = self._connection or await self._connect()
        (reply,) = await track_node(self, connection.send(encode(as_eval(command)), 1, self._reply_timeout_s))
        if isinstance(reply, StoreError):
            raise reply
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

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Before its first use. Where this raises, `_open` closes it."""
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
        if self._blocking_connection is connection:
            self._blocking_connection = None
        if self._bulk_connection is connection:
            self._bulk_connection = None
