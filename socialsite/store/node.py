"""A node: what a command is sent to. Time-outs, decoding of errors and the scripts' digests end here.

Replies are RESP2 as the server gave them: bytes, int, None or lists of these. Repositories turn them into
their own types; an error reply raises, so it can never be read as "empty".
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import NoneType
from typing import Any, ClassVar, Protocol

from socialsite.store.aof import noted, wait_until_written
from socialsite.store.connection import REPLY_TIMEOUT_S, Address, PipelinedConnection
from socialsite.store.connection_tracker import Opened
from socialsite.store.encoding import Encoded, Parts, encoded
from socialsite.store.errors import ScriptMissing, StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.scripts import Command, Script
from socialsite.store.scripts import encode as encode
from socialsite.store.scripts import whole as whole
from socialsite.store.transactions import results_of
from socialsite.store.wait_connections import ConfirmingConnections

Reply = Any
MANY = 100
"""So many commands encoded by the caller have a connection of their own: nobody waits behind a pass."""
ANSWERS = frozenset((bytes, int, list, NoneType))
"""What a reply is that is no error."""


class Admission(Protocol):
    """Asked about each new connection before it is used (moving/guard.py)."""

    async def admit(self, connection: PipelinedConnection) -> None: ...


class Readers(Protocol):
    """The replicas of a node (replicas.py)."""

    def pick(self) -> "Node | None": ...


class Node:
    """One server (or proxy), reached by one shared connection of this event loop."""

    on_answer: ClassVar[Callable[[str, float, bool], None]] = staticmethod(lambda node, seconds, came: None)
    """Told of each round trip: the node, how long it was waited for, and whether an answer came."""
    guard: Admission | None = None
    replicas: Readers | None = None
    successor: "Node | None" = None
    """Who answers since the data of this node moved, for those who still hold it."""

    def __init__(self, address: Address, *, reply_timeout_s: float = REPLY_TIMEOUT_S) -> None:
        self.address = address
        self._name = str(address)
        self._reply_timeout_s = reply_timeout_s
        self._connection: PipelinedConnection | None = None
        self._connecting: asyncio.Lock | None = None
        self._blocking: PipelinedConnection | None = None
        self._bulk: PipelinedConnection | None = None
        self._confirming = ConfirmingConnections(self._open)
        self._opened = Opened()
        self._losses = 0

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
        if self.successor is not None:
            return await self.successor.pipeline(commands)
        commands = commands if isinstance(commands, (list, tuple, Encoded, Parts)) else list(commands)
        return await self._mended(commands, await self._raw(commands))

    def begin(self, commands: Sequence[Command]) -> "asyncio.Future[list[Reply]] | None":
        """Commands without scripts, sent now; `finish` waits. None where a connection is to be made first."""
        if self.successor is not None or self._connection is None:
            return None
        _, payload = self._encoded(self._connection, commands)
        return self._connection.send(payload, len(commands), self._reply_timeout_s)

    async def finish(self, commands: Sequence[Command], begun: "asyncio.Future[list[Reply]]") -> list[Reply]:
        """The replies to what `begin` sent. Raises as `pipeline`."""
        return await self._mended(commands, await self._timed(begun))

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """MULTI/EXEC: all or nothing, on keys of one tag."""
        if self.successor is not None:
            return await self.successor.transaction(commands)
        return results_of(await self.pipeline([("MULTI",), *commands, ("EXEC",)]))

    async def send_encoded(self, payload: bytes, replies: int, *, confirm: int = 0) -> list[Reply]:
        """Commands encoded by the caller (syndication's passes). Error replies stand in the list."""
        if self.successor is not None:
            return await self.successor.send_encoded(payload, replies, confirm=confirm)
        if confirm:
            return await noted(self, self._confirming.send(payload, replies, confirm))
        apart = await self._connect_bulk() if replies >= MANY else None
        connection = apart or self._connection or await self._connect()
        return await self._timed(connection.send(payload, replies, self._reply_timeout_s))

    async def confirmed(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        """As `pipeline`, answered only once `replicas` replicas have it. Raises Unconfirmed."""
        if self.successor is not None:
            return await self.successor.confirmed(commands, replicas)
        payload = b"".join(encode(whole(command)) for command in commands)
        sent = self._confirming.send(payload, len(commands), replicas)
        return await self._mended(commands, await noted(self, sent))

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        """A command that waits on the server for up to `timeout_s`, on a connection of its own."""
        if self.successor is not None:
            return await self.successor.blocking(*command, timeout_s=timeout_s)
        async with self._lock():
            connection = self._blocking or await self._open()
            self._blocking = connection
        payload = encode(command)
        (reply,) = await connection.send(payload, 1, timeout_s + self._reply_timeout_s)
        if isinstance(reply, StoreError):
            raise reply
        return reply

    def carrier(self, key: Key) -> "Node":
        """The server that answers readers of a key, or carries a channel; this one but for relays."""
        return self

    def reader(self) -> "Node":
        """Who answers reads that may be a second old: a replica known to be fresh enough, or this node."""
        if self.replicas is None or self.successor is not None:
            return self
        return self.replicas.pick() or self

    async def locate(self) -> Address:
        """Where to connect to now. Raises StoreUnavailable where nobody can tell."""
        return self.address

    async def settle(self) -> None:
        """Returns when everything sent so far was answered. Raises StoreUnavailable where that is unknown."""
        async with self._lock():  # who waits for a connection sends before we do
            connections = self._opened.usable
        replies = await asyncio.gather(*(each.send(encode(("PING",)), 1) for each in connections))
        for (reply,) in replies:
            if isinstance(reply, StoreError):
                raise reply

    @property
    def losses(self) -> int:
        """How many connections that answered were lost: what stands behind the next may be another server."""
        return self._losses

    async def written_out(self) -> None:
        """Returns once what was answered here is in the file. Raises Unconfirmed, StoreUnavailable."""
        await wait_until_written(self)

    async def own_ids(self) -> set[int]:
        """What the server calls the connections of this node (CLIENT ID)."""
        question = encode(("CLIENT", "ID"))
        replies = await asyncio.gather(*(each.send(question, 1) for each in self._opened.usable))
        return {int(reply) for (reply,) in replies}

    async def close(self) -> None:
        """For ever: whoever asks it now is refused, and nothing that is being opened stays open."""
        self._opened.close()

    async def _raw(self, commands: Sequence[Command]) -> list[Reply]:
        """One round trip; error replies stand in the list."""
        if not commands:
            return []
        connection = self._connection or await self._connect()
        preface, payload = self._encoded(connection, commands)
        replies = await self._timed(connection.send(payload, preface + len(commands), self._reply_timeout_s))
        if preface:
            del replies[:preface]
        return replies

    async def _timed(self, answer: Awaitable[list[Reply]]) -> list[Reply]:
        asked, came = time.perf_counter(), True
        try:
            return await noted(self, answer)
        except StoreUnavailable:
            came = False
            raise
        finally:
            Node.on_answer(self._name, time.perf_counter() - asked, came)

    async def _mended(self, commands: Sequence[Command], replies: list[Reply]) -> list[Reply]:
        """The replies with forgotten scripts sent whole; raises any other error reply."""
        if ANSWERS.issuperset(map(type, replies)):
            return replies
        for position, reply in enumerate(replies):
            if isinstance(reply, StoreError):
                if not isinstance(reply, ScriptMissing):
                    raise reply
                replies[position] = await self._evaluate(commands[position])
        return replies

    def _encoded(self, connection: PipelinedConnection, commands: Sequence[Command]) -> tuple[int, bytes]:
        """(replies to skip, bytes): a script the server has not seen from us is loaded ahead of its use."""
        return encoded(commands, connection.loaded_scripts)

    async def _evaluate(self, command: Command) -> Reply:
        """Send a script whole: somebody emptied the server's cache of scripts under us."""
        connection = self._connection or await self._connect()
        (reply,) = await noted(self, connection.send(encode(whole(command)), 1, self._reply_timeout_s))
        if isinstance(reply, StoreError):
            raise reply
        return reply

    async def _connect(self) -> PipelinedConnection:
        async with self._lock():
            if self._connection is None:
                self._connection = await self._open()
            return self._connection

    async def _connect_bulk(self) -> PipelinedConnection:
        async with self._lock():
            if self._bulk is None:
                self._bulk = await self._open()
            return self._bulk

    async def _open(self) -> PipelinedConnection:
        return await self._opened.open(self.locate, self._prepare, self._lost)

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Before its first use. Where this raises, `_open` closes it."""
        if self.guard is not None:
            await self.guard.admit(connection)

    def _lock(self) -> asyncio.Lock:
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        return self._connecting

    def _lost(self, connection: PipelinedConnection) -> None:
        self._losses += connection in (self._connection, self._bulk, *self._confirming.connections)
        if self._connection is connection:
            self._connection = None
        if self._blocking is connection:
            self._blocking = None
        if self._bulk is connection:
            self._bulk = None
