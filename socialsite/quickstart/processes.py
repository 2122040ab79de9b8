"""The parts quickstart keeps alive: the embedded server, and web and worker as children that die with us."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from socialsite.store.embedded.server import EmbeddedServer

BASE_DIR = Path(__file__).resolve().parents[2]
STOP_TIMEOUT_S = 15.0
"""For a child to finish what it has in hand."""


class SiteProcess(Protocol):
    name: str

    def start(self) -> None: ...
    def is_alive(self) -> bool: ...
    def stop(self) -> None: ...


class RedisProcess:
    """The directory's Redis."""

    name = "redis"

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server

    def start(self) -> None:
        self._server.start()

    def is_alive(self) -> bool:
        return self._server.is_running()

    def stop(self) -> None:
        self._server.stop()


class ChildProcess:
    """A child process in a session of its own: Ctrl-C reaches the supervisor alone, which ends it in turn."""

    def __init__(self, name: str, arguments: Sequence[str], pipe: int, *, inherited_fds: Sequence[int] = ()) -> None:
        self.name = name
        self._arguments = arguments
        self._pipe = pipe
        self._inherited_fds = inherited_fds
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603  (our own arguments, no shell)
            [sys.executable, "-m", "socialsite.quickstart.child_process", str(self._pipe), *self._arguments],
            cwd=BASE_DIR,
            stdin=subprocess.DEVNULL,
            pass_fds=[self._pipe, *self._inherited_fds],
            start_new_session=True,
        )

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is None or not self.is_alive():
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def make_web_process(pipe: int, listening: int) -> ChildProcess:
    """daphne on the supervisor's socket: while it starts again, browsers wait and are not refused."""
    arguments = [
        "web",
        "--fd", str(listening),
        "--verbosity", "0",
        "--no-server-name",
        "--http-timeout", "60",
        "--websocket-max-message-size", "4096",
        "--websocket-max-frame-size", "4096",
        "socialsite.asgi:application",
    ]  # fmt: skip
    return ChildProcess("web", arguments, pipe, inherited_fds=[listening])


def make_worker_process(pipe: int) -> ChildProcess:
    return ChildProcess("worker", ["worker", "syndicate", "--verbosity", "0"], pipe)


def open_pipe() -> tuple[int, int]:
    """(reading end for the children, writing end to be kept); neither is inherited unless passed on."""
    return os.pipe()
