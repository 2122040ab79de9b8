"""A real PostgreSQL server for tests: unix socket only, in a temporary directory, deleted after the test run."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import psycopg

from tests.support.programs import need
from tests.support.waiting import wait_until

FAST_OPTIONS = ("fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=40")


class PostgresServer:
    """Debian's `postgres`. As root it is started as another user, because it refuses root."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ss-pg-", dir="/tmp"))
        self._data = self.directory / "data"
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            os.chown(self.directory, *_unprivileged())
        self._run(need("initdb"), "--pgdata", str(self._data), "--username", "archive", "--auth", "trust",
                  "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")  # fmt: skip

    @property
    def url(self) -> str:
        return f"postgresql://archive@/postgres?host={self.directory}"

    def start(self) -> Self:
        options = [f"unix_socket_directories={self.directory}", "listen_addresses=", *FAST_OPTIONS]
        command = [need("postgres"), "-D", str(self._data), *(f"--{option}" for option in options)]
        with (self.directory / "postgres.log").open("ab") as log:
            self._process = subprocess.Popen([*_as_unprivileged(), *command], stdout=log, stderr=log, cwd="/")
        wait_until(self._is_responding, "PostgreSQL to answer")
        return self

    def truncate(self) -> None:
        with self.client() as client:
            client.execute("DROP TABLE IF EXISTS archived_posts")

    def client(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(self.url, autocommit=True)

    def crash(self) -> None:
        """Break every connection immediately; nothing more is written (SIGQUIT, "immediate shutdown")."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        self._end(signal.SIGINT)
        shutil.rmtree(self.directory, ignore_errors=True)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let the server accept connections without answering."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None

    def _is_responding(self) -> bool:
        with suppress(psycopg.OperationalError):
            self.client().close()
            return True
        return False

    def _run(self, *command: str) -> None:
        result = subprocess.run([*_as_unprivileged(), *command], capture_output=True, text=True, cwd="/")
        assert result.returncode == 0, result.stderr


def _unprivileged() -> tuple[int, int]:
    """Return user and group for the server."""
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return entry.pw_uid, entry.pw_gid


@cache
def _as_unprivileged() -> tuple[str, ...]:
    """Return the start of a command that gives up the rights of root.

    In a root directory that only root may enter, the user keeps the right to pass directories.
    """
    if os.geteuid() != 0:
        return ()
    user, group = _unprivileged()
    change = (need("setpriv"), f"--reuid={user}", f"--regid={group}", "--clear-groups")
    if subprocess.run([*change, need("initdb"), "--version"], capture_output=True, check=False).returncode == 0:
        return change
    return (*change, "--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override")
