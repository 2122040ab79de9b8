"""A whole site run by `manage.py quickstart`, as somebody at a terminal runs it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import redis

from socialsite.store.embedded.server import EmbeddedServer
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
TEST_RUN_VARIABLES = ("REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG", "HTTPS", "DJANGO_SETTINGS_MODULE")
"""What the test run sets for itself and a fresh terminal has not."""


class QuickstartSite:
    """One quickstart on a data directory; `lines` is what it printed so far."""

    def __init__(self, data: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.lines: list[str] = []
        kept = {name: value for name, value in os.environ.items() if name not in TEST_RUN_VARIABLES}
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "quickstart", "--data", str(data), *arguments],
            cwd=ROOT,
            env={**kept, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def url(self) -> str:
        return next(line.removeprefix("Ready: ") for line in self.lines if line.startswith("Ready: "))

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def wait_until_ready(self) -> Self:
        with contextlib.suppress(AssertionError):
            wait_until(lambda: self._said_ready() or self.has_ended(), timeout_s=90)
        assert self._said_ready(), self.printed_since()
        return self

    def printed_since(self, since: int = 0) -> str:
        """The end of what it printed, for people."""
        return "\n".join(line[:1000] for line in self.lines[since:][-40:])

    def _said_ready(self) -> bool:
        return any(line.startswith("Ready: ") for line in self.lines)

    def status(self, path: str = "/readyz") -> int:
        """Status of a GET; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def processes(self) -> dict[str, int]:
        """Process ids by role: web, worker and redis."""
        return {**self.children(), "redis": int(self._record()["pid"])}

    def redis(self) -> redis.Redis:
        """A client of the site's own server, to look at what it holds."""
        return redis.Redis(unix_socket_path=str(self._record()["socket"]), decode_responses=True)

    def is_drained(self) -> bool:
        """Whether the worker owes nothing: a finished job is deleted."""
        with self.redis() as client:
            return bool(client.xlen("jobs:{outbox}:stream") == 0)

    def _record(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.data / "server.json").read_text())
        return found

    def children(self) -> dict[str, int]:
        """Process ids by role: web and worker."""
        found: dict[str, int] = {}
        listing = subprocess.run(["ps", "-axwwo", "pid=,ppid=,command="], capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            pid, parent, command = line.split(None, 2)
            if int(parent) == self.pid and "socialsite.quickstart.child_process" in command:
                found[command.split("socialsite.quickstart.child_process ")[1].split()[1]] = int(pid)
        return found

    def interrupt(self) -> int:
        """Ctrl-C; the exit status."""
        self._process.send_signal(signal.SIGINT)
        return self.wait()

    def kill_one(self, role: str) -> int:
        """Kill -9 of one process; the id that it had."""
        victim = self.processes()[role]
        os.kill(victim, signal.SIGKILL)
        return victim

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def wait(self, timeout_s: float = 40) -> int:
        status = self._process.wait(timeout_s)
        self._reader.join(5)
        return status

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))


@contextlib.contextmanager
def running_site(data: Path, **environment: str) -> Iterator[QuickstartSite]:
    """An empty site on a free port until the block ends; settings as `environment` says, else the usual."""
    site = QuickstartSite(data, "--no-demo", "--port", "0", environment=environment)
    try:
        yield site.wait_until_ready()
    finally:
        if not site.has_ended():
            site.interrupt()
        if (server := EmbeddedServer(data)).is_running():  # left behind by a site that was killed
            server.start()
            server.stop()


def is_alive(pid: int) -> bool:
    """Whether a process that is no child of ours lives."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        listing = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
        return bool(listing.stdout.strip()) and not listing.stdout.startswith("Z")
    return False
