"""The archive as one table of a PostgreSQL database, for a site whose processes stand on several machines.

psycopg is optional (requirements-postgres.txt): this module is imported where ARCHIVE_URL asks for it.
"""

from collections.abc import AsyncIterator, Collection, Sequence

from psycopg.errors import UndefinedTable

from timelines.archive.postgres_connections import Connection, Connections
from timelines.posts.archive import Body

BODIES_PER_PAGE = 500
BODIES_PER_WRITE = 500
IDS_PER_READ = 5000
PATIENCE_S = 5.0
"""How long one use may take, waiting for a connection included; a page waits no longer."""

CREATE = "CREATE TABLE IF NOT EXISTS archived_posts (id bigint PRIMARY KEY, body bytea NOT NULL)"
ONE_AT_ONCE = "SELECT pg_advisory_xact_lock(hashtext('archived_posts'))"
PUT = (
    "INSERT INTO archived_posts (id, body) SELECT * FROM unnest(%b::bigint[], %b::bytea[])"
    " ON CONFLICT (id) DO UPDATE SET body = excluded.body"
)
GET = "SELECT id, body FROM archived_posts WHERE id = ANY(%b::bigint[])"
REMOVE = "DELETE FROM archived_posts WHERE id = ANY(%b::bigint[])"
PAGE = "SELECT id, body FROM archived_posts WHERE id > %b::bigint ORDER BY id LIMIT %b::bigint"


class PostgresArchive:
    """Table `archived_posts` (id, body), made by the first `put`: reading a wrong database is trouble."""

    def __init__(self, url: str, patience_s: float = PATIENCE_S) -> None:
        self._connections = Connections(url, patience_s)

    async def put(self, bodies: Sequence[Body]) -> None:
        ordered = sorted(dict(bodies).items())  # each once, and in one order: two writers never deadlock
        for start in range(0, len(ordered), BODIES_PER_WRITE):
            some = ordered[start : start + BODIES_PER_WRITE]
            columns = ([post_id for post_id, _ in some], [body for _, body in some])

            async def write(connection: Connection, columns: tuple[list[int], list[bytes]] = columns) -> None:
                try:
                    await connection.execute(PUT, columns)
                except UndefinedTable:
                    await _create(connection)
                    await connection.execute(PUT, columns)

            await self._connections.run(write)

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        ids = list(post_ids)
        found: dict[int, bytes] = {}
        for start in range(0, len(ids), IDS_PER_READ):
            found.update(await self._rows(GET, ids[start : start + IDS_PER_READ]))
        return found

    async def remove(self, post_ids: Collection[int]) -> None:
        ids = sorted(post_ids)

        async def write(connection: Connection) -> None:
            await connection.execute(REMOVE, (ids,))

        if ids:
            await self._connections.run(write)

    async def pages(self) -> AsyncIterator[list[Body]]:
        last = -1
        while page := await self._page(last):
            yield page
            last = page[-1][0]

    async def close(self) -> None:
        await self._connections.close()

    async def _page(self, after: int) -> list[Body]:
        """Nothing where nothing was ever archived, as with a file that is not there yet."""

        async def read(connection: Connection) -> list[Body]:
            try:
                cursor = await connection.execute(PAGE, (after, BODIES_PER_PAGE), binary=True)
            except UndefinedTable:
                return []
            return await cursor.fetchall()

        return await self._connections.run(read)

    async def _rows(self, query: str, ids: list[int]) -> list[Body]:
        async def read(connection: Connection) -> list[Body]:
            return await (await connection.execute(query, (ids,), binary=True)).fetchall()

        return await self._connections.run(read)


async def _create(connection: Connection) -> None:
    """Under a lock: without it, two first writers at once would fail one of them."""
    async with connection.transaction():
        await connection.execute(ONE_AT_ONCE)
        await connection.execute(CREATE)
