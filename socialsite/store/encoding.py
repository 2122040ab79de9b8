"""Reads of a page as bytes: encoded piece by piece, the pieces kept by whoever asks, joined without a look.

A page asks some hundred keys, and encoding them anew costs as much as all else that its client does. Where
one server has everything the bytes leave as they are; where several share them the commands are taken apart.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeVar, overload

from socialsite.store.commands import Command, PreparedCommand, Script, encode
from socialsite.store.key import KEY_CACHE_SIZE

Id = TypeVar("Id", bound=int)


class EncodedPipeline(Sequence[Command]):
    """`count` commands whose bytes are `wire`; `commands` makes the same ones, for more than one server.

    `script`: the one that they call by its digest.
    """

    __slots__ = ("_build_commands", "_count", "payload", "script")

    def __init__(
        self, wire: bytes, count: int, commands: Callable[[], Sequence[Command]], script: Script | None = None
    ) -> None:
        self.payload = wire
        self.script = script
        self._count = count
        self._build_commands = commands

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Command]:
        return iter(self._build_commands())

    @overload
    def __getitem__(self, at: int) -> Command: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Command]: ...
    def __getitem__(self, at: int | slice) -> Command | Sequence[Command]:
        return self._build_commands()[at]


class PipelineChain(Sequence[Command]):
    """Several sequences of commands in one round trip, in order."""

    __slots__ = ("_count", "pipelines")

    def __init__(self, parts: Sequence[Sequence[Command]]) -> None:
        self.pipelines = parts
        self._count = sum(map(len, parts))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Command]:
        return chain.from_iterable(self.pipelines)

    @overload
    def __getitem__(self, at: int) -> Command: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Command]: ...
    def __getitem__(self, at: int | slice) -> Command | Sequence[Command]:
        return list(self)[at]


def encode_pipeline(commands: Sequence[Command], loaded: set[str]) -> tuple[int, bytes]:
    """(scripts loaded first, bytes). `loaded`: digests that the server has seen on this connection."""
    parts: list[bytes] = []
    preface: list[bytes] = []
    for batch in commands.pipelines if type(commands) is PipelineChain else (commands,):
        if type(batch) is EncodedPipeline:
            if batch.script is not None:
                _load_script_once(batch.script, loaded, preface)
            parts.append(batch.payload)
        else:
            _encode_each(batch, loaded, parts, preface)
    return len(preface), b"".join((*preface, *parts))


def _encode_each(commands: Sequence[Command], loaded: set[str], parts: list[bytes], preface: list[bytes]) -> None:
    for command in commands:
        if type(command) is PreparedCommand:
            parts.append(command.payload)
            continue
        if command[0] == "EVALSHA":
            script: Script = command[1]
            _load_script_once(script, loaded, preface)
            command = (command[0], script.sha, *command[2:])
        parts.append(encode(command))


def _load_script_once(script: Script, loaded: set[str], preface: list[bytes]) -> None:
    if script.sha not in loaded:
        preface.append(encode(("SCRIPT", "LOAD", script.source)))
        loaded.add(script.sha)


def encoded_cache(build: Callable[[Id], PreparedCommand]) -> Callable[[Id], bytes]:
    """Commands of one id each as they are sent, kept by the id: pages join them by the dozen."""
    return lru_cache(maxsize=KEY_CACHE_SIZE)(lambda id: build(id).payload)


@lru_cache(maxsize=65_536)
def encode_int(argument: int) -> bytes:
    """An id as an argument of a command; ids come again on page after page."""
    digits = b"%d" % argument
    return b"$%d\r\n%b\r\n" % (len(digits), digits)


def encode_text(argument: str) -> bytes:
    """Any other argument: a key, a word."""
    data = argument.encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)
