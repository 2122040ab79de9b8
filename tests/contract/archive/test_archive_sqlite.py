"""The archive's SQLite file: its creation, concurrent use, and closing."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from timelines.archive.sqlite import BUSY_TIMEOUT_S, SCHEMA, SQLiteArchive
from timelines.posts.archive import ArchiveUnavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive.sqlite3"


def files_beside(path: Path) -> list[Path]:
    return list(path.parent.iterdir())


async def threads_ended(before: set[threading.Thread]) -> bool:
    async with asyncio.timeout(20):
        while set(threading.enumerate()) - before:  # noqa: ASYNC110 - a thread tells nobody
            await asyncio.sleep(0.01)
    return True


async def test_reading_creates_no_file(path: Path) -> None:
    """An empty archive in place of a missing archive would report every post as deleted."""
    archive = SQLiteArchive(path)
    for use in (archive.get([1]), archive.remove([1])):
        with pytest.raises(ArchiveUnavailable):
            await use
    await archive.remove([1], may_be_absent=True)
    await archive.close()
    assert files_beside(path) == []


async def test_a_reader_does_not_block_a_move(path: Path) -> None:
    archive = SQLiteArchive(path)
    await archive.put([(1, b"a")])
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT body FROM posts").fetchall() == [(b"a",)]
    async with asyncio.timeout(0.9 * BUSY_TIMEOUT_S):  # shorter than the archive's time-out for a lock
        await archive.put([(1, b"b")])
    assert reader.execute("SELECT body FROM posts").fetchall() == [(b"a",)]
    reader.close()
    assert await archive.get([1]) == {1: b"b"}
    await archive.close()


async def test_the_file_contains_its_layout_version(path: Path) -> None:
    archive = SQLiteArchive(path)
    await archive.put([(1, b"a")])
    await archive.close()
    reader = sqlite3.connect(path)
    assert reader.execute("PRAGMA user_version").fetchall() == [(SCHEMA,)]
    reader.close()


async def test_a_closed_archive_leaves_one_file_and_no_running_thread(path: Path) -> None:
    before = set(threading.enumerate())
    archive = SQLiteArchive(path)
    await archive.put([(1, b"a")])
    assert len(files_beside(path)) > 1
    await archive.close()
    assert files_beside(path) == [path]
    assert await threads_ended(before)
