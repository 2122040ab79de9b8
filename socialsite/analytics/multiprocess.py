"""One page of metrics for all processes of a machine: a directory where each keeps its counts (METRICS_DIR).

Behind one listening socket nobody knows which daphne answers, and the worker answers nobody at all: so every
process writes its counts into small mapped files, and whoever is asked adds them up. A process holds a lock
on its mark for as long as it lives; what a dead one counted goes into one file of the past, so that counters
never fall and the files do not pile up. Without METRICS_DIR each process tells its own.
"""

import fcntl
import logging
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROMETHEUS_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""What prometheus_client looks for; it is set here, before that is imported."""
SUMMED_METRIC_TYPES = ("counter", "histogram")
PROCESS_IDENTITY = f"{re.sub('[^A-Za-z0-9-]', '-', platform.node())}-{os.getpid()}"
"""This process, in the names of its files; containers that share the directory differ by their host names."""

log = logging.getLogger(__name__)
_lock_descriptor: list[int] = []
"""The descriptor that holds our lock: open until the process ends."""


def get_directory() -> Path | None:
    """Where the processes of this machine meet; None: this one counts for itself."""
    return Path(os.environ[PROMETHEUS_DIR_VARIABLE]) if os.environ.get(PROMETHEUS_DIR_VARIABLE) else None


def setup() -> None:
    """Take part, if METRICS_DIR says where. Before the first metric is made."""
    os.environ.pop(PROMETHEUS_DIR_VARIABLE, None)
    place = os.environ.get("METRICS_DIR")
    if not place or _lock_descriptor:
        return
    try:
        Path(place).mkdir(mode=0o770, parents=True, exist_ok=True)
        with lock_directory(Path(place)):
            merge_dead_processes(Path(place))
            _lock_descriptor.append(
                os.open(_alive_file(Path(place), PROCESS_IDENTITY), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
            )
            fcntl.flock(_lock_descriptor[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        log.warning("METRICS_DIR cannot be used, this process tells its own metrics only: %s", error)
        return
    os.environ[PROMETHEUS_DIR_VARIABLE] = place
    from prometheus_client import values

    made: Any = values.MultiProcessValue  # untyped
    values.ValueClass = made(lambda: PROCESS_IDENTITY)


@contextmanager
def lock_directory(place: Path) -> Iterator[None]:
    """Nobody else adds up or buries meanwhile: a count must not be seen in two files, or in none."""
    with (place / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def merge_dead_processes(place: Path) -> None:
    """Add what dead processes counted to the past, and drop their gauges."""
    for mark in place.glob("*.alive"):
        with mark.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _merge_process(place, mark.stem)
            mark.unlink()


def _merge_process(place: Path, identity: str) -> None:
    from prometheus_client import mmap_dict

    mapped: Any = mmap_dict.MmapedDict  # untyped
    for kind in SUMMED_METRIC_TYPES:
        file = place / f"{kind}_{identity}.db"
        if not file.exists():
            continue
        past = mapped(str(place / f"{kind}_past.db"))
        for key, value, _, _ in mapped.read_all_values_from_file(str(file)):
            if value:
                past.write_value(key, past.read_value(key)[0] + value, 0.0)
        past.close()
        file.unlink()
    for file in place.glob(f"gauge_*_{identity}.db"):
        file.unlink()


def _alive_file(place: Path, identity: str) -> Path:
    return place / f"{identity}.alive"
