"""Connections to PostgreSQL: few, kept, made anew where they died. All trouble is ArchiveUnavailable."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from timelines.posts.archive import ArchiveUnavailable, BadArchiveUrl, Body

MOST = 4
"""Connections of one process: what a page reads takes a millisecond."""
GRACE_S = 1.0
"""For the server to hear that a use was given up; one that is frozen never does."""
DEFAULTS: dict[str, str | int | None] = {"application_name": "socialsite", "connect_timeout": 5}
PREPARE = (
    "SELECT set_config('statement_timeout', %s, false), CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END"
)
"""A body is on the disk before Redis lets go of it, whatever the database's default says."""

Connection = psycopg.AsyncConnection[Body]
T = TypeVar("T")


class Connections:
    """At most `MOST`, opened when needed. What runs on one may be repeated."""

    def __init__(self, url: str, patience_s: float) -> None:
        self._database = database_of(url)
        self._patience_s = patience_s
        self._places = asyncio.Semaphore(MOST)
        self._idle: list[Connection] = []
        self._connecting: set[asyncio.Task[Connection]] = set()

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Raises ArchiveUnavailable, after `patience_s` (and GRACE_S) at the latest."""
        try:
            # The first time-out asks the server to stop; the second stops waiting for it.
            outer, inner = asyncio.timeout(self._patience_s + GRACE_S), asyncio.timeout(self._patience_s)
            async with outer, inner, self._places:
                return await self._run(work)
        except TimeoutError as error:
            raise ArchiveUnavailable(f"the archive did not answer within {self._patience_s:g} s") from error
        except (psycopg.Error, OSError) as error:
            raise ArchiveUnavailable(f"the archive cannot be used: {one_line(error)}") from error

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        if self._idle:
            try:
                return await self._run_on(self._idle.pop(), work)
            except psycopg.OperationalError:  # the server may have gone since, and be back
                await self.close()
        return await self._run_on(await self._open(), work)

    async def _run_on(self, connection: Connection, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Only what went well leaves a connection that is used again."""
        try:
            result = await work(connection)
        except BaseException:
            await connection.close()
            raise
        self._idle.append(connection)
        return result

    async def _open(self) -> Connection:
        connection = await self._connected()
        try:
            await connection.execute(PREPARE, (f"{self._patience_s * 1000:.0f}",))
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _connected(self) -> Connection:
        """Never broken off: psycopg would leave the connection open until the garbage collector comes."""
        # Nothing is prepared on the server: poolers in between may change what lies behind.
        connect: Coroutine[None, None, Connection] = psycopg.AsyncConnection.connect(
            self._database, autocommit=True, prepare_threshold=None
        )
        connecting = asyncio.create_task(connect)
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(_drop)
            raise


def _drop(connecting: "asyncio.Task[Connection]") -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().pgconn.finish()


def database_of(url: str) -> str:
    """For libpq. Raises BadArchiveUrl, whose text leaves the URL out: it may hold a password."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise BadArchiveUrl("ARCHIVE_URL must be like postgresql://user:password@host/database") from None
    return make_conninfo("", **{**DEFAULTS, **given})


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
