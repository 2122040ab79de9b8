"""Encode commands to RESP bytes.

A page reads some hundred keys, and encoding these commands costs as much as the rest of its client work. So callers
cache encoded commands. Each server gets the bytes of its commands in one write.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress
from typing import TypeVar, overload

from socialsite.store.commands import Command, PreparedCommand, Script, encode, routing_key
from socialsite.store.key import KEY_CACHE_SIZE, Key

Id = TypeVar("Id", bound=int)


class EncodedPipeline(Sequence[Command]):
    """A pipeline of commands, each as bytes.

    `build_commands` returns the same commands, for nodes that need more than the bytes. `build_keys` returns the
    routing key of each command; it saves building the commands if they are distributed over several servers. `scripts`
    are the scripts that the commands call by their digests.
    """

    __slots__ = ("_build_commands", "_build_keys", "payloads", "scripts")

    def __init__(
        self,
        payloads: Sequence[bytes],
        build_commands: Callable[[], Sequence[Command]],
        build_keys: Callable[[], Iterable[Key]] | None = None,
        scripts: Sequence[Script] = (),
    ) -> None:
        self.payloads = payloads
        self.scripts = scripts
        self._build_commands = build_commands
        self._build_keys = build_keys

    def routing_keys(self) -> Iterable[Key]:
        """Return the routing key of each command."""
        return map(routing_key, self) if self._build_keys is None else self._build_keys()

    def __len__(self) -> int:
        return len(self.payloads)

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


def encode_all(commands: Iterable[Command]) -> list[EncodedPipeline]:
    """Encode the pipelines of `commands` that are not encoded yet."""
    pipelines = commands.pipelines if type(commands) is PipelineChain else (commands,)
    return [each if type(each) is EncodedPipeline else _encode_each(list(each)) for each in pipelines]


def _encode_each(commands: Sequence[Command]) -> EncodedPipeline:
    scripts: list[Script] = []
    payloads = [encode_command(command, scripts) for command in commands]
    return EncodedPipeline(payloads, lambda: commands, lambda: map(routing_key, commands), scripts)


def select_commands(
    pipelines: Sequence[EncodedPipeline], payloads: Sequence[bytes], nodes: Sequence[object], node: object
) -> EncodedPipeline:
    """Return the commands of one node. `nodes` is the node of each command; `payloads` are the bytes for this node."""

    def build_commands() -> list[Command]:
        return list(compress(chain.from_iterable(pipelines), [each is node for each in nodes]))

    return EncodedPipeline(payloads, build_commands, scripts=[script for each in pipelines for script in each.scripts])


def encode_pipeline(commands: Sequence[Command], loaded: set[str]) -> tuple[int, bytes]:
    """Encode commands. Return the number of leading SCRIPT LOAD commands, and the bytes.

    `loaded` contains the digests of the scripts that were loaded on this connection. New digests are added.
    """
    parts: list[bytes] = []
    scripts: list[Script] = []
    for pipeline in encode_all(commands):
        parts += pipeline.payloads
        scripts += pipeline.scripts
    preface: list[bytes] = []
    for script in scripts:
        if script.sha not in loaded:
            preface.append(encode(("SCRIPT", "LOAD", script.source)))
            loaded.add(script.sha)
    return len(preface), b"".join((*preface, *parts))


def encode_command(command: Command, scripts: list[Script]) -> bytes:
    """Encode a command. If it runs a script, encode its digest, and append the script to `scripts`."""
    if type(command) is PreparedCommand:
        return command.payload
    if command[0] == "EVALSHA":
        script: Script = command[1]
        scripts.append(script)
        command = (command[0], script.sha, *command[2:])
    return encode(command)


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
