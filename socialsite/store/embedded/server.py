"""A Redis server as a child process: the store of a site on one machine. Its data is in one directory.

The first process that uses the directory starts the server, owns it and stops it. Other processes connect to it. If the
owner was killed, the next process takes the server over. directory.py explains how processes recognize these cases.
"""

import atexit
import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import IO

from socialsite.store.embedded.binaries import EmbeddedServerError, ServerBinary, find_server_binary
from socialsite.store.embedded.directory import ServerDirectory, ServerRecord, choose_socket_path

START_TIMEOUT_S = 20.0
"""The time limit until the socket answers. The time to load the data does not count."""
LOADING_TIMEOUT_S = 600.0
STOP_TIMEOUT_S = 30.0
OWNER_GRACE_S = 3.0
"""The time that the owner has to restart its server before another process starts the server."""
ANSWER_TIMEOUT_S = 2.0
POLL_INTERVAL_S = 0.02

_servers_of_process: "dict[Path, EmbeddedServer]" = {}


class EmbeddedServer:
    """The server of one data directory. `start` and `stop` block: call them with asyncio.to_thread in an event loop."""

    def __init__(self, directory: Path | str, *, search_path: str | None = None) -> None:
        self._directory = ServerDirectory(directory)
        self._search_path = search_path
        self._owner_lock: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._record: ServerRecord | None = None

    @classmethod
    def ensure_running(cls, directory: Path | str) -> "EmbeddedServer":
        """Return the server of a directory, and start it if necessary. If this process owns it, it stops at exit."""
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
    def pid(self) -> int | None:
        return self._record.pid if self._record else None

    def start(self) -> None:
        """Connect to the directory's server, or start one, and wait until it answers. A second call is allowed."""
        self._directory.create()
        if self._owner_lock is None:
            self._owner_lock = self._directory.try_lock("owner.lock")
        try:
            self._connect_or_start()
        except BaseException:
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()  # interrupted while the server loads its data
            self._release()
            raise

    def stop(self) -> None:
        """Stop the server if this process owns it; its data is written to disk first."""
        record = self._directory.read_record() if self._owner_lock else None
        if record and record.pid:
            self._stop_process(record.pid)
            if self._process is not None:
                self._process.wait()  # it has ended, because its lock is free
            record.pid = None
            self._directory.write_record(record)
            with contextlib.suppress(OSError):  # the next start creates the directory again
                Path(record.socket).parent.rmdir()
        self._release()

    def is_running(self) -> bool:
        if self._process is not None:
            self._process.poll()  # reaps an ended child process
        return self._directory.has_server()

    def _connect_or_start(self) -> None:
        started = time.monotonic()
        while not self._attach():
            elapsed_s = time.monotonic() - started
            self._owner_lock = self._owner_lock or self._directory.try_lock("owner.lock")
            # The owner restarts the server. If it does not, another process may.
            if (self._owner_lock or elapsed_s > OWNER_GRACE_S) and (lock := self._directory.try_lock("server.lock")):
                with lock:
                    child = self._spawn(lock)
                return self._wait_until_answering(child)
            if elapsed_s > START_TIMEOUT_S:
                self._kill_orphan(self._directory.read_record())
                started = time.monotonic()
            time.sleep(POLL_INTERVAL_S)
        return None

    def _attach(self) -> bool:
        """Use the running server. Returns False if none answers."""
        record = self._directory.read_record()
        if not record or not (pid := _read_server_pid(record.socket)):
            return False
        record.pid = pid
        self._record = record
        return True

    def _kill_orphan(self, record: ServerRecord | None) -> None:
        """Kill a server that does not answer and has no owner. Raises EmbeddedServerError if it has an owner."""
        if not self._owner_lock or not record or not record.pid:
            raise EmbeddedServerError(f"The server of {self._directory} runs and does not answer.")
        self._stop_process(record.pid, signal.SIGKILL)

    def _spawn(self, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        earlier = self._directory.read_record()
        binary = find_server_binary(earlier.server_version if earlier else None, self._search_path)
        if self._process is not None:
            self._process.wait()  # the earlier server has ended, because its lock was free
        record = ServerRecord(choose_socket_path(earlier), binary.version.kind, binary.version.number)
        with self._directory.open_log() as log:
            self._process = subprocess.Popen(  # noqa: S603  (our own arguments, no shell)
                self._command(binary, record.socket),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._directory.path,
                pass_fds=[lock.fileno()],
                umask=0o077,  # its files contain password hashes and private posts
                start_new_session=True,  # so that Ctrl-C stops only this process, which then stops the server
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
            "save": "",  # no snapshots, because the append-only file has all data
            "maxmemory-policy": "noeviction",
        }
        return [str(binary.path), *(part for name, value in options.items() for part in (f"--{name}", value))]

    def _wait_until_answering(self, child: subprocess.Popen[bytes]) -> None:
        while not self._attach():
            if child.poll() is not None:
                tail = self._directory.read_log_tail()
                raise EmbeddedServerError(f"The server of {self._directory} did not start: {tail}")
            time.sleep(POLL_INTERVAL_S)

    def _stop_process(self, pid: int, signal_number: signal.Signals = signal.SIGTERM) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_number)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while self.is_running():
            if time.monotonic() > deadline:
                if signal_number == signal.SIGKILL:
                    raise EmbeddedServerError(f"The server of {self._directory} cannot be ended.")
                return self._stop_process(pid, signal.SIGKILL)
            time.sleep(POLL_INTERVAL_S)
        return None

    def _release(self) -> None:
        if self._owner_lock:
            self._owner_lock.close()
        self._owner_lock = None
        self._record = None


def _read_server_pid(path: str) -> int | None:
    """Return the process id of the server on a socket that has loaded its data, or None if no server answers.

    The supervisor calls this, so it sends the two commands without redis, whose import takes 20 MB.
    """
    deadline = time.monotonic() + LOADING_TIMEOUT_S
    try:
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as answers:
            connection.settimeout(ANSWER_TIMEOUT_S)
            connection.connect(path)
            while not (answer := _send_command(connection, answers, "PING")).startswith(b"+PONG"):
                if not answer.startswith(b"-LOADING") or time.monotonic() > deadline:
                    return None
                time.sleep(POLL_INTERVAL_S)
            size = int(_send_command(connection, answers, "INFO server")[1:])
            found = re.search(rb"process_id:(\d+)", answers.read(size))
    except (OSError, ValueError):
        return None
    return int(found[1]) if found else None


def _send_command(connection: socket.socket, answers: IO[bytes], command: str) -> bytes:
    """Send a command, and return the first line of its answer."""
    connection.sendall(f"{command}\r\n".encode())
    return answers.readline()
