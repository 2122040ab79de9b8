"""A real Redis server for tests: unix socket, AOF only on request, deleted after the test run."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import redis

from tests.support.waiting import wait_until

TIMER_HZ = "100"
"""An idle server looks for expired BLOCK timeouts this often; with the default of 10 a BLOCK of 1 ms takes 100 ms."""
MAX_WRITE_PAUSE_MS = 30_000
"""Longest time that `pause_until_aof_written` blocks writes."""


class RedisServer:
    """A `redis-server` in a short temporary directory (socket paths end at about 100 bytes)."""

    def __init__(self, *, aof: bool = False, directory: Path | None = None, options: tuple[str, ...] = ()) -> None:
        self.directory = directory or Path(tempfile.mkdtemp(prefix="ss-redis-", dir="/tmp"))
        self.socket = self.directory / "redis.sock"
        self._aof = aof
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        self._process = subprocess.Popen(
            [
                "redis-server", "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.directory),
                "--save", "", "--appendonly", "yes" if self._aof else "no", "--appendfsync", "everysec",
                "--maxmemory-policy", "noeviction", "--daemonize", "no", "--loglevel", "warning",
                "--hz", TIMER_HZ, "--logfile", str(self.directory / "redis.log"), *self._options,
            ]
        )  # fmt: skip
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        wait_until(self._is_responding, "a server to answer")

    def _is_responding(self) -> bool:
        with contextlib.suppress(redis.ConnectionError, redis.BusyLoadingError), self.client() as client:
            return bool(client.ping())
        return False

    def client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket))

    def flush(self) -> None:
        """Delete everything, also scripts."""
        with self.client() as client:
            client.flushall()
            client.script_flush()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the server and wait until it exits."""
        self.signal(number)
        assert self._process is not None
        self._process.wait(10)

    def stop(self) -> None:
        if self.is_running:
            self.kill(signal.SIGKILL)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)


def pause_until_aof_written(client: redis.Redis) -> None:
    """Wait until every acknowledged write is in the append-only file, and block further writes.

    After this the server can be killed. During an fsync Redis keeps new writes in memory for up to two seconds
    (tests/faults/test_slow_disk.py); a kill must not lose writes that are already in the file.
    """
    client.client_pause(MAX_WRITE_PAUSE_MS, all=False)
    deadline = time.monotonic() + MAX_WRITE_PAUSE_MS / 1000
    while client.info("persistence")["aof_buffer_length"]:
        assert time.monotonic() < deadline, "the disk takes too long over an fsync"
        time.sleep(0.01)
