"""Daphne in processes of its own: one, or several on one listening socket, as systemd runs them."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import httpx
from django.conf import settings

from tests.support.ports import free_ports
from tests.support.visitor import PLAIN_HTTP
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
NO_LIMITS = {
    f"RATE_LIMIT_{rule}": "off" for rule in ["POST", "FOLLOW", "LIKE", "BLOCK", "DELETE", "SIGNUP", "LOGIN", "ADDRESS"]
} | {"POSTS_PER_DAY": "0", "BYTES_PER_DAY": "0", "SITE_BYTES_PER_DAY": "0"}

READY_TIMEOUT_S = 90.0


def site_environment(redis_url: str, secret_key: str, **environment: str) -> dict[str, str]:
    """Return the environment of a site's processes on this store, with the settings of the tests."""
    own = {"DJANGO_SETTINGS_MODULE": "tests.settings", "SECRET_KEY": secret_key, "REDIS_URL": redis_url}
    return {**os.environ, **own, "ALLOWED_HOSTS": "*", "LOG_LEVEL": "WARNING", **environment}


class DaphneProcess:
    """`daphne socialsite.asgi:application` on a free port, with the settings of the tests."""

    def __init__(self, redis_url: str, *arguments: str, **environment: str) -> None:
        self._arguments = arguments
        self.port = free_ports(1)[0]
        self._environment = site_environment(
            redis_url,
            settings.SECRET_KEY,
            **{"ALLOWED_HOSTS": "127.0.0.1", "RATE_LIMIT_SOCKET": "off", "RATE_LIMIT_ADDRESS": "off", **environment},
        )
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws/stream/"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> Self:
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port), "--verbosity", "0",
                "--websocket-max-message-size", "4096", "--websocket-max-frame-size", "4096",
                *self._arguments, "socialsite.asgi:application",
            ],
            cwd=ROOT,
            env=self._environment,
        )  # fmt: skip
        wait_until(self._accepts_connections, "daphne", timeout_s=READY_TIMEOUT_S)
        return self

    def _accepts_connections(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"daphne ended with {self.process.returncode}"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.5):
            return True
        return False

    def wait_until_ready(self) -> Self:
        httpx.get(f"{self.origin}/readyz", timeout=60, verify=PLAIN_HTTP)
        return self

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def resident_kb(self) -> int:
        """Return the resident memory of the process in kB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def cpu_s(self) -> float:
        """Return the seconds of processor time that the process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running_daphne(redis_url: str, *arguments: str, **environment: str) -> Iterator[DaphneProcess]:
    """Run a daphne that has opened its store: a store that is emptied while it is opened looks like lost data."""
    daphne = DaphneProcess(redis_url, *arguments, **environment)
    try:
        yield daphne.start().wait_until_ready()
    finally:
        daphne.stop()


class DaphneFleet:
    """A fleet of `size` daphnes; `async with` starts and stops them. `notes` are their systemd messages in order.

    With `web_processes`, each of them is a supervisor with so many web processes.
    """

    def __init__(self, redis_url: str, size: int, *, web_processes: int = 0, **environment: str) -> None:
        self._web_processes = web_processes
        self.listening_socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.notes: list[str] = []
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._directory = tempfile.TemporaryDirectory(prefix="fleet")
        self._log = open(f"{self._directory.name}/log", "ab")  # noqa: SIM115 - closed with the fleet
        self._notify.bind(f"{self._directory.name}/notify")
        self._notify.setblocking(False)
        self.size = size
        self._processes: list[subprocess.Popen[bytes]] = []
        notify = f"{self._directory.name}/notify"
        overrides = {**NO_LIMITS, "RATE_LIMIT_SOCKET": "off", "NOTIFY_SOCKET": notify, **environment}
        self._environment = site_environment(redis_url, settings.SECRET_KEY, **overrides)

    @property
    def log(self) -> str:
        """The daphnes' output on standard error."""
        return Path(self._log.name).read_text()

    @property
    def port(self) -> int:
        return int(self.listening_socket.getsockname()[1])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        for place in range(self.size):
            self._processes.append(self._start())
            await self.wait_for_notes("READY=1", (place + 1) * max(1, self._web_processes))
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            await self.wait_for_exit(process)
        self.listening_socket.close()
        self._notify.close()
        self._log.close()
        self._directory.cleanup()

    def pid(self, place: int) -> int:
        return self._processes[place].pid

    async def restart(self, place: int) -> int:
        """Restart as `systemctl restart` does and return the old process's exit status."""
        old, ready_count = self._processes[place], self.notes.count("READY=1")
        old.send_signal(signal.SIGTERM)
        status = await self.wait_for_exit(old)
        self._processes[place] = self._start()
        await self.wait_for_notes("READY=1", ready_count + max(1, self._web_processes))
        return status

    async def stop(self, place: int) -> int:
        self._processes[place].send_signal(signal.SIGTERM)
        return await self.wait_for_exit(self._processes[place])

    async def wait_for_notes(self, word: str, times: int) -> None:
        """Wait until systemd received `word` so many times; only one task may wait at a time."""
        async with asyncio.timeout(60):
            while self.notes.count(word) < times:
                note = await asyncio.get_running_loop().sock_recv(self._notify, 100)
                self.notes.append(note.decode())

    async def wait_for_exit(self, process: "subprocess.Popen[bytes]", within_s: float = 40) -> int:
        return await asyncio.to_thread(process.wait, within_s)

    def _start(self) -> "subprocess.Popen[bytes]":
        fd = self.listening_socket.fileno()
        daphne = [
            "daphne", "--fd", str(fd), "--verbosity", "0", "--no-server-name",
            "--http-timeout", "60", "--websocket-max-message-size", "4096",
            "--websocket-max-frame-size", "4096", "socialsite.asgi:application",
        ]  # fmt: skip
        pool = ["socialsite.quickstart.server_pool", "--web-processes", str(self._web_processes), "--fd", str(fd)]
        return subprocess.Popen(
            [sys.executable, "-m", *(pool if self._web_processes else daphne)],
            cwd=ROOT,
            env=self._environment,
            pass_fds=[fd],
            stderr=self._log,
        )
