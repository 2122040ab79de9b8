"""The archive as one SQLite file, for a site with processes on one machine or one shared disk.

Each process has one connection, used by one thread, so the event loop never blocks. In WAL mode the processes read
while one of them writes.
"""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from timelines.posts.post_archive import ArchivedBody, ArchiveUnavailable

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
        await self._run(self._write, "INSERT OR REPLACE INTO posts (id, body) VALUES (?, ?)", bodies, True)

    async def get(self, post_ids: Collection[int]) -> dict[int, bytes]:
        query = "SELECT id, body FROM posts WHERE id IN (SELECT value FROM json_each(?))"
        return dict(await self._run(self._read, query, (json.dumps(list(post_ids)),))) if post_ids else {}

    async def remove(self, post_ids: Collection[int], *, may_be_absent: bool = False) -> None:
        if post_ids and not (may_be_absent and not self._path.exists()):
            await self._run(self._write, "DELETE FROM posts WHERE id = ?", [(post_id,) for post_id in post_ids])

    async def iterate_pages(self) -> AsyncIterator[list[ArchivedBody]]:
        query, last_id = "SELECT id, body FROM posts WHERE id > ? ORDER BY id LIMIT ?", -1
        while self._path.exists() and (page := await self._run(self._read, query, (last_id, BODIES_PER_PAGE))):
            yield page
            last_id = page[-1][0]

    async def check(self) -> None:
        if self._path.exists():
            await self._run(self._read, "SELECT id, body FROM posts LIMIT 1", ())

    async def close(self) -> None:
        with contextlib.suppress(ArchiveUnavailable):
            await self._run(self._close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[..., T], *args: object) -> T:
        """Run a method in the archive's thread."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)
        except (sqlite3.Error, OSError) as error:
            raise ArchiveUnavailable(f"the archive {self._path} cannot be used: {error}") from error

    # Methods that run in the archive's thread

    def _read(self, query: str, parameters: Sequence[object]) -> list[ArchivedBody]:
        return self._open().execute(query, parameters).fetchall()

    def _write(self, query: str, rows: Iterable[Sequence[object]], may_create: bool = False) -> None:
        with self._open(may_create=may_create) as connection:
            connection.executemany(query, rows)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self, *, may_create: bool = False) -> sqlite3.Connection:
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
