"""Commands, replies and Lua scripts.

A script is called by its digest. The node sends the source if the server does not have the script. All keys of a
script are declared and share a tag, so that the script runs on every topology.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

import hiredis

from socialsite.store.key import Key

Command = tuple[Any, ...]
Reply = Any
"""A RESP2 reply as hiredis decodes it: bytes, int, None, or a list of these."""
encode: Callable[[Command], bytes] = hiredis.pack_command

READ_ONLY_SHEBANG = "#!lua flags=no-writes"
"""The first line of a read-only script. The server refuses its writes, and it never waits for a migration."""


class PreparedCommand(tuple[Any, ...]):
    """A command with its encoded bytes, for reads of keys that pages use repeatedly."""

    payload: bytes
    key: Key


def prepare_command(*command: Any) -> PreparedCommand:
    """Return the command with its encoded bytes. The caller should cache it."""
    prepared = PreparedCommand(command)
    prepared.payload = encode(command)
    prepared.key = routing_key(command)
    return prepared


def encode_pipeline(commands: Sequence[Command], loaded: set[str]) -> tuple[int, bytes]:
    """Encode commands. Return the number of leading SCRIPT LOAD commands, and the bytes.

    `loaded` contains the digests of the scripts that were loaded on this connection. New digests are added.
    """
    preface: list[bytes] = []
    parts = [
        command.payload if type(command) is PreparedCommand else _encode_one(command, loaded, preface)
        for command in commands
    ]
    return len(preface), b"".join((*preface, *parts))


def _encode_one(command: Command, loaded: set[str], preface: list[bytes]) -> bytes:
    if command[0] != "EVALSHA":
        return encode(command)
    script: Script = command[1]
    if script.sha not in loaded:
        preface.append(encode(("SCRIPT", "LOAD", script.source)))
        loaded.add(script.sha)
    return encode((command[0], script.sha, *command[2:]))


def routing_key(command: Command) -> Key:
    """Return the first key of a command, which selects its node. Raises LookupError if there is none."""
    if type(command) is PreparedCommand:
        return command.key
    for part in command:
        if isinstance(part, Key):
            return part
    raise LookupError(f"{command[0]} names no key, so no node can be chosen for it")


class Script:
    """The source of a Lua script and its SHA-1 digest."""

    __slots__ = ("is_read_only", "name", "sha", "source")

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.is_read_only = source.startswith(READ_ONLY_SHEBANG)
        self.sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    def command(self, keys: Sequence[Key], args: Sequence[Any] = ()) -> Command:
        """Return an EVALSHA command that contains the script. The node sends the script's digest or source instead."""
        return ("EVALSHA", self, len(keys), *keys, *args)

    def __str__(self) -> str:
        return self.sha

    def __repr__(self) -> str:
        return f"<Script {self.name}>"


READ_COMMANDS = frozenset(
    {
        "ASKING", "BITCOUNT", "CLIENT", "CLUSTER", "CONFIG", "DBSIZE", "DUMP", "EXISTS", "EXPIRETIME", "GET",
        "GETBIT", "GETRANGE", "HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN", "HMGET", "HRANDFIELD",
        "HSCAN", "HSTRLEN", "HVALS", "INFO", "LINDEX", "LLEN", "LPOS", "LRANGE", "MEMORY", "MGET",
        "OBJECT", "PEXPIRETIME", "PING", "PTTL", "ROLE", "SCAN", "SCARD", "SCRIPT", "SISMEMBER",
        "SMEMBERS", "SMISMEMBER", "SRANDMEMBER", "SSCAN", "STRLEN", "TIME", "TTL", "TYPE", "XINFO",
        "XLEN", "XPENDING", "XRANGE", "XREVRANGE", "ZCARD", "ZCOUNT", "ZLEXCOUNT", "ZMSCORE", "ZRANGE",
        "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZRANK", "ZREVRANGE", "ZREVRANGEBYSCORE", "ZREVRANK", "ZSCAN",
        "ZSCORE",
    }
)  # fmt: skip
"""The commands that only read. All others count as writes: scripts that may write, MULTI, XREADGROUP, SPUBLISH."""


def is_write(command: Command) -> bool:
    if command[0] == "EVALSHA" and isinstance(command[1], Script):
        return not command[1].is_read_only
    return command[0] not in READ_COMMANDS


def as_eval(command: Command) -> Command:
    """Return an EVAL command with the source instead of EVALSHA, for connections that do not load scripts."""
    return ("EVAL", command[1].source, *command[2:]) if command[0] == "EVALSHA" else command


@cache
def load_script(file_name: str, package: str) -> Script:
    return Script(file_name, resources.files(package).joinpath(file_name).read_text(encoding="utf-8"))
