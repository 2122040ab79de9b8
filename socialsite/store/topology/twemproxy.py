"""Twemproxy 0.5 (Debian's nutcracker): one address for several servers; the proxy places keys by its own ring.

Twemproxy closes the connection, with all commands in flight, when it gets a command that it does not support. So this
module refuses such a command before it is sent. Administrative commands (INFO, SCAN, TIME) are sent directly to the
servers in the `nodes` parameter of the URL.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hiredis

from socialsite.concurrency import run_together
from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, Script, as_eval, encode, routing_key
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import CommandRefused, NotDurable, ScriptMissing, StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.key_families import INSTALLATION, key_family
from socialsite.store.node import Node, SentCommands
from socialsite.store.topology.standalone import OneNodeTopology

probe_key: Callable[[int, str], Key] = key_family("map:{t<n>}:probe:<hex>", "string",
    "behind Twemproxy: the node of a tag", role=INSTALLATION, lifetime="10 s",
    condition="a process starts behind Twemproxy")  # fmt: skip

SUPPORTED_COMMANDS: dict[str, tuple[int, int | None]] = {
    # keys
    "DEL": (1, None), "EXISTS": (1, None), "EXPIRE": (2, 2), "EXPIREAT": (2, 2), "PEXPIRE": (2, 2),
    "PEXPIREAT": (2, 2), "PERSIST": (1, 1), "TTL": (1, 1), "PTTL": (1, 1), "TYPE": (1, 1), "DUMP": (1, 1),
    "RESTORE": (3, None), "UNLINK": (1, None), "TOUCH": (1, None),
    # strings
    "GET": (1, 1), "SET": (2, None), "MGET": (1, None), "GETDEL": (1, 1), "GETEX": (1, None),
    "GETRANGE": (3, 3), "SETRANGE": (3, 3), "GETBIT": (2, 2), "SETBIT": (3, 3), "BITCOUNT": (1, None),
    "APPEND": (2, 2), "STRLEN": (1, 1), "INCR": (1, 1), "INCRBY": (2, 2), "DECR": (1, 1), "DECRBY": (2, 2),
    # hashes
    "HSET": (3, None), "HSETNX": (3, 3), "HGET": (2, 2), "HMGET": (2, None), "HGETALL": (1, 1),
    "HDEL": (2, None), "HEXISTS": (2, 2), "HLEN": (1, 1), "HKEYS": (1, 1), "HVALS": (1, 1),
    "HINCRBY": (3, 3), "HSCAN": (2, None),
    # lists
    "LPUSH": (2, None), "LPUSHX": (2, None), "RPUSH": (2, None), "RPUSHX": (2, None), "LPOP": (1, None),
    "RPOP": (1, None), "LINDEX": (2, 2), "LINSERT": (4, 4), "LLEN": (1, 1), "LRANGE": (3, 3), "LREM": (3, 3),
    "LSET": (3, 3), "LTRIM": (3, 3), "LPOS": (2, None),
    # sets
    "SADD": (2, None), "SREM": (2, None), "SCARD": (1, 1), "SMEMBERS": (1, 1), "SISMEMBER": (2, 2),
    "SMISMEMBER": (2, None), "SPOP": (1, None), "SRANDMEMBER": (1, None), "SSCAN": (2, None),
    # sorted sets
    "ZADD": (3, None), "ZREM": (2, None), "ZCARD": (1, 1), "ZCOUNT": (3, 3), "ZSCORE": (2, 2),
    "ZMSCORE": (2, None), "ZINCRBY": (3, 3), "ZRANK": (2, 2), "ZREVRANK": (2, 2), "ZRANGE": (3, None),
    "ZREVRANGE": (3, None), "ZRANGEBYSCORE": (3, None), "ZREVRANGEBYSCORE": (3, None),
    "ZRANGEBYLEX": (3, None), "ZREVRANGEBYLEX": (3, None), "ZREMRANGEBYRANK": (3, 3),
    "ZREMRANGEBYSCORE": (3, 3), "ZREMRANGEBYLEX": (3, 3), "ZLEXCOUNT": (3, 3), "ZPOPMIN": (1, None),
    "ZPOPMAX": (1, None), "ZSCAN": (2, None),
    # scripts: only with a key, which routes them
    "EVAL": (3, None), "EVALSHA": (3, None),
}  # fmt: skip
"""The supported commands, with their minimum and maximum number of arguments (None: no maximum).

