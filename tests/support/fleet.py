"""Several daphnes on one listening socket, as systemd runs them (deploy/systemd), restarted in turn.

The test owns the socket, as systemd does: connections wait in it while no process accepts them.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

from django.conf import settings

BASE_DIR = Path(__file__).resolve().parents[2]


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
        self._environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "SECRET_KEY": settings.SECRET_KEY,
            "REDIS_URL": redis_url,
            "ALLOWED_HOSTS": "*",
            "LOG_LEVEL": "WARNING",
            "NOTIFY_SOCKET": f"{self._directory.name}/notify",
            **{
                f"RATE_LIMIT_{rule}": "off"
                for rule in ["POST", "FOLLOW", "LIKE", "DELETE", "SIGNUP", "SOCKET", "ADDRESS"]
            },
            "POSTS_PER_DAY": "0",
            "BYTES_PER_DAY": "0",
            **environment,
        }

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
            cwd=BASE_DIR,
            env=self._environment,
            pass_fds=[fd],
            stderr=self._log,
        )
