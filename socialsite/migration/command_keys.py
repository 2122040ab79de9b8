"""Find the keys of commands."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from socialsite.store.commands import Command
from socialsite.store.key import KEY_PATTERN, Key


def find_key(command: Command) -> Key | None:
    """Return the key that routes a command, or None if the command addresses a server."""
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
    """Return the key that routes commands on one tag, or None if no command has a key."""
    return next((key for command in commands if (key := find_key(command)) is not None), None)


def with_block_ms(command: Sequence[Any], max_ms: int) -> Command:
    """Return a blocking command with its BLOCK argument limited to `max_ms`."""
    parts = list(command)
    if "BLOCK" in parts:
        index = parts.index("BLOCK") + 1
        parts[index] = min(int(parts[index]), max_ms)
    return tuple(parts)
