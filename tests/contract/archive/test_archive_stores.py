"""Both kinds of archive: their common behaviour and their URLs."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from django.core.checks import run_checks

from timelines.archive.factory import create_archive
from timelines.archive.service import public_url
from timelines.archive.sqlite import SQLiteArchive
from timelines.posts.archive import Archive, ArchiveUnavailable, InvalidArchiveUrl

Opened = Callable[[], Archive]


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    """Yield a function that opens an archive, one per process, at a new empty place."""
    if request.param == "sqlite":
        url = f"sqlite://{tmp_path / 'deep' / 'archive.sqlite3'}"
    else:
        url = request.getfixturevalue("postgres").url
    made: list[Archive] = []

    def one() -> Archive:
        made.append(create_archive(url))
        return made[-1]

    yield one
    for archive in made:
        await archive.close()


async def everything(archive: Archive) -> list[int]:
    return [post_id async for page in archive.iterate_pages() for post_id, _ in page]


async def test_reading_before_the_first_move_raises(opened: Opened) -> None:
    """A wrong URL raises an error, so no post is reported as absent."""
    archive = opened()
    assert await everything(archive) == []
    assert await archive.get([]) == {}
    with pytest.raises(ArchiveUnavailable):
        await archive.get([1])


async def test_bodies_are_read_by_id_and_in_bounded_pages(opened: Opened) -> None:
    archive = opened()
    bodies = [(n << 30, b"\x00\xff%d" % n) for n in range(1, 1201)]
    await archive.put(bodies)
    assert await archive.get([n << 30 for n in range(6000)]) == dict(bodies)
    pages = [page async for page in archive.iterate_pages()]
    assert [body for page in pages for body in page] == bodies
    assert max(map(len, pages)) <= 500


async def test_every_operation_can_be_repeated(opened: Opened) -> None:
    archive = opened()
    await archive.put([])
    for body in (b"a", b"b"):
        await archive.put([(2, body), (1, body), (1, body + b"!")])
    assert await archive.get([1, 2, 3]) == {1: b"b!", 2: b"b"}
    for _ in range(2):
        await archive.remove([1, 3])
    await archive.remove([])
    assert await archive.get([1, 2]) == {2: b"b"}


async def test_many_processes_start_concurrently_on_one_archive(opened: Opened) -> None:
    archives = [opened() for _ in range(4)]
    writes = (each.put([(n, b"b"), (99 - n, b"b")]) for n, each in enumerate(archives * 10))
    await asyncio.gather(*writes)
    assert len(await everything(archives[0])) == 80
    replies = await asyncio.gather(*(each.get(range(100)) for each in archives * 5))
    assert {len(one) for one in replies} == {80}


async def test_the_first_move_creates_a_file_private_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "deeper" / "archive.sqlite3"
    archive = SQLiteArchive(path)
    with pytest.raises(ArchiveUnavailable):
        await archive.get([1])
    assert not path.exists()
    await archive.put([(1, b"a")])
    assert path.stat().st_mode & 0o777 == 0o600
    await archive.close()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://host/db",
        "file.sqlite3",
        "sqlite://",
        "postgresql://user:secret@[host/db",
        "postgresql://u:secret@host/db?no=1",
    ],
)
def test_an_unknown_archive_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidArchiveUrl, match="ARCHIVE_URL must be") as refused:
        create_archive(url)
    assert "secret" not in str(refused.value)


def test_the_system_checks_report_an_unusable_archive(settings: Any) -> None:
    settings.ARCHIVE_URL = "mysql://host/db"
    assert [message.id for message in run_checks(tags=["archive"])] == ["socialsite.E007"]
    for right in ("", "sqlite:///nowhere/a.sqlite3", "postgresql://user@/db?host=/nowhere"):
        settings.ARCHIVE_URL = right
        assert run_checks(tags=["archive"]) == []


def test_the_error_for_a_missing_psycopg_names_the_requirements_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("timelines.archive.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidArchiveUrl, match=r"-r requirements-postgres\.txt$"):
        create_archive("postgresql://host/db")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///var/archive.sqlite3", "sqlite:///var/archive.sqlite3"),
        ("postgresql://me:secret@db:5433/site?sslmode=require&password=secret", "postgresql://db:5433/site"),
    ],
)
def test_the_archives_place_is_shown_without_secrets(url: str, shown: str) -> None:
    assert public_url(url) == shown
