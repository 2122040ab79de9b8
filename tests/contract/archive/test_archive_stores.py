"""The stores of archived posts: SQLite and PostgreSQL."""

import asyncio
import os
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks

from tests.support.postgres import PostgresServer
from timelines.post_archive.factory import create_archive
from timelines.post_archive.postgres import TIMEOUT_S, PostgresArchive
from timelines.post_archive.service import public_url
from timelines.post_archive.sqlite import BUSY_TIMEOUT_S, SCHEMA, SQLiteArchive
from timelines.posts.post_archive import ArchiveUnavailable, InvalidArchiveUrl, PostArchive

Opened = Callable[[], PostArchive]


@pytest.fixture(params=["sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    """Yield a function that opens an archive, one per process, at a new empty place."""
    if request.param == "sqlite":
        url = f"sqlite://{tmp_path / 'deep' / 'archive.sqlite3'}"
    else:
        url = request.getfixturevalue("postgres").url
    made: list[PostArchive] = []

    def one() -> PostArchive:
        made.append(create_archive(url))
        return made[-1]

    yield one
    for archive in made:
        await archive.close()


async def everything(archive: PostArchive) -> list[int]:
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
    for name in [name for name in sys.modules if name.startswith("timelines.post_archive.postgres")]:
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive.sqlite3"


def files_beside(path: Path) -> list[Path]:
    return list(path.parent.iterdir())


async def threads_ended(before: set[threading.Thread]) -> bool:
    async with asyncio.timeout(20):
        while set(threading.enumerate()) - before:  # noqa: ASYNC110 - the end of a thread sends no signal
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


def connections_named(postgres: PostgresServer, name: str) -> int:
    with postgres.client() as client:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        return int(client.execute(query, (name,)).fetchall()[0][0])


def soon_gone(postgres: PostgresServer, name: str) -> bool:
    """Return whether the server closes the named connections within 5 s."""
    until = time.monotonic() + 5
    while connections_named(postgres, name) and time.monotonic() < until:
        time.sleep(0.02)
    return not connections_named(postgres, name)


async def test_a_crashed_server_is_unavailable_until_it_restarts(postgres: PostgresServer) -> None:
    archive = PostgresArchive(postgres.url)
    await asyncio.gather(*(archive.put([(n, b"kept")]) for n in range(8)))
    postgres.crash()
    try:
        for _ in range(2):
            with pytest.raises(ArchiveUnavailable):
                await archive.get([1])
        for use in (archive.put([(1, b"lost")]), archive.remove([1]), anext(archive.iterate_pages())):
            with pytest.raises(ArchiveUnavailable):
                await use
    finally:
        postgres.start()
    assert await archive.get([1]) == {1: b"kept"}
    await archive.close()


async def test_a_restart_between_two_uses_causes_no_error(postgres: PostgresServer) -> None:
    """All idle connections are dead; the archive replaces them without an error."""
    archive = PostgresArchive(postgres.url)
    await asyncio.gather(*(archive.put([(n, b"kept")]) for n in range(8)))
    postgres.crash()
    postgres.start()
    assert (await asyncio.gather(*(archive.get([n]) for n in range(8)))) == [{n: b"kept"} for n in range(8)]
    await archive.close()


async def test_a_call_to_a_frozen_server_times_out(postgres: PostgresServer) -> None:
    archive = PostgresArchive(postgres.url, timeout_s=0.3)
    with postgres.frozen():
        started = time.monotonic()
        with pytest.raises(ArchiveUnavailable, match="did not answer within"):
            await archive.get([1])
        assert time.monotonic() - started < TIMEOUT_S  # otherwise the configured time-out was not used
    await archive.put([(1, b"a")])
    assert await archive.get([1]) == {1: b"a"}
    await archive.close()


async def test_a_call_to_a_blocked_backend_times_out(postgres: PostgresServer) -> None:
    """The archive drops the connection, and the server's own time-out ends the wait for the lock."""
    patient, archive = PostgresArchive(postgres.url), PostgresArchive(postgres.url, timeout_s=0.3)
    await patient.put([(1, b"a")])
    with postgres.client() as client, client.transaction():
        client.execute("LOCK TABLE archived_posts IN ACCESS EXCLUSIVE MODE")
        started = time.monotonic()
        for use in (archive.get([1]), archive.put([(1, b"b")])):
            with pytest.raises(ArchiveUnavailable):
                await use
        assert time.monotonic() - started < TIMEOUT_S
    assert await patient.get([1]) == {1: b"a"}
    await patient.close()
    await archive.close()


async def test_cancelled_readers_leave_no_open_connection(postgres: PostgresServer) -> None:
    archive = PostgresArchive(f"{postgres.url}&application_name=left")
    await archive.put([(1, b"a")])
    for number in range(40):
        task = asyncio.create_task(archive.get([1]))
        await asyncio.sleep(number / 10_000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert await archive.get([1]) == {1: b"a"}
    await archive.close()
    assert await asyncio.to_thread(soon_gone, postgres, "left")


async def test_many_readers_share_few_connections(postgres: PostgresServer) -> None:
    archive = PostgresArchive(f"{postgres.url}&application_name=counted")
    await archive.put([(1, b"a")])
    await asyncio.gather(*(archive.get([1]) for _ in range(60)))
    assert 1 <= connections_named(postgres, "counted") <= 4
    await archive.close()
    assert await asyncio.to_thread(soon_gone, postgres, "counted")


async def test_the_first_dead_connection_closes_all_idle_connections(postgres: PostgresServer) -> None:
    archive = PostgresArchive(postgres.url)
    before = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(*(archive.put([(n, b"kept")]) for n in range(8)))
    open_files = len(os.listdir("/proc/self/fd")) - before
    postgres.crash()
    postgres.start()
    await archive.get([1])
    assert open_files > 1
    assert len(os.listdir("/proc/self/fd")) - before == 1
    await archive.close()


async def test_a_connection_that_refuses_its_settings_is_closed_and_raises(postgres: PostgresServer) -> None:
    usual = PostgresArchive(postgres.url)
    await usual.put([(1, b"a")])
    odd = PostgresArchive(f"{postgres.url}&application_name=odd", timeout_s=1e10)
    with pytest.raises(ArchiveUnavailable, match="statement_timeout"):
        await odd.get([1])
    assert await asyncio.to_thread(soon_gone, postgres, "odd")
    await usual.close()


async def test_the_server_receives_the_time_out_of_the_reader(postgres: PostgresServer) -> None:
    archive = PostgresArchive(postgres.url, timeout_s=0.3)
    assert await archive._pool.run("SHOW statement_timeout") == [("300ms",)]
    await archive.close()


async def test_a_disconnect_after_a_cancelled_read_raises_no_error(tmp_path: Path) -> None:
    request_received, may_end, complaints = asyncio.Event(), asyncio.Event(), []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request_received.set()
        await may_end.wait()
        writer.close()

    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    archive = PostgresArchive(f"postgresql://archive@/postgres?host={tmp_path}")
    async with await asyncio.start_unix_server(answer, tmp_path / ".s.PGSQL.5432"):
        task = asyncio.create_task(archive.get([1]))
        await request_received.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        may_end.set()
        await archive.close()
    assert complaints == []


async def test_a_body_is_written_durably_even_with_asynchronous_commits(postgres: PostgresServer) -> None:
    with postgres.client() as client:
        client.execute("ALTER ROLE archive SET synchronous_commit = off")
    archive = PostgresArchive(postgres.url)
    try:
        assert await archive._pool.run("SHOW synchronous_commit") == [("on",)]
    finally:
        with postgres.client() as client:
            client.execute("ALTER ROLE archive RESET synchronous_commit")
        await archive.close()
