"""Lua scripts: called by digest, sent whole once a server has forgotten them.

All keys of a script are declared and share a tag, so a script runs on every topology.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

import hiredis

from socialsite.store.key import Key

Command = tuple[Any, ...]
encode: Callable[[Command], bytes] = hiredis.pack_command


class PreparedCommand(tuple[Any, ...]):
    """A command that was encoded before: for reads whose keys pages ask for again and again."""

    payload: bytes
    key: Key


def prepare_command(*command: Any) -> PreparedCommand:
    """The command, encoded once; to be kept by whoever makes it (`lru_cache`)."""
    return prepare_from_bytes(command, encode(command))


def prepare_from_bytes(command: Command, wire: bytes) -> PreparedCommand:
    """The command with the bytes that somebody encoded it to."""
    made = PreparedCommand(command)
    made.payload = wire
    made.key = routing_key(command)
    return made


READ_ONLY_SHEBANG = "#!lua flags=no-writes"
"""First line of a script that only reads: the server holds it to that, and it never waits for moving data."""


def routing_key(command: Command) -> Key:
    """The key that routes a command: its first one. Raises LookupError where there is none."""
    if type(command) is PreparedCommand:
        return command.key
    for part in command:
        if isinstance(part, Key):
            return part
    raise LookupError(f"{command[0]} names no key, so no node can be chosen for it")


class Script:
    """The source of a script and its digest."""

    __slots__ = ("is_read_only", "name", "sha", "source")

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.is_read_only = source.startswith(READ_ONLY_SHEBANG)
        self.sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    def command(self, keys: Sequence[Key], args: Sequence[Any] = ()) -> Command:
        """EVALSHA for a pipeline; the node sends the source instead where the server lacks it."""
        return ("EVALSHA", self, len(keys), *keys, *args)

    def __str__(self) -> str:
        return self.sha

    def __repr__(self) -> str:
        return f"<Script {self.name}>"


def as_eval(command: Command) -> Command:
    """A command without digests: a script travels with its source, on connections that load none."""
    return ("EVAL", command[1].source, *command[2:]) if command[0] == "EVALSHA" else command


@cache
def load_script(file_name: str, package: str) -> Script:
    """The script in `file_name` beside the modules of `package`."""
    source = resources.files(package).joinpath(file_name).read_text(encoding="utf-8")
    return Script(file_name, source)
