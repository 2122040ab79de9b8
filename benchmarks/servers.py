"""Processes of the benchmarks: a Redis on a unix socket and daphne, with their processor time."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.ports import free_port
from tests.support.redis_server import RedisServer

ROOT = Path(__file__).resolve().parents[1]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
START_S = 120.0


@contextlib.contextmanager
def redis_server(*options: str, aof: bool = False) -> Iterator[RedisServer]:
    """Run a separate server, by default without persistence, so that the disk is not measured."""
    server = RedisServer(aof=aof, options=options)
    try:
        yield server.start()
    finally:
        server.stop()


class BenchmarkDaphne:
    """One daphne process on loopback, as in production."""

    def __init__(self, application: str, *, sampled_into: Path | None = None, **environment: str) -> None:
        """Start daphne; `sampled_into` is a file for its sampled stacks (sampling.py)."""
        self.application = application
        self.port = free_port()
        self._runner = [] if sampled_into is None else ["benchmarks.sampling", str(sampled_into)]
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable, "-m", *self._runner, "daphne", "-b", "127.0.0.1", "-p", str(self.port),
                "--verbosity", "0", "--no-server-name", "--http-timeout", "60",
                "--websocket-max-message-size", "4096", "--websocket-max-frame-size", "4096",
                self.application,
            ],
            cwd=ROOT, env=self._environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise RuntimeError(f"daphne {self.application} ended with {self._process.returncode}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.5):
                return
            time.sleep(0.05)
        raise RuntimeError(f"daphne {self.application} did not start")

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def cpu_s(self) -> float:
        return cpu_s(self.pid)

    @property
    def resident_kb(self) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise RuntimeError("this system does not say how much memory a process holds")


@contextlib.contextmanager
def running_daphne(
    application: str, *, sampled_into: Path | None = None, **environment: str
) -> Iterator[BenchmarkDaphne]:
    server = BenchmarkDaphne(application, sampled_into=sampled_into, **environment)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def running_worker(redis_url: str) -> Iterator[int]:
    """Run `manage.py syndicate` until the end of the block; yield its process id."""
    command = [sys.executable, "manage.py", "syndicate", "--verbosity", "0"]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "REDIS_URL": redis_url})
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def cpu_s(pid: int) -> float:
    """Return the processor time of all threads of a process in seconds (exact to 10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S
