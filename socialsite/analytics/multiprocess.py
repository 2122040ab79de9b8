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

LIBRARY_DIR = "PROMETHEUS_MULTIPROC_DIR"
"""What prometheus_client looks for; it is set here, before that is imported."""
COUNTED = ("counter", "histogram")
IDENTITY = f"{re.sub('[^A-Za-z0-9-]', '-', platform.node())}-{os.getpid()}"
"""This process, in the names of its files; containers that share the directory differ by their host names."""

log = logging.getLogger(__name__)
_mark: list[int] = []
"""The descriptor that holds our lock: open until the process ends."""


def directory() -> Path | None:
    """Where the processes of this machine meet; None: this one counts for itself."""
    return Path(os.environ[LIBRARY_DIR]) if os.environ.get(LIBRARY_DIR) else None


def join() -> None:
    """Take part, if METRICS_DIR says where. Before the first metric is made."""
    os.environ.pop(LIBRARY_DIR, None)
    place = os.environ.get("METRICS_DIR")
    if not place or _mark:
        return
    try:
        Path(place).mkdir(mode=0o770, parents=True, exist_ok=True)
        with alone(Path(place)):
            bury_the_dead(Path(place))
            _mark.append(
                os.open(_mark_of(Path(place), IDENTITY), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
            )
            fcntl.flock(_mark[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        log.warning("METRICS_DIR cannot be used, this process tells its own metrics only: %s", error)
        return
    os.environ[LIBRARY_DIR] = place
    from prometheus_client import values

    made: Any = values.MultiProcessValue  # untyped
    values.ValueClass = made(lambda: IDENTITY)


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Nobody else adds up or buries meanwhile: a count must not be seen in two files, or in none."""
    with (place / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def bury_the_dead(place: Path) -> None:
    """Add what dead processes counted to the past, and drop their gauges."""
    for mark in place.glob("*.alive"):
        with mark.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _bury(place, mark.stem)
            mark.unlink()


def _bury(place: Path, identity: str) -> None:
    from prometheus_client import mmap_dict

    mapped: Any = mmap_dict.MmapedDict  # untyped
    for kind in COUNTED:
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


def _mark_of(place: Path, identity: str) -> Path:
    return place / f"{identity}.alive"
