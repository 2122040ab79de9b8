"""Start the processes of a quickstart in order, restart them when they end, and stop them in reverse order."""

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from socialsite.quickstart.process_factory import MODULE, PADDING
from socialsite.store.embedded.binaries import EmbeddedServerError
from socialsite.store.embedded.server import EmbeddedServer

BASE_DIR = Path(__file__).resolve().parents[2]
STOP_TIMEOUT_S = 15.0
"""Time for a child process to finish its work after the stop signal. Then it is killed."""
INITIAL_BACKOFF_S = 0.5
"""Pause before the second restart of a process. It doubles with each further restart."""
MAX_BACKOFF_S = 5.0
STABLE_AFTER_S = 30.0
"""If a process ran for this time, its next restart has no pause."""
FORK_TIMEOUT_S = 120.0
"""Time for the factory to load the site, which it does before its first fork."""
POLL_INTERVAL_S = 0.1
WAIT_INTERVAL_S = 0.02

PrintLine = Callable[[str], None]


class SiteProcess(Protocol):
    name: str

    def start(self) -> None: ...
    def is_alive(self) -> bool: ...
    def stop(self) -> None: ...


class RedisProcess:
    """The embedded Redis server of a data directory."""

    name = "redis"

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server

    def start(self) -> None:
        self._server.start()

    def is_alive(self) -> bool:
        return self._server.is_running()

    def stop(self) -> None:
        self._server.stop()


class ProcessFactory:
    """The process that loads the site once, and forks the other processes from it (process_factory.py)."""

    name = "factory"

    def __init__(self, inherited_fds: Sequence[int], role: str = "quickstart") -> None:
        self._inherited_fds = inherited_fds
        self._role = role
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None

    def start(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, theirs = socket.socketpair()
        self._connection.settimeout(FORK_TIMEOUT_S)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  (our own arguments, no shell)
                [sys.executable, "-m", MODULE, str(theirs.fileno()), self._role, PADDING],
                cwd=BASE_DIR,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), *self._inherited_fds],
                start_new_session=True,
            )

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()  # the process has no work to finish
            self._process.wait()

    def fork(self, arguments: Sequence[str]) -> int | None:
        """Return the process id of a fork that runs child_process.py with the arguments, or None without a factory."""
        assert self._connection is not None
        try:
            self._connection.sendall(json.dumps(arguments).encode() + b"\n")
            answer = self._connection.makefile("rb").readline()
        except OSError:  # it has ended, or it hangs: the supervisor replaces it
            self.stop()
            return None
        return int(answer or 0) or None


class ChildProcess:
    """A child process in its own session, so that Ctrl-C reaches only the supervisor, which stops the child.

    It is a fork of the factory, or a new interpreter where the system does not have "subreapers". The child ends when
    the writing end of `pipe` is closed.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        pipe: int,
        *,
        inherited_fds: Sequence[int] = (),
        factory: ProcessFactory | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self.name = name
        self._stop_timeout_s = stop_timeout_s
        self._is_stopping = False
        self._arguments = arguments
        self._pipe = pipe
        self._inherited_fds = inherited_fds
        self._factory = factory
        self._pid: int | None = None
        self.status: int | None = None
        """The exit status of the last run, if this process has read it."""

    def start(self) -> None:
        arguments = [str(self._pipe), *self._arguments]
        self.status, self._is_stopping = None, False
        if self._factory is not None:
            self._pid = self._factory.fork(arguments)
            return
        self._pid = subprocess.Popen(  # noqa: S603  (our own arguments, no shell)
            [sys.executable, "-m", "socialsite.quickstart.child_process", *arguments],
            cwd=BASE_DIR,
            stdin=subprocess.DEVNULL,
            pass_fds=[self._pipe, *self._inherited_fds],
            start_new_session=True,
        ).pid

    def is_alive(self) -> bool:
        if self._pid is None:
            return False
        try:
            ended, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            ended, status = self._pid, None
        if ended:
            self._pid, self.status = None, None if status is None else os.waitstatus_to_exitcode(status)
        return not ended

    def wait(self, timeout_s: float = math.inf) -> bool:
        """Wait until the process ends. Returns False after the time limit."""
        deadline = time.monotonic() + timeout_s
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(WAIT_INTERVAL_S)
        return True

    def terminate(self) -> None:
        """Let the process finish its work and end. Daphne takes this signal once."""
        if self.is_alive() and self._pid is not None and not self._is_stopping:
            self._is_stopping = True
            os.kill(self._pid, signal.SIGTERM)

    def stop(self) -> None:
        self.terminate()
        if not self.wait(self._stop_timeout_s) and self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            self.wait()


def make_web_process(
    pipe: int, listening: int, factory: ProcessFactory | None = None, stop_timeout_s: float = STOP_TIMEOUT_S
) -> ChildProcess:
    """Return daphne on the supervisor's listening socket. While it restarts, browsers wait and are not refused."""
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
    return ChildProcess(
        "web", arguments, pipe, inherited_fds=[listening], factory=factory, stop_timeout_s=stop_timeout_s
    )


