"""A real server as a child process, its data in one directory: the store of a site on one machine.

Whoever comes first starts it, owns it and stops it; others given the same directory connect to it. A server
whose owner was killed is taken over by the next to come. How this is told apart: server_directory.py.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from socialsite.store.embedded.binaries import EmbeddedServerError, ServerBinary, find_server_binary
from socialsite.store.embedded.directory import ServerDirectory, ServerRecord, choose_socket_path

__all__ = ["EmbeddedServer", "EmbeddedServerError", "find_server_binary"]

START_TIMEOUT_S = 20.0
"""Until the socket answers anything; the time to load the data is not in it."""
LOADING_TIMEOUT_S = 600.0
STOP_TIMEOUT_S = 30.0
OWNER_GRACE_S = 3.0
"""For an owner to start its server again before somebody else does."""
POLL_INTERVAL_S = 0.02

_servers_of_process: "dict[Path, EmbeddedServer]" = {}


class EmbeddedServer:
    """The server of one data directory. `start` and `stop` block: in a loop, by asyncio.to_thread."""

    def __init__(self, directory: Path | str, *, search_path: str | None = None) -> None:
        self._directory = ServerDirectory(directory)
        self._search_path = search_path
        self._owner_lock: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._record: ServerRecord | None = None

    @classmethod
    def ensure_running(cls, directory: Path | str) -> "EmbeddedServer":
        """The server of a directory, started where none runs; if it is ours, it ends with this process."""
        path = Path(directory).expanduser().resolve()
        if path not in _servers_of_process:
            _servers_of_process[path] = cls(path)
            atexit.register(_servers_of_process[path].stop)
        server = _servers_of_process[path]
        server.start()
        return server

    @property
    def url(self) -> str:
        if self._record is None:
            raise EmbeddedServerError(f"The server of {self._directory} has not been started.")
        return f"unix://{self._record.socket}?db=0"

    @property
    def is_owner(self) -> bool:
        """Whether this process stops the server."""
        return self._owner_lock is not None

    @property
    def pid(self) -> int | None:
        return self._record.pid if self._record else None

    def start(self) -> None:
        """Connect to the directory's server, or start one; returns when it answers. May be repeated."""
        self._directory.create()
        if self._owner_lock is None:
            self._owner_lock = self._directory.try_lock("owner.lock")
        try:
            self._connect_or_start()
        except BaseException:
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()  # cut short while it loads: it would only be in the way
            self._release()
            raise

    def stop(self) -> None:
        """End the server if it is ours, its data on disk; else only forget it."""
        record = self._directory.read_record() if self._owner_lock else None
        if record and record.pid:
            self._stop_process(record.pid)
            record.pid = None
            self._directory.write_record(record)
            with contextlib.suppress(OSError):  # the next start makes it again
                Path(record.socket).parent.rmdir()
        self._release()

    def is_running(self) -> bool:
        if self._process is not None:
            self._process.poll()  # reaps it
        return self._directory.has_server()

    def _connect_or_start(self) -> None:
        began = time.monotonic()
        while not self._attach():
            waited = time.monotonic() - began
            self._owner_lock = self._owner_lock or self._directory.try_lock("owner.lock")
            # Its owner is the one to start it again; where the owner does not, anybody may.
            if (self._owner_lock or waited > OWNER_GRACE_S) and (lock := self._directory.try_lock("server.lock")):
                with lock:
                    child = self._spawn(lock)
                return self._wait_until_answering(child)
            if waited > START_TIMEOUT_S:
                self._kill_orphan(self._directory.read_record())
                began = time.monotonic()
            time.sleep(POLL_INTERVAL_S)
        return None

    def _attach(self) -> bool:
        """Take the server that runs, when one answers."""
        record = self._directory.read_record()
        if not record or not (pid := _read_server_pid(record.socket)):
            return False
        record.pid = pid
        self._record = record
        return True

    def _kill_orphan(self, record: ServerRecord | None) -> None:
        """A server holds the directory and does not answer: end an orphan, leave another's alone."""
        if not self._owner_lock or not record or not record.pid:
            raise EmbeddedServerError(f"The server of {self._directory} runs and does not answer.")
        self._stop_process(record.pid, signal.SIGKILL)

    def _spawn(self, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        earlier = self._directory.read_record()
        binary = find_server_binary(earlier.server_version if earlier else None, self._search_path)
        if self._process is not None:
            self._process.wait()  # the lock was free, so it has ended
        record = ServerRecord(choose_socket_path(earlier), binary.version.kind, binary.version.number)
        with self._directory.open_log() as log:
            self._process = subprocess.Popen(  # noqa: S603  (our own arguments, no shell)
                self._command(binary, record.socket),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._directory.path,
                pass_fds=[lock.fileno()],
                start_new_session=True,  # Ctrl-C is for us: the server goes last
            )
        record.pid = self._process.pid
        self._directory.write_record(record)
        self._record = record
        return self._process

    def _command(self, binary: ServerBinary, socket: str) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": socket,
            "unixsocketperm": "700",
            "dir": str(self._directory),
            "daemonize": "no",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",  # the append-only file is the data; snapshots would write it twice
            "maxmemory-policy": "noeviction",
        }
        return [str(binary.path), *(part for name, value in options.items() for part in (f"--{name}", value))]

    def _wait_until_answering(self, child: subprocess.Popen[bytes]) -> None:
        while not self._attach():
            if child.poll() is not None:
                tail = self._directory.read_log_tail()
                raise EmbeddedServerError(f"The server of {self._directory} did not start: {tail}")
            time.sleep(POLL_INTERVAL_S)

    def _stop_process(self, pid: int, by: signal.Signals = signal.SIGTERM) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, by)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while self.is_running():
            if time.monotonic() > deadline:
                if by == signal.SIGKILL:
                    raise EmbeddedServerError(f"The server of {self._directory} cannot be ended.")
                return self._stop_process(pid, signal.SIGKILL)
            time.sleep(POLL_INTERVAL_S)
        return None

    def _release(self) -> None:
        if self._owner_lock:
            self._owner_lock.close()
        self._owner_lock = None
        self._record = None


def _read_server_pid(socket: str) -> int | None:
    """The process id of the server that answers on a socket, once it has loaded its data; None for none."""
    client = redis.Redis(
        unix_socket_path=socket,
        socket_timeout=2,
        socket_connect_timeout=2,
        retry=Retry(NoBackoff(), 0),
    )
    deadline = time.monotonic() + LOADING_TIMEOUT_S
    with contextlib.closing(client):
        while time.monotonic() < deadline:
            try:
                client.ping()  # refused while loading, which INFO is not
                return int(client.info("server")["process_id"])
            except redis.BusyLoadingError:
                time.sleep(POLL_INTERVAL_S)
            except (redis.ConnectionError, redis.TimeoutError):
                return None
    return None
