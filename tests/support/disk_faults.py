"""Disks that are slow, small, or lose power."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from socialsite.store import Key, Store
from tests.support.redis_server import RedisServer


@contextlib.contextmanager
def slow_disk(server: RedisServer, fsync_s: float) -> Iterator[None]:
    """Delay the start of every fdatasync of the server; the server is killed at the end of the block."""
    delay = f"inject=fdatasync:delay_enter={int(fsync_s * 1e6)}"
    tracer = subprocess.Popen(
        ["strace", "-f", "-e", "trace=fdatasync", "-e", delay, "-e", "signal=none", "-p", str(server.pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert tracer.stderr is not None
        first_line = tracer.stderr.readline()
        assert "attached" in first_line, first_line
        yield
    finally:
        server.kill(signal.SIGKILL)  # before the tracer detaches: no fsync may finish in between
        tracer.terminate()
        tracer.communicate(timeout=10)


def unwritten_aof_bytes(server: RedisServer) -> int:
    """Return the number of bytes that are acknowledged but not in the file."""
    with server.client() as client:
        return int(client.info("persistence")["aof_buffer_length"])


def key_of_payload(payload: bytes) -> Key:
    return Key("posts", tag=payload.decode(), name="work")


async def wait_until_fsync_begins(server: RedisServer, store: Store) -> None:
    """Wait until an fsync has just begun: Redis starts one per second if something was written."""
    for is_fsync_running in (False, True):
        while bool(unwritten_aof_bytes(server)) != is_fsync_running:
            await store.execute_all([("SET", key_of_payload(b"before"), "")])
            await asyncio.sleep(0.02)


AS_ROOT = [] if os.getuid() == 0 else ["sudo", "-n"]


class SmallDisk:
    """A file system; the file `ballast` fills it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ballast = directory / "ballast"

    def fill(self, leave_bytes: int) -> None:
        stat = os.statvfs(self.directory)
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, stat.f_bavail * stat.f_frsize - leave_bytes))

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def mounted_disk(megabytes: int) -> Iterator[SmallDisk]:
    with tempfile.TemporaryDirectory(prefix="disk-", dir="/tmp") as directory:
        options = f"size={megabytes}m,uid={os.getuid()}"
        mount = [*AS_ROOT, "mount", "-t", "tmpfs", "-o", options, "tmpfs", directory]
        if not shutil.which(mount[0]) or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a small disk is mounted by root, or with sudo that asks for no password")
        try:
            yield SmallDisk(Path(directory))
        finally:
            subprocess.run([*AS_ROOT, "umount", "-l", directory], check=True)


AOF_FILE = "appendonly.aof.1.incr.aof"

SYSCALL_PATTERN = re.compile(
    r"^(?P<thread>\d+) +(?P<at>[\d.]+) (?:(?P<name>write|fdatasync)\(|<\.\.\. (?P<back>\w+) resumed>)"
    r".*?(?:= (?P<result>-?\d+).*)?$"
)


@dataclass(frozen=True)
class FsyncRecord:
    """An fsync: from `done` on the disk has `size` bytes, written before it `began`. Unix times."""

    began: float
    done: float
    size: int


class FsyncTracer:
    """Runs `strace` on a server until `stop()`."""

    def __init__(self, pid: int, aof: Path, notes: Path) -> None:
        self._notes, self._at_first = notes, aof.stat().st_size
        self._process = subprocess.Popen(
            [
                "strace", "-f", "-ttt", "-s", "0", "-e", "trace=write,fdatasync", "-e", "signal=none",
                "-P", str(aof), "-o", str(notes), "-p", str(pid),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        first_line = self._process.stderr.readline()
        assert "attached" in first_line, first_line

    def stop(self) -> list[FsyncRecord]:
        self._process.terminate()
        self._process.wait(10)
        return parse_fsyncs(self._notes.read_text().splitlines(), self._at_first)


def parse_fsyncs(lines: list[str], size: int) -> list[FsyncRecord]:
    """Return every finished fsync in order. `size` is the file's size before the first line."""
    records: list[FsyncRecord] = []
    running_fsyncs: dict[str, tuple[float, int]] = {}
    for line in lines:
        if not (call := SYSCALL_PATTERN.match(line)):
            continue
        name, thread, at = call["name"] or call["back"], call["thread"], float(call["at"])
        if name == "fdatasync" and call["name"]:
            running_fsyncs[thread] = at, size
        if call["result"] is None:
            continue
        if name == "write":
            size += max(0, int(call["result"]))
        elif int(call["result"]) == 0:
            began, reached = running_fsyncs.pop(thread)
            records.append(FsyncRecord(began, at, reached))
    return records


def last_sync_before(syncs: list[FsyncRecord], moment: float) -> FsyncRecord | None:
    """Return the last fsync finished at that time, or None."""
    place = bisect_right([sync.done for sync in syncs], moment)
    return syncs[place - 1] if place else None


def copy_durable_files(running: Path, target: Path, size: int) -> Path:
    """Copy a server's directory with its append-only file truncated to the bytes on disk."""
    target.mkdir()
    shutil.copytree(running / "appendonlydir", target / "appendonlydir")
    with (target / "appendonlydir" / AOF_FILE).open("r+b") as aof:
        aof.truncate(size)
    return target
