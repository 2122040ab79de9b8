"""Properties of commands that a migration needs: the key that routes a command, and whether it writes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from socialsite.store.commands import Command, Script, parse_commands
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
"""All other commands count as writes: scripts that may write, MULTI, XREADGROUP, publishing."""


def is_write(command: Command) -> bool:
    if command[0] == "EVALSHA" and isinstance(command[1], Script):
        return not command[1].is_read_only
    return command[0] not in READ_COMMANDS


def find_key(command: Command) -> Key | None:
    """Return the key that routes a command; None if the command addresses a server, not a key."""
    for part in command:
        if isinstance(part, Key):
            return part
    for part in command[1:]:
        text = part.decode(errors="replace") if isinstance(part, bytes) else part
        if isinstance(text, str) and KEY_PATTERN.fullmatch(text):
            return Key.parse(text)
    return None


def find_keys(command: Command) -> Iterator[Key]:
    """Yield all arguments of type Key."""
    return (part for part in command if isinstance(part, Key))


def first_key(commands: Iterable[Command]) -> Key | None:
    """Return the key that routes commands on one tag."""
    return next((key for command in commands if (key := find_key(command)) is not None), None)


def decode_commands(payload: bytes) -> list[Command]:
    """Decode commands that were encoded as bytes, and parse their keys."""
    return [_with_keys(parts) for parts in parse_commands(payload)]


def with_block_ms(command: Sequence[Any], max_ms: int) -> Command:
    """Return a blocking command with its BLOCK argument limited to `max_ms`."""
    parts = list(command)
    if "BLOCK" in parts:
        index = parts.index("BLOCK") + 1
        parts[index] = min(int(parts[index]), max_ms)
    return tuple(parts)


def _with_keys(parts: Sequence[bytes]) -> Command:
    name, *arguments = parts
    command: list[Any] = [name.decode()]
    for argument in arguments:
        text = argument.decode(errors="replace")
        command.append(Key.parse(text) if KEY_PATTERN.fullmatch(text) else argument)
    return tuple(command)
