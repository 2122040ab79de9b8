"""Encode commands to RESP bytes.

A page reads some hundred keys, and encoding these commands costs as much as the rest of its client work. So callers
cache encoded commands and join their bytes. If all commands belong to one server, it gets these bytes. Otherwise the
commands are built and encoded again for each server.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeVar, overload

from socialsite.store.commands import Command, PreparedCommand, Script, encode
from socialsite.store.key import KEY_CACHE_SIZE

Id = TypeVar("Id", bound=int)


class EncodedPipeline(Sequence[Command]):
    """A pipeline of `count` commands as bytes.

    `build_commands` returns the same commands; it is used if they are distributed over several servers. `script` is the
    script that the commands call by its digest.
    """

    __slots__ = ("_build_commands", "_count", "payload", "script")

    def __init__(
        self, payload: bytes, count: int, build_commands: Callable[[], Sequence[Command]], script: Script | None = None
    ) -> None:
        self.payload = payload
        self.script = script
        self._count = count
        self._build_commands = build_commands

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
    """Several sequences of commands for one round trip, in order."""

    __slots__ = ("_count", "pipelines")

    def __init__(self, pipelines: Sequence[Sequence[Command]]) -> None:
        self.pipelines = pipelines
        self._count = sum(map(len, pipelines))

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
    """Encode commands. Return the number of leading SCRIPT LOAD commands, and the bytes.

    `loaded` contains the digests of the scripts that were loaded on this connection. New digests are added.
    """
    parts: list[bytes] = []
    preface: list[bytes] = []
    for pipeline in commands.pipelines if type(commands) is PipelineChain else (commands,):
        if type(pipeline) is EncodedPipeline:
            if pipeline.script is not None:
                _load_script_once(pipeline.script, loaded, preface)
            parts.append(pipeline.payload)
        else:
            _encode_each(pipeline, loaded, parts, preface)
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
    """Return a cached function from an id to the bytes of `build(id)`."""
    return lru_cache(maxsize=KEY_CACHE_SIZE)(lambda id: build(id).payload)


@lru_cache(maxsize=65_536)
def encode_int(argument: int) -> bytes:
    """Encode an id as an argument of a command. The result is cached, because pages use the same ids repeatedly."""
    digits = b"%d" % argument
    return b"$%d\r\n%b\r\n" % (len(digits), digits)


def encode_script_call(script: Script, keys: Sequence[bytes], arguments: Sequence[bytes]) -> bytes:
    """Return the call of a script by its digest. `keys` and `arguments` are encoded."""
    start = b"*%d\r\n$7\r\nEVALSHA\r\n$40\r\n%b\r\n" % (3 + len(keys) + len(arguments), script.sha.encode())
    return b"".join((start, encode_int(len(keys)), *keys, *arguments))


def encode_text(argument: str) -> bytes:
    data = argument.encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)
