"""What a machine without power keeps of an append-only file: what was written before the last fsync began.

What was written to the file outlives the process, so a kill cannot show it. Here `strace` notes every
write to the file and every fdatasync of the server; `last_sync_before` tells how many bytes the disk had at a moment,
and `copy_durable_files` makes the directory that a server would find after it.
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
    """From `done` on the disk has `size` bytes: those written when the fsync `began`. Unix times."""

    began: float
    done: float
    size: int


class FsyncTracer:
    """`strace` at a running server, until it is told to stop."""

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
        said = self._process.stderr.readline()
        assert "attached" in said, said

    def stop(self) -> list[FsyncRecord]:
        self._process.terminate()
        self._process.wait(10)
        return parse_fsyncs(self._notes.read_text().splitlines(), self._at_first)


def parse_fsyncs(lines: list[str], size: int) -> list[FsyncRecord]:
    """Every fsync that was done, in order; `size`: of the file before the first line."""
    found: list[FsyncRecord] = []
    begun: dict[str, tuple[float, int]] = {}
    for line in lines:
        if not (call := SYSCALL_PATTERN.match(line)):
            continue
        name, thread, at = call["name"] or call["back"], call["thread"], float(call["at"])
        if name == "fdatasync" and call["name"]:
            begun[thread] = at, size
        if call["result"] is None:
            continue
        if name == "write":
            size += max(0, int(call["result"]))
        elif int(call["result"]) == 0:
            began, reached = begun.pop(thread)
            found.append(FsyncRecord(began, at, reached))
    return found


def last_sync_before(syncs: list[FsyncRecord], moment: float) -> FsyncRecord | None:
    """The last fsync that was done by then; None where there was none."""
    place = bisect_right([sync.done for sync in syncs], moment)
    return syncs[place - 1] if place else None


def copy_durable_files(running: Path, target: Path, size: int) -> Path:
    """A copy of a server's directory whose append-only file ends where the disk's would."""
    target.mkdir()
    shutil.copytree(running / "appendonlydir", target / "appendonlydir")
    with (target / "appendonlydir" / AOF_FILE).open("r+b") as aof:
        aof.truncate(size)
    return target
