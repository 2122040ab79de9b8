"""The archive in PostgreSQL: a server that crashes, hangs or refuses, and the connections to it."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.support.postgres import PostgresServer
from timelines.archive.postgres import TIMEOUT_S, PostgresArchive
from timelines.posts.archive import ArchiveUnavailable


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
    replies = await asyncio.gather(*(archive.get([n]) for n in range(8)))
    assert replies == [{n: b"kept"} for n in range(8)]
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
    archive = PostgresArchive(postgres.url, timeout_s=0.3)
    await archive.put([(1, b"a")])
    with postgres.client() as client, client.transaction():
        client.execute("LOCK TABLE archived_posts IN ACCESS EXCLUSIVE MODE")
        started = time.monotonic()
        for use in (archive.get([1]), archive.put([(1, b"b")])):
            with pytest.raises(ArchiveUnavailable):
                await use
        assert time.monotonic() - started < TIMEOUT_S
    assert await archive.get([1]) == {1: b"a"}
    await archive.close()


async def test_cancelled_readers_leave_no_open_connection(
    postgres: PostgresServer,
) -> None:
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


async def test_many_readers_share_few_connections(
    postgres: PostgresServer,
) -> None:
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
