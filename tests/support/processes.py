"""Read kernel data about a process, and load the machine."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Self


def threads_of(pid: int) -> int:
    return status_of(pid, "Threads")


def resident_kb(pid: int) -> int:
    return status_of(pid, "VmRSS")


def proportional_kb(pids: Iterable[int]) -> int:
    """Return the memory of processes (PSS): a page that several of them share is counted once."""
    rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids)
    return sum(int(line.split()[1]) for text in rollups for line in text.splitlines() if line.startswith("Pss:"))


def private_kb(pid: int) -> int:
    """Return the memory that only this process has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def status_of(pid: int, field: str) -> int:
    """Return a number from /proc/PID/status."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise AssertionError(f"{pid} has no {field}")


def is_receive_queue_empty(server_port: int, client_port: int) -> bool:
    """Return whether the server has read every byte that its kernel received on this loopback connection."""
    ends = [f"0100007F:{port:04X}" for port in (server_port, client_port)]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == ends:
            return int(fields[4].split(":")[1], 16) == 0
    return False


class Peak:
    """Within `with`: the largest number that `measure` returns, called ten times a second."""

    def __init__(self, measure: Callable[[], int]) -> None:
        self._measure = measure
        self.most = 0
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.most = max(self.most, self._measure())


class PeakThreadCounter(Peak):
    """The largest number of threads of a process. `at_first` is their number at the beginning."""

    def __init__(self, pid: int) -> None:
        super().__init__(partial(threads_of, pid))
        self.most = self.at_first = threads_of(pid)


@contextlib.contextmanager
def load_processors(loops: int) -> Iterator[None]:
    """Run so many processes that compute without pause until the block ends."""
    words = [sys.executable, "-c", "while True: pass"]
    loopers = [subprocess.Popen(words) for _ in range(loops)]
    try:
        yield
    finally:
        for looper in loopers:
            looper.kill()
            looper.wait()
