"""The data directory of an embedded server: its locks, its record, its log and the place of its socket.

Two locks, both let go by the kernel when their holder dies, say who is who:

    server.lock   held by the server process itself (it inherits the descriptor): held = a server lives
    owner.lock    held by the process that will stop it: free while a server lives = an orphan
    server.json   socket, pid, and the kind and version that wrote the data (kept when the server stops)
    server.log    what the server prints
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
"""Bytes; the kernel's own limit is 108 on Linux and 104 on macOS."""
MAX_LOG_BYTES = 1 << 20
LOG_TAIL_LINES = 5


@dataclass(slots=True)
class ServerRecord:
    """server.json."""

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
        """Raises EmbeddedServerError where no directory can be."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise EmbeddedServerError(f"{self.path} cannot be the data directory: {error.strerror}.") from error

    def try_lock(self, name: str) -> IO[bytes] | None:
        """The lock, held until the file is closed, or None where another process holds it."""
        file = (self.path / name).open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    def has_server(self) -> bool:
        """Whether a server holds the directory, answering or not."""
        if not self.path.is_dir():
            return False
        lock = self.try_lock("server.lock")
        if lock:
            lock.close()
        return lock is None

    def read_record(self) -> ServerRecord | None:
        try:
            return ServerRecord(**json.loads((self.path / "server.json").read_text()))
        except FileNotFoundError:
            return None

    def write_record(self, record: ServerRecord) -> None:
        """Whole or not at all: others read it while we write."""
        fresh = self.path / "server.json.new"
        fresh.write_text(json.dumps(asdict(record), indent=2) + "\n")
        fresh.replace(self.path / "server.json")

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
    """In a directory of our own under the temporary one; as last time, so that others find it again."""
    if earlier and _is_private(Path(earlier.socket).parent):
        return earlier.socket
    temporary = tempfile.gettempdir()
    if len(os.fsencode(temporary)) + len("/socialsite-12345678/redis.sock") > MAX_SOCKET_PATH_BYTES:
        temporary = "/tmp"  # noqa: S108  (mkdtemp makes the directory: 0700 and new)
    return str(Path(tempfile.mkdtemp(prefix="socialsite-", dir=temporary)) / "redis.sock")


def _is_private(folder: Path) -> bool:
    """Whether the folder is there or can be made, belongs to us, and lets nobody else in."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    facts = folder.lstat()
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077
