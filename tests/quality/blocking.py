"""Find calls that block the thread of a running event loop: sockets, files, sleeps, children, SQLite, locks.

For tests only: `install()` wraps functions once per process and adds an audit hook for the rest. A call counts if the
innermost frame of this project belongs to the product; calls of a test between two steps of the product do not count.
tests/quality/allowed.py lists the permitted calls.
"""

import asyncio
import functools
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.quality.allowed import is_allowed

ROOT = f"{Path(__file__).resolve().parents[2]}/"
PRODUCT = tuple(f"{ROOT}{name}" for name in ("socialsite/", "accounts/", "timelines/", "manage.py"))
OTHERS = tuple(f"{ROOT}{name}/" for name in ("tests", "benchmarks"))
WATCHERS = (__file__, str(Path(__file__).with_name("slow_steps.py")))
"""Files that are in every stack and are ignored."""
IN_MEMORY = ("/proc/", "/dev/null", "/dev/urandom")
"""Files without a disk: the kernel answers immediately."""
AUDITED = (
    "fcntl.flock", "fcntl.lockf", "glob.glob", "open", "os.listdir", "os.mkdir", "os.remove", "os.rename",
    "os.rmdir", "os.scandir", "os.system", "shutil.copyfile", "shutil.rmtree", "socket.getaddrinfo",
    "socket.gethostbyname", "sqlite3.connect", "subprocess.Popen", "tempfile.mkdtemp", "tempfile.mkstemp",
)  # fmt: skip
SOCKET_CALLS = (
    "accept", "connect", "connect_ex", "recv", "recv_into", "recvfrom", "send", "sendall", "sendto",
)  # fmt: skip
SQLITE_CALLS = ("execute", "executemany", "executescript", "commit", "rollback", "backup")


@dataclass(frozen=True)
class Offence:
    """A blocking call and its stack."""

    what: str
    stack: str

    def __str__(self) -> str:
        return f"{self.what}\n{self.stack}"


OFFENCES: list[Offence] = []
_watching = False


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_products(frame: FrameType | None) -> bool:
    """Return whether the innermost frame of the project is the product's; a library's own callback also counts."""
    for each in frames_from(frame):
        name = each.f_code.co_filename
        if name in WATCHERS:
            continue
        if name.startswith(OTHERS):
            return False
        if name.startswith(PRODUCT):
            return True
    return True


def note(what: str, frame: FrameType | None) -> None:
    """Record an offence of the product that is not allowed."""
    if not is_products(frame) or is_allowed(what, _places(frame)):
        return
    watch(False)  # formatting the stack reads source files
    OFFENCES.append(Offence(what, told(frame)))
    watch(True)


def told(frame: FrameType | None) -> str:
    """Format the innermost frames and the project's own frames as a traceback."""
    stack = traceback.extract_stack(frame)
    project_frames = [each for each in stack[:-4] if each.filename.startswith((*PRODUCT, *OTHERS))]
    return "".join(traceback.format_list([*project_frames, *stack[-4:]]))


def _places(frame: FrameType | None) -> list[CodeType]:
    return [each.f_code for each in frames_from(frame)]


def _on_loop() -> bool:
    return _watching and asyncio._get_running_loop() is not None


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event in AUDITED and _on_loop() and not _is_memory(*args[:1]):
        note(f"{event}{args[:1]}", sys._getframe(1))


def _is_memory(path: object = "", /) -> bool:
    """Return whether the path is an open descriptor or a file without a disk."""
    return isinstance(path, int) or str(path).startswith(IN_MEMORY)


def _always(*_args: object, **_kwargs: object) -> bool:
    return True


def _waits(_condition: object, timeout: float | None = None) -> bool:
    return timeout is None or timeout > 0


def _waits_for(thread: threading.Thread, timeout: float | None = None) -> bool:
    return thread.is_alive() and _waits(thread, timeout)


def _wrap(owner: Any, name: str, blocks: Callable[..., bool] = _always) -> None:
    """Make `owner.name` record its calls on a loop's thread; `blocks` decides by the arguments."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if _on_loop() and blocks(*args, **kwargs):
            note(f"{owner.__name__}.{name}", sys._getframe(1))
        return original(*args, **kwargs)

    setattr(owner, name, watched)


class WatchedSqlite(sqlite3.Connection):
    """The class that `sqlite3.connect` creates. It is needed because the original's methods cannot be replaced."""


def _may_block(sock: socket.socket, *_: object, **_kwargs: object) -> bool:
    return sock.gettimeout() != 0


@functools.cache
def install() -> None:
    """Install the wrappers and the hook once. An audit hook cannot be removed; `watch(False)` disables it."""
    sys.addaudithook(_audit)
    _wrap(time, "sleep")
    for name in SOCKET_CALLS:
        _wrap(socket.socket, name, _may_block)
    for name in ("wait", "communicate"):
        _wrap(subprocess.Popen, name)
    for name in ("fsync", "fdatasync"):
        _wrap(os, name)
    _wrap(threading.Condition, "wait", _waits)
    _wrap(threading.Thread, "join", _waits_for)
    for name in SQLITE_CALLS:
        _wrap(WatchedSqlite, name)
    sqlite3.connect = functools.partial(sqlite3.connect, factory=WatchedSqlite)  # type: ignore[assignment]


def watch(on: bool) -> None:
    """Enable or disable the detection."""
    global _watching
    _watching = on
