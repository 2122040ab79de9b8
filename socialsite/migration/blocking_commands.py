"""What a command is to a move: which key routes it, and whether it may change anything."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import hiredis

from socialsite.store.commands import Command, Script
from socialsite.store.key import KEY_PATTERN, Key

READ_COMMANDS = frozenset(
    {
        "BITCOUNT", "CLIENT", "CLUSTER", "CONFIG", "DBSIZE", "DUMP", "EXISTS", "EXPIRETIME", "GET",
        "GETBIT", "GETRANGE", "HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN", "HMGET", "HRANDFIELD",
        "HSCAN", "HSTRLEN", "HVALS", "INFO", "LINDEX", "LLEN", "LPOS", "LRANGE", "MEMORY", "MGET",
        "OBJECT", "PEXPIRETIME", "PING", "PTTL", "ROLE", "SCAN", "SCARD", "SCRIPT", "SISMEMBER",
        "SMEMBERS", "SMISMEMBER", "SRANDMEMBER", "SSCAN", "STRLEN", "TIME", "TTL", "TYPE", "XINFO",
        "XLEN", "XPENDING", "XRANGE", "XREVRANGE", "ZCARD", "ZCOUNT", "ZLEXCOUNT", "ZMSCORE", "ZRANGE",
        "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZRANK", "ZREVRANGE", "ZREVRANGEBYSCORE", "ZREVRANK", "ZSCAN",
        "ZSCORE",
    }
)  # fmt: skip
"""Everything else counts as a write: scripts that may write, MULTI, reading in a group, publishing."""


def is_write(command: Command) -> bool:
    if command[0] == "EVALSHA" and isinstance(command[1], Script):
        return not command[1].is_read_only
    return command[0] not in READ_COMMANDS


def find_key(command: Command) -> Key | None:
    """The key that routes a command; None for one that speaks of a server."""
    for part in command:
        if isinstance(part, Key):
            return part
    for part in command[1:]:
        text = part.decode(errors="replace") if isinstance(part, bytes) else part
        if isinstance(text, str) and KEY_PATTERN.fullmatch(text):
            return Key.parse(text)
    return None


def find_keys(command: Command) -> Iterator[Key]:
    """All of them, where they are typed as everywhere in the repositories."""
    return (part for part in command if isinstance(part, Key))


def first_key(commands: Iterable[Command]) -> Key | None:
    """The key that routes commands on one tag."""
    return next((key for command in commands if (key := find_key(command)) is not None), None)


def decode_commands(payload: bytes) -> list[Command]:
    """The commands of a pass that was encoded by hand, their keys as keys."""
    reader, commands = hiredis.Reader(), []
    reader.feed(payload)
    while (parts := reader.gets()) is not False:
        commands.append(_with_keys(parts))
    return commands


def with_block_ms(command: Sequence[Any], most_ms: int) -> Command:
    """A waiting command (BLOCK ms) that waits less."""
    parts = list(command)
    if "BLOCK" in parts:
        place = parts.index("BLOCK") + 1
        parts[place] = min(int(parts[place]), most_ms)
    return tuple(parts)


def _with_keys(parts: Sequence[bytes]) -> Command:
    name, *rest = parts
    made: list[Any] = [name.decode()]
    for part in rest:
        text = part.decode(errors="replace")
        made.append(Key.parse(text) if KEY_PATTERN.fullmatch(text) else part)
    return tuple(made)
