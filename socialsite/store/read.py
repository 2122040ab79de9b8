"""Reads: commands together with the parser of their replies.

A repository returns reads. `await read` runs one read; `store.read(a, b, c)` runs several in one round trip per node.
"""

from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import structs

from socialsite.store.commands import Command, Reply
from socialsite.store.node import Node, SentCommands

Result = TypeVar("Result")
Mapped = TypeVar("Mapped")


RAISE: Final = object()
"""The default of `Read.wrong_type_reply`."""


class CommandRunner(Protocol):
    """A store, or a component of a store."""

    async def execute_all(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]: ...


class Read(msgspec.Struct, Generic[Result], frozen=True, eq=False):
    """Commands, and the function that converts their replies to the result.

    `store` runs the read when it is awaited. A read without a store can only be passed to `Store.read`. Reads are
    compared by identity, so that `asyncio.gather` accepts them.
    If `may_lag` is true, a replica may answer, with data that is up to one second old (docs/reference/topologies.md).
    If a read of items of a page has a `wrong_type_reply`, `Store.read` passes it to `parse` for each key with a value
    of another type, so that one damaged item does not fail the page. Otherwise such a key raises WrongType.
    """

    commands: Sequence[Command]
    parse: Callable[[Sequence[Reply]], Result]
    store: CommandRunner | None = None
    may_lag: bool = False
    wrong_type_reply: Any = RAISE

    def __await__(self) -> Generator[Any, None, Result]:
        return self._run().__await__()

    async def _run(self) -> Result:
        if self.store is None:
            raise TypeError("this read has no store: pass it to Store.read")
        return self.parse(await self.store.execute_all(self.commands, may_lag=self.may_lag))

    def map(self, convert: Callable[[Result], Mapped]) -> "Read[Mapped]":
        """Return the same read with `convert` applied to its result."""
        parse = self.parse
        converted: Callable[[Sequence[Reply]], Mapped] = lambda replies: convert(parse(replies))  # noqa: E731
        return Read(self.commands, converted, self.store, self.may_lag, self.wrong_type_reply)

    def allow_lag(self, may_lag: bool = True) -> "Read[Result]":
        """Return the same read; a replica may answer it if `may_lag` is true."""
        return self if may_lag == self.may_lag else structs.replace(self, may_lag=may_lag)


def combine(*reads: Read[Any]) -> Read[list[Any]]:
    """Return one read with the list of all results. A replica may answer it if each read allows that."""
    return Read(
        combine_commands(reads),
        lambda replies: parse_replies(reads, replies),
        reads[0].store,
        all(read.may_lag for read in reads),
    )


_commands_of = attrgetter("commands")


def combine_commands(reads: Iterable[Read[Any]]) -> list[Command]:
    return list(chain.from_iterable(map(_commands_of, reads)))


def parse_replies(reads: Sequence[Read[Any]], replies: Sequence[Reply]) -> list[Any]:
    """Return the result of each read. `replies` are the replies to the commands of all reads."""
    results, start = [], 0
    for read in reads:
        end = start + len(read.commands)
        results.append(read.parse(replies[start:end]))
        start = end
    return results


class PendingReply(Generic[Result]):
    """The result of a read that was sent before it is awaited. An error is raised where it is awaited.

    Await it at most once. If it is never awaited, the reply is dropped.
    """

    def __init__(self, read: Read[Result], node: Node, sent: SentCommands) -> None:
        self._read = read
        self._node = node
        self._sent = sent

    def __await__(self) -> Generator[Any, None, Result]:
        return self._result().__await__()

    async def _result(self) -> Result:
        return self._read.parse(await self._node.await_replies(self._sent))


class LazyAwaitable(Generic[Result]):
    """A coroutine that starts when it is awaited. Await it at most once."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._start = start

    def __await__(self) -> Generator[Any, None, Result]:
        return self._start().__await__()