def make_worker_process(pipe: int, factory: ProcessFactory | None = None) -> ChildProcess:
    return ChildProcess("worker", ["worker", "syndicate", "--verbosity", "0"], pipe, factory=factory)


@dataclass(slots=True)
class ManagedProcess:
    """A process and the time of its next restart."""

    process: SiteProcess
    print_line: PrintLine
    started_s: float = 0.0
    failures: int = 0
    restart_at_s: float | None = None

    def start(self, now_s: float) -> None:
        self.started_s = now_s
        self.restart_at_s = None
        self.process.start()

    def poll(self, now_s: float) -> None:
        """Restart the process if its restart is due. If the process has ended, schedule a restart."""
        if self.restart_at_s is not None:
            if now_s >= self.restart_at_s:
                self._restart(now_s)
        elif not self.process.is_alive():
            if now_s - self.started_s > STABLE_AFTER_S:
                self.failures = 0
            self._schedule_restart(now_s, "has ended")

    def _restart(self, now_s: float) -> None:
        try:
            self.start(now_s)
        except EmbeddedServerError as error:
            self._schedule_restart(now_s, f"does not start: {error}")

    def _schedule_restart(self, now_s: float, reason: str) -> None:
        # The first restart has no pause, because browsers wait for it.
        pause = min(MAX_BACKOFF_S, INITIAL_BACKOFF_S * 2 ** (self.failures - 1)) if self.failures else 0.0
        self.failures = min(self.failures + 1, 10)
        self.restart_at_s = now_s + pause
        self.print_line(f"{self.process.name} {reason}; starting it again{f' in {pause:g} s' if pause else ''}")


class Supervisor:
    """Runs processes in order. Each process may depend on the earlier processes."""

    def __init__(self, print_line: PrintLine) -> None:
        self._print_line = print_line
        self._processes: list[ManagedProcess] = []

    def start(self, processes: Sequence[SiteProcess]) -> None:
        for process in processes:
            managed = ManagedProcess(process, self._print_line)
            self._processes.append(managed)  # before it starts, so that `stop` also stops an interrupted start
            managed.start(time.monotonic())

    def run(self, after_poll: Callable[[], None]) -> None:
        """Poll the processes until an exception such as KeyboardInterrupt is raised."""
        while True:
            for managed in self._processes:
                managed.poll(time.monotonic())
            after_poll()
            reap_orphans()
            time.sleep(POLL_INTERVAL_S)

    def run_to_end(self, process: ChildProcess) -> int | None:
        """Run a process until it ends. Return its exit status."""
        self.start([process])
        process.wait()
        self._processes.pop()
        return process.status

    def stop(self) -> None:
        while self._processes:
            self._processes.pop().process.stop()


def reap_orphans() -> None:
    """Read the exit statuses of processes whose parents have ended.

    This may also read the status of a ChildProcess. Its `is_alive` then finds that it has ended.
    """
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
