"""A site as in production, daphne and a worker, on running Redis servers."""

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.support.plain_http import PLAIN_HTTP
from tests.support.ports import free_ports
from tests.support.site import ROOT

NO_LIMITS = {
    f"RATE_LIMIT_{rule}": "off" for rule in ["POST", "FOLLOW", "LIKE", "BLOCK", "DELETE", "SIGNUP", "LOGIN", "ADDRESS"]
} | {"POSTS_PER_DAY": "0", "BYTES_PER_DAY": "0", "SITE_BYTES_PER_DAY": "0"}
READY_TIMEOUT_S = 90.0


class ProductionSite:
    """The site's processes. `url` is its address, `log` their standard error, `root` the folder of the release."""

    def __init__(self, redis_url: str, directory: Path, *, root: Path = ROOT, **environment: str) -> None:
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = directory / "log"
        self._environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "SECRET_KEY": secrets.token_urlsafe(50),
            "REDIS_URL": redis_url,
            "ALLOWED_HOSTS": "*",
            "LOG_LEVEL": "WARNING",
            **NO_LIMITS,
            **environment,
        }
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

    def stop_workers(self) -> None:
        """Stop the workers after their current jobs; web processes continue."""
        _, *workers = self._processes
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(15)
            self._processes.remove(worker)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while self.status("/readyz") != 200:
            assert self.is_alive, self.log[-2000:]
            assert time.monotonic() < deadline, self.log[-2000:]
            time.sleep(0.05)

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
        """Return whether all processes run."""
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
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=self._root,
                env=self._environment,
                stderr=log,
            )
        self._processes.append(process)


@contextlib.contextmanager
def running_production_site(redis_url: str, **environment: str) -> Iterator[ProductionSite]:
    """Run a site until the block ends; it is ready at the start."""
    with tempfile.TemporaryDirectory(prefix="serving") as directory:
        site = ProductionSite(redis_url, Path(directory), root=ROOT, **environment)
        try:
            site.start()
            yield site
        finally:
            site.stop()
