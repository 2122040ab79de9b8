"""Simulate a power cut: an append-only file keeps only the bytes written before the last fsync began.

Bytes written to the file outlive a killed process, so a kill cannot show the loss. Here `strace` records every write to
the file and every fdatasync of the server. `last_sync_before` returns how many bytes were on disk at a time, and
`copy_durable_files` makes the directory that a server would find after a power cut.
"""

import re
import shutil
import subprocess
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

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