All keys of a command must have one tag. The parser of Twemproxy accepts a command only with a known number of
arguments. For example, EXPIRE with GT is refused.
tests/contract/store/test_topology_twemproxy.py compares this table with the real program.
"""
STREAM_WRITE = '"XADD"'
PROBE_TAG_COUNT = 128
"""The number of tags that `open` writes to find servers that are not in the URL.

With four servers it overlooks such a server once in 10^16 starts; with ten servers, once in 10^6 starts.
"""
PROBE_TTL_MS = 10_000


class UnsupportedByTwemproxy(CommandRefused):
    """The proxy does not support the command. The command was not sent."""


def require_supported(command: Sequence[Any]) -> None:
    """Raise UnsupportedByTwemproxy if the command is not in SUPPORTED_COMMANDS."""
    name = str(command[0])
    least, most = SUPPORTED_COMMANDS.get(name, (0, -1))
    arguments = len(command) - 1
    if arguments < least or (most is not None and arguments > most):
        raise unsupported_error(
            name if name not in SUPPORTED_COMMANDS else f"{name} with {arguments} arguments", command
        )
    if name in ("EVAL", "EVALSHA") and int(command[2]) < 1:
        raise unsupported_error("a script without a key", command)
    if name == "EVALSHA" and isinstance(command[1], Script) and STREAM_WRITE in command[1].source:
        raise unsupported_error("streams, which workers wait for", command)


def unsupported_error(what: str, command: Sequence[Any]) -> UnsupportedByTwemproxy:
    """Return an error that names the component and the setting to change."""
    key = next((part for part in command if isinstance(part, Key)), None)
    if key is None:
        return UnsupportedByTwemproxy(f"Twemproxy does not carry {what}: send it to the servers behind it")
    return UnsupportedByTwemproxy(
        f"{key.component} cannot stand behind Twemproxy, which does not carry {what}: "
        f"set REDIS_{key.component.upper()}_URL to a server of its own"
    )


class TwemproxyMisconfigured(StoreError):
    """The proxy does not place keys by their tag, or the URL lacks a server. The message says what to do."""


class TwemproxyNode(Node):
    """The proxy as a node. Within one pipeline, commands on one key keep their order."""

    def __init__(self, address: Address, servers: Sequence[Node]) -> None:
        super().__init__(address)
        self._servers = servers

    @property
    def disconnect_count(self) -> int:
        return super().disconnect_count + sum(server.disconnect_count for server in self._servers)

    async def wait_for_aof(self) -> None:
        """Wait for the append-only files of all reachable servers. Only the proxy knows which of them were used."""
        await run_together(*(_wait_for_aof_if_reachable(server) for server in self._servers))

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        raise unsupported_error("MULTI", commands[0])

    async def blocking(self, *command: object, timeout_s: float) -> Reply:
        raise unsupported_error(f"a waiting {command[0]}", command)

    async def write_all(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        raise unsupported_error("WAIT", commands[0])

    def send_now(self, commands: Sequence[Command]) -> SentCommands | None:
        for command in commands:
            require_supported(command)
        return super().send_now(commands)

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        if required_replicas:
            raise unsupported_error("WAIT", ())
        reader = hiredis.Reader()
        reader.feed(payload)
        while (command := reader.gets()) is not False:
            require_supported((command[0].decode(), *command[1:]))
        return await super().send_encoded(payload, replies)

    async def _send_commands(self, commands: Sequence[Command]) -> list[Reply]:
        for command in commands:
            require_supported(command)
        return await super()._send_commands(commands)

    def _encode(self, connection: PipelinedConnection, commands: Sequence[Command]) -> tuple[int, bytes]:
        """Encode scripts as EVALSHA, because the proxy does not support SCRIPT LOAD.

        `_handle_error_replies` repeats an unknown script with its source. A script is encoded with its source if the
        pipeline has other commands on its tag, because they would run before the repeated script.
        """
        tag_counts = Counter(routing_key(command).tag for command in commands) if len(commands) > 1 else {}
        return 0, b"".join(encode(_script_command(command, tag_counts)) for command in commands)

    async def _handle_error_replies(self, commands: Sequence[Command], replies: list[Reply]) -> list[Reply]:
        """Send the sources of unknown scripts in one more round trip."""
        positions = [n for n, reply in enumerate(replies) if isinstance(reply, ScriptMissing)]
        if positions:
            evals = [as_eval(commands[n]) for n in positions]
            for n, reply in zip(positions, await super()._send_commands(evals), strict=True):
                replies[n] = reply
        return await super()._handle_error_replies(commands, replies)


async def _wait_for_aof_if_reachable(server: Node) -> None:
    """Wait for the AOF of a server, unless the server is unreachable.

    Raises StoreUnavailable if the server disconnects meanwhile, because it may have acknowledged a write.
    """
    disconnects_before = server.disconnect_count
    try:
        await server.wait_for_aof()
    except NotDurable:
        raise
    except StoreUnavailable:
        if server.disconnect_count != disconnects_before:
            raise


def _script_command(command: Command, tag_counts: Mapping[str, int]) -> Command:
    if not isinstance(command[1], Script):
        return command
    if tag_counts and tag_counts[routing_key(command).tag] > 1:
        return as_eval(command)
    return (command[0], command[1].sha, *command[2:])


class Twemproxy(OneNodeTopology):
    """All keys behind one proxy. `nodes` are the servers that have the data."""

    def __init__(self, address: Address, servers: Sequence[Address]) -> None:
        self._servers = tuple(Node(server) for server in servers)
        self._proxy = TwemproxyNode(address, self._servers)
        super().__init__(self._proxy)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self._servers

    async def close(self) -> None:
        for node in (self._proxy, *self._servers):
            await node.close()

    async def open(self) -> None:
        """Write a few keys and check which servers have them. A wrong configuration would lose data silently."""
        tags = [secrets.randbelow(10**9) for _ in range(PROBE_TAG_COUNT)]
        # Random names: without hash_tag the proxy hashes the whole key, and some hashes place similar names together.
        names = [secrets.token_hex(8) for _ in (0, 1)]
        pairs = [[probe_key(tag, name) for name in names] for tag in tags]
        keys = [key for pair in pairs for key in pair]
        await self._proxy.execute_all([("SET", key, 1, "PX", PROBE_TTL_MS) for key in keys])
        exists = await run_together(
            *(server.execute_all([("EXISTS", key) for key in keys]) for server in self._servers)
        )
        servers_of_key = [
            [server for server, reply in enumerate(column) if reply] for column in zip(*exists, strict=True)
        ]
        for first in range(0, len(keys), 2):
            self._check_placement(servers_of_key[first], servers_of_key[first + 1])
        await self._proxy.execute_all([("DEL", key) for key in keys])

    def _check_placement(self, one: list[int], other: list[int]) -> None:
        """Check that two keys of one tag are on the same server. Raises TwemproxyMisconfigured."""
        at = self._proxy.address
        if not one or not other:
            raise TwemproxyMisconfigured(
                f"Twemproxy at {at} has servers that `nodes` does not name: name all of them in the URL"
            )
        if one != other:
            raise TwemproxyMisconfigured(
                f'Twemproxy at {at} does not place keys by their tag: put `hash_tag: "{{}}"` into its pool'
            )
        if len(one) > 1:
            raise TwemproxyMisconfigured(f"`nodes` names a server behind Twemproxy at {at} twice: name each once")
