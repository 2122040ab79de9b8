"""The archive as one SQLite file, for a site with processes on one machine or one shared disk.

Each process has one connection, used by one thread, so the event loop never blocks. In WAL mode the processes read
while one of them writes.
"""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from timelines.posts.archive import ArchivedBody, ArchiveUnavailable

SCHEMA = 1
BODIES_PER_PAGE = 500
BUSY_TIMEOUT_S = 5.0
T = TypeVar("T")


class SQLiteArchive:
    """Stores bodies in the table `posts` (id, body). The first `put` creates the file; reads never create it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive")
        self._connection: sqlite3.Connection | None = None

    async def put(self, bodies: Sequence[ArchivedBody]) -> None:
        def write() -> None:
            with self._open(may_create=True) as connection:
                connection.executemany("INSERT OR REPLACE INTO posts (id, body) VALUES (?, ?)", bodies)

        await self._run(write)

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        ids = json.dumps(list(post_ids))

        def read() -> dict[int, bytes]:
            query = "SELECT id, body FROM posts WHERE id IN (SELECT value FROM json_each(?))"
            return dict(self._open().execute(query, (ids,)))

        return await self._run(read) if post_ids else {}

    async def remove(self, post_ids: Collection[int], *, may_be_absent: bool = False) -> None:
        def write() -> None:
            if may_be_absent and not self._path.exists():
                return
            with self._open() as connection:
                connection.executemany("DELETE FROM posts WHERE id = ?", [(post_id,) for post_id in post_ids])

        if post_ids:
            await self._run(write)

    async def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        last_id = -1
        while self._path.exists():

            def read(after: int = last_id) -> list[ArchivedBody]:
                query = "SELECT id, body FROM posts WHERE id > ? ORDER BY id LIMIT ?"
                return self._open().execute(query, (after, BODIES_PER_PAGE)).fetchall()

            page = await self._run(read)
            if not page:
                return
            yield page
            last_id = page[-1][0]

    async def close(self) -> None:
        def close() -> None:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

        with contextlib.suppress(ArchiveUnavailable):
            await self._run(close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            raise ArchiveUnavailable(f"the archive {self._path} cannot be used: {error}") from error

    def _open(self, *, may_create: bool = False) -> sqlite3.Connection:
        """Return the connection. Only the archive's thread may use it."""
        if self._connection is None:
            if may_create:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(mode=0o600)
            mode = "rwc" if may_create else "rw"
            url = f"{self._path.absolute().as_uri()}?mode={mode}"
            connection = sqlite3.connect(url, uri=True, timeout=BUSY_TIMEOUT_S)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")  # a body must be on disk before Redis deletes it
            connection.execute("CREATE TABLE IF NOT EXISTS posts (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            self._connection = connection
        return self._connection
