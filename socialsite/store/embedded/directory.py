"""The data directory of an embedded server: locks, record, log and the path of the socket.

The kernel releases both locks when the locking process ends:

    server.lock   locked by the server process, which inherits the descriptor: a server is running
    owner.lock    locked by the process that stops the server. If it is free while a server runs, the server is orphaned
    server.json   socket, pid, and the kind and version of the server that wrote the data (also after it has stopped)
    server.log    output of the server
"""

import fcntl
import json
import os
import stat
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from socialsite.store.embedded.binaries import EmbeddedServerError, ServerVersion, parse_version

MAX_SOCKET_PATH_BYTES = 100
"""The limit of the kernel is 108 on Linux and 104 on macOS."""
MAX_LOG_BYTES = 1 << 20
LOG_TAIL_LINES = 5


@dataclass(slots=True)
class ServerRecord:
    """The content of server.json."""

    socket: str
    kind: str
    version: str
    pid: int | None = None

    @property
    def server_version(self) -> ServerVersion:
        return ServerVersion(self.kind, parse_version(self.version))


class ServerDirectory:
    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).expanduser().resolve()

    def __str__(self) -> str:
        return str(self.path)

    def create(self) -> None:
        """Create the directory, readable by its owner only. Raises EmbeddedServerError."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._close_to_others()
        except OSError as error:
            raise EmbeddedServerError(f"{self.path} cannot be the data directory: {error.strerror}.") from error

    def _close_to_others(self) -> None:
        """Remove the rights of other users. Raises EmbeddedServerError if the directory is not a data directory."""
        if not self.path.stat().st_mode & 0o077:
            return
        names = {file.name for file in self.path.iterdir()}
        if names and names.isdisjoint({"owner.lock", "secret_key"}):
            raise EmbeddedServerError(
                f"{self.path} is open to other users and has other files: choose an empty directory, or chmod 700 it."
            )
        self.path.chmod(0o700)

    def try_lock(self, name: str) -> IO[bytes] | None:
        """Lock a file until it is closed. Returns None if another process has locked it."""
        file = (self.path / name).open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    def has_server(self) -> bool:
        """Return whether a server process is running, even if it does not answer."""
        if not self.path.is_dir():
            return False
        lock = self.try_lock("server.lock")
        if lock:
            lock.close()
        return lock is None

    def read_record(self) -> ServerRecord | None:
        """Return the record, or None if it is absent or incomplete after a crash. Each start writes it again."""
        try:
            return ServerRecord(**json.loads((self.path / "server.json").read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write_record(self, record: ServerRecord) -> None:
        """Replace the record atomically, because other processes read it."""
        new_file = self.path / "server.json.new"
        new_file.write_text(json.dumps(asdict(record), indent=2) + "\n")
        new_file.replace(self.path / "server.json")

    def open_log(self) -> IO[bytes]:
        log = self.path / "server.log"
        if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
            log.replace(self.path / "server.log.1")
        return log.open("ab")

    def read_log_tail(self) -> str:
        with (self.path / "server.log").open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return " | ".join(lines[-LOG_TAIL_LINES:])


def choose_socket_path(earlier: ServerRecord | None) -> str:
    """Return the earlier path if its directory is private; else a path in a new temporary directory."""
    if earlier and _is_private(Path(earlier.socket).parent):
        return earlier.socket
    temporary = tempfile.gettempdir()
    if len(os.fsencode(temporary)) + len("/socialsite-12345678/redis.sock") > MAX_SOCKET_PATH_BYTES:
        temporary = "/tmp"  # noqa: S108  (mkdtemp creates a new directory with mode 0700)
    return str(Path(tempfile.mkdtemp(prefix="socialsite-", dir=temporary)) / "redis.sock")


def _is_private(folder: Path) -> bool:
    """Return whether the folder belongs to this user and is closed to other users. It is created if it is missing."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
