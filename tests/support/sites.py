"""Whole sites as processes: as `make run` starts them, and as in production, daphne and a worker."""

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self, overload

import httpx
import redis

from socialsite.store.embedded.server import EmbeddedServer
from tests.support.daphnes import NO_LIMITS, READY_TIMEOUT_S, ROOT, site_environment
from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.visitor import PLAIN_HTTP
from tests.support.waiting import wait_until

FACTORY = re.compile(r"socialsite\.quickstart\.process_(factory)")


TEST_RUN_VARIABLES = (
    "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG", "HTTPS", "DJANGO_SETTINGS_MODULE", "MEDIA_ROOT",
)  # fmt: skip
"""Variables of the test run that a new terminal does not have."""


class QuickstartSite:
    """One quickstart on a data directory; `lines` is its output so far."""

    def __init__(self, data: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.lines: list[str] = []
        inherited_environment = {name: value for name, value in os.environ.items() if name not in TEST_RUN_VARIABLES}
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "quickstart", "--data", str(data), *arguments],
            cwd=ROOT,
            env={**inherited_environment, **(environment or {})},
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
        """Return the end of the output, for failure messages."""
        return "\n".join(line[:1000] for line in self.lines[since:][-40:])

    def _said_ready(self) -> bool:
        return any(line.startswith("Ready: ") for line in self.lines)

    def status(self, path: str = "/readyz") -> int:
        """Return the status of a GET, or 0 without an answer."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def processes(self) -> dict[str, int]:
        """Return process ids by role: web, worker, redis and factory, but not the supervisor."""
        return {**self.children(), **self._find_children(FACTORY), "redis": int(self._record()["pid"])}

    def redis(self) -> redis.Redis:
        """Return a client of the site's own server."""
        return redis.Redis(unix_socket_path=str(self._record()["socket"]), decode_responses=True)

    def is_drained(self) -> bool:
        """Return whether the outbox is empty: a finished job is deleted."""
        with self.redis() as client:
            return bool(client.xlen("jobs:{outbox}:stream") == 0)

    def _record(self) -> dict[str, str]:
        record: dict[str, str] = json.loads((self.data / "server.json").read_text())
        return record

    def children(self) -> dict[str, int]:
        """Return process ids by role: web and worker."""
        return self._find_children(re.compile(r"socialsite\.quickstart\.child_process \d+ (\w+)"))

    def _find_children(self, pattern: re.Pattern[str]) -> dict[str, int]:
        return {match[1]: pid for pid, match in find_children(self.pid, pattern)}

    def interrupt(self) -> int:
        """Send Ctrl-C and return the exit status."""
        self._process.send_signal(signal.SIGINT)
        return self.wait()

    def kill_one(self, role: str) -> int:
        """Kill one process with SIGKILL and return its id."""
        victim = self.processes()[role]
        os.kill(victim, signal.SIGKILL)
        return victim

    def close_output(self) -> None:
        """Close the reading end of the site's output."""
        assert self._process.stdout is not None
        os.dup2(os.open(os.devnull, os.O_RDONLY), self._process.stdout.fileno())

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
def _running_quickstart(data: Path, environment: dict[str, str]) -> Iterator[QuickstartSite]:
    site = QuickstartSite(data, "--no-demo", "--port", "0", environment=environment)
    try:
        yield site.wait_until_ready()
    finally:
        if not site.has_ended():
            site.interrupt()
        if (server := EmbeddedServer(data)).is_running():  # left by a killed site
            server.start()
            server.stop()


def find_children(supervisor: int, pattern: re.Pattern[str]) -> list[tuple[int, re.Match[str]]]:
    """Return the child processes of a supervisor whose command line has the pattern, with the match."""
    listing = subprocess.run([need("ps"), "-axwwo", "pid=,ppid=,command="], capture_output=True, text=True, check=True)
    rows = (line.split(None, 2) for line in listing.stdout.splitlines())
    found = ((int(pid), pattern.search(command)) for pid, parent, command in rows if int(parent) == supervisor)
    return [(pid, match) for pid, match in found if match]


def is_alive(pid: int) -> bool:
    """Return whether a process that is no child of this process runs."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        listing = subprocess.run([need("ps"), "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
        return bool(listing.stdout.strip()) and not listing.stdout.startswith("Z")
    return False


class ProductionSite:
    """The site's processes. `url` is its address, `log` their standard error, `root` the folder of the release."""

    def __init__(self, redis_url: str, directory: Path, *, root: Path = ROOT, **environment: str) -> None:
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = directory / "log"
        self._environment = site_environment(redis_url, secrets.token_urlsafe(50), **{**NO_LIMITS, **environment})
        self._processes: list[subprocess.Popen[bytes]] = []
        self._root = root

    @property
    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def start_web(self) -> None:
        """Start only daphne, without waiting until it answers."""
        daphne = ["-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port), "--verbosity", "0"]
        self._run(*daphne, "--no-server-name", "socialsite.asgi:application")

    def start(self) -> None:
        self.start_web()
        self.start_worker()
        self.wait_until_ready()

    def start_worker(self) -> None:
        self._run("manage.py", "syndicate", "--verbosity", "0")

    def wait_until_ready(self) -> None:
        wait_until(self._is_ready, "the site", timeout_s=READY_TIMEOUT_S)

    def _is_ready(self) -> bool:
        assert self.is_alive, self.log[-2000:]
        return self.status("/readyz") == 200

    def manage(self, *arguments: str) -> str:
        """Run a command of manage.py on the site's store, and return its output."""
        command = [sys.executable, "manage.py", *arguments]
        run = subprocess.run(command, cwd=self._root, env=self._environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[-2000:]
        return run.stdout

    def status(self, path: str) -> int:
        """Return the status of a GET, or 0 without an answer."""
        try:
            return httpx.get(self.url + path, timeout=5, trust_env=False, verify=PLAIN_HTTP).status_code
        except httpx.TransportError:
            return 0

    @property
    def web_pid(self) -> int:
        return self._processes[0].pid

    @property
    def is_alive(self) -> bool:
        return all(process.poll() is None for process in self._processes)

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()
            process.wait(5)

    def _run(self, *arguments: str) -> None:
        with self._log.open("ab") as log:
            process = subprocess.Popen([sys.executable, *arguments], cwd=self._root, env=self._environment, stderr=log)
        self._processes.append(process)


@contextlib.contextmanager
def _running_production(redis_url: str, environment: dict[str, str]) -> Iterator[ProductionSite]:
    with tempfile.TemporaryDirectory(prefix="serving") as directory:
        site = ProductionSite(redis_url, Path(directory), root=ROOT, **environment)
        try:
            site.start()
            yield site
        finally:
            site.stop()


@overload
def running_site(place: Path, **environment: str) -> AbstractContextManager[QuickstartSite]: ...
@overload
def running_site(place: str, **environment: str) -> AbstractContextManager[ProductionSite]: ...
def running_site(place: Path | str, **environment: str) -> AbstractContextManager[QuickstartSite | ProductionSite]:
    """Run an empty site that is ready until the block ends; `environment` overrides its settings.

    In a folder it is started as by `make run`, without the demo. On the URL of a store it is daphne and a worker.
    """
    if isinstance(place, Path):
        return _running_quickstart(place, environment)
    return _running_production(place, environment)
