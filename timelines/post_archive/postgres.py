"""The archive as one table of a PostgreSQL database, for a site with processes on several machines.

psycopg and psycopg_pool are optional (requirements-postgres.txt), so this module is imported only if ARCHIVE_URL starts
with postgresql://.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import UndefinedTable
from psycopg_pool import AsyncConnectionPool

from socialsite.batches import batches
from timelines.posts.post_archive import ArchivedBody, ArchiveUnavailable, InvalidArchiveUrl

BODIES_PER_PAGE = 500
BODIES_PER_WRITE = 500
IDS_PER_READ = 5000
TIMEOUT_S = 5.0
"""The time limit of one use of the archive, including the wait for a connection. A page never waits longer."""
CANCEL_GRACE_S = 1.0
"""The time that the server has to confirm that a query was cancelled. A server that hangs never confirms it."""
MAX_CONNECTIONS = 4  # per process; the reads of a page take about a millisecond

DEFAULT_OPTIONS: dict[str, str | int | None] = {"application_name": "socialsite", "connect_timeout": 5}
SETTINGS = (
    "SELECT set_config('statement_timeout', %s, false), CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END"
)
"""SQL for each new connection. It turns synchronous_commit on, since a body must be on disk before Redis deletes it."""
CREATE = (
    "DO $$ BEGIN PERFORM pg_advisory_xact_lock(hashtext('archived_posts'));"
    " CREATE TABLE IF NOT EXISTS archived_posts (id bigint PRIMARY KEY, body bytea NOT NULL); END $$"
)
"""Under a lock, because one of two processes that create the table at the same time would fail."""
PUT = (
    "INSERT INTO archived_posts (id, body) SELECT * FROM unnest(%b::bigint[], %b::bytea[])"
    " ON CONFLICT (id) DO UPDATE SET body = excluded.body"
)
GET = "SELECT id, body FROM archived_posts WHERE id = ANY(%b::bigint[])"
REMOVE = "DELETE FROM archived_posts WHERE id = ANY(%b::bigint[])"
PAGE = "SELECT id, body FROM archived_posts WHERE id > %b::bigint ORDER BY id LIMIT %b::bigint"

Connection = psycopg.AsyncConnection[ArchivedBody]
Pool = AsyncConnectionPool[Connection]


class TableMissing(ArchiveUnavailable):
    """The table was not created yet."""


class PostgresArchive:
    """Stores bodies in the table `archived_posts` (id, body). The first `put` creates it; reads fail without it."""

    def __init__(self, url: str, timeout_s: float = TIMEOUT_S) -> None:
        self._pool = PostgresPool(url, timeout_s)

    async def put(self, bodies: Sequence[ArchivedBody]) -> None:
        ordered = sorted(dict(bodies).items())  # each id once, in a fixed order, so that two writers never deadlock
        for batch in batches(ordered, BODIES_PER_WRITE):
            columns = ([post_id for post_id, _ in batch], [body for _, body in batch])
            try:
                await self._pool.run(PUT, columns)
            except TableMissing:
                await self._pool.run(CREATE)
                await self._pool.run(PUT, columns)

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        bodies: dict[int, bytes] = {}
        for batch in batches(post_ids, IDS_PER_READ):
            bodies.update(await self._pool.run(GET, (batch,)))
        return bodies

    async def remove(self, post_ids: Collection[int], *, may_be_absent: bool = False) -> None:
        if ids := sorted(post_ids):
            await self._pool.run(REMOVE, (ids,))

    async def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        last_id = -1
        with suppress(TableMissing):
            while page := await self._pool.run(PAGE, (last_id, BODIES_PER_PAGE)):
                yield page
                last_id = page[-1][0]

    async def check(self) -> None:
        await self._pool.run("SELECT 0::bigint, ''::bytea")

    async def close(self) -> None:
        await self._pool.close()


class PostgresPool:
    """The connections of one process. Every failure raises ArchiveUnavailable.

    A failed connection closes the pool, so that no request waits for a server that is down. The next use opens
    another pool. (With psycopg_pool alone, each request would wait for the whole time-out.)
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        self._conninfo = make_connection_string(url)
        self._timeout_s = timeout_s
        self._pool: Pool | None = None
        self._failure: Exception | None = None
        self._connection_class = self._make_connection_class()
        self._closing: set[asyncio.Task[None]] = set()

    async def run(self, query: LiteralString, parameters: Sequence[object] = ()) -> list[ArchivedBody]:
        """Return the rows of a query, which is repeated once if its connection is broken.

        Raises TableMissing, and ArchiveUnavailable after `timeout_s` + CANCEL_GRACE_S at the latest.
        """
        try:
            # The inner time-out cancels the query on the server; the outer one stops waiting for the server.
            async with asyncio.timeout(self._timeout_s + CANCEL_GRACE_S), asyncio.timeout(self._timeout_s):
                pool = await self._open()
                try:
                    return await _run_on(pool, query, parameters)
                except psycopg.OperationalError:  # the server may have been restarted since the last use
                    await self._discard(pool)
                return await _run_on(await self._open(), query, parameters)
        except TimeoutError as error:
            raise ArchiveUnavailable(f"the archive did not answer within {self._timeout_s:g} s") from error
        except (psycopg.Error, OSError) as error:
            kind = TableMissing if isinstance(error, UndefinedTable) else ArchiveUnavailable
            raise kind(f"the archive cannot be used: {one_line(self._failure or error)}") from error

    async def close(self) -> None:
        if self._pool is not None:
            await self._discard(self._pool)
        await asyncio.gather(*self._closing)

    async def _open(self) -> Pool:
        if self._pool is None:
            self._failure = None
            self._pool = AsyncConnectionPool(
                self._conninfo,
                connection_class=self._connection_class,
                # Prepared statements would fail behind a pooler such as PgBouncer, which changes the server connection.
                kwargs={"autocommit": True, "prepare_threshold": None},
                configure=self._configure,
                min_size=0,
                max_size=MAX_CONNECTIONS,
                timeout=self._timeout_s,
                reconnect_timeout=0,
                reconnect_failed=self._on_connect_failed,
                open=False,
            )
        pool = self._pool
        await pool.open()
        return pool

    def _make_connection_class(self) -> type[Connection]:
        """Return a class of connections that stores the error of a failed connection. The pool would only log it."""

        class Recorded(psycopg.AsyncConnection[ArchivedBody]):
            @classmethod
            async def connect(cls, *args: Any, **options: Any) -> Any:
                try:
                    return await super().connect(*args, **options)
                except psycopg.Error as error:
                    self._failure = error
                    raise

        return Recorded

    async def _configure(self, connection: Connection) -> None:
        try:
            await connection.execute(SETTINGS, (f"{self._timeout_s * 1000:.0f}",))
        except psycopg.Error as error:
            self._failure = error
            await connection.close()
            raise

    def _on_connect_failed(self, pool: AsyncConnectionPool[Any]) -> None:
        """Start to close the pool. A task of the pool calls this, so it cannot wait until the pool is closed."""
        closing = asyncio.create_task(self._discard(pool))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _discard(self, pool: Pool) -> None:
        """Close a pool. Requests that wait for one of its connections fail with PoolClosed."""
        if self._pool is pool:
            self._pool = None
        await pool.close()


async def _run_on(pool: Pool, query: LiteralString, parameters: Sequence[object]) -> list[ArchivedBody]:
    async with pool.connection() as connection:
        cursor = await connection.execute(query, parameters or None, binary=True)
        return await cursor.fetchall() if cursor.description else []


def make_connection_string(url: str) -> str:
    """Return the connection string for libpq. Raises InvalidArchiveUrl.

    The error omits the URL, which may have a password.
    """
    try:
        options = conninfo_to_dict(url)
    except psycopg.Error:
        raise InvalidArchiveUrl("ARCHIVE_URL must be like postgresql://user:password@host/database") from None
    return make_conninfo("", **{**DEFAULT_OPTIONS, **options})


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
