"""Share Prometheus metrics between all processes of a machine, in the directory METRICS_DIR.

Several daphnes may share one listening socket, and workers have none. So each process writes its counts to small
memory-mapped files, and the process that exports `/metrics` adds them up. A process locks its `.alive` file while it
runs. The counts of an ended process are added to "past" files, so that counters never decrease and files do not
accumulate. Without METRICS_DIR each process exports only its own counts.
"""

import fcntl
import logging
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

PROMETHEUS_DIR_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that prometheus_client reads when it is imported. `setup` sets it before."""
SUMMED_METRIC_TYPES = ("counter", "histogram")

log = logging.getLogger(__name__)
_lock_descriptor: list[int] = []
"""The descriptor that locks this process's `.alive` file. It stays open until the process ends."""


def get_directory() -> Path | None:
    """Return the shared directory, or None if this process exports only its own counts."""
    return Path(os.environ[PROMETHEUS_DIR_VARIABLE]) if os.environ.get(PROMETHEUS_DIR_VARIABLE) else None


def setup() -> None:
    """Share metrics if METRICS_DIR is set. Call it before the first metric is created."""
    os.environ.pop(PROMETHEUS_DIR_VARIABLE, None)
    directory = os.environ.get("METRICS_DIR")
    if not directory or _lock_descriptor:
        return
    try:
        Path(directory).mkdir(mode=0o770, parents=True, exist_ok=True)
        with lock_directory(Path(directory)):
            merge_dead_processes(Path(directory))
            _lock_alive_file(Path(directory))
    except OSError as error:
        log.warning("METRICS_DIR cannot be used, so this process exports only its own metrics: %s", error)
        return
    os.environ[PROMETHEUS_DIR_VARIABLE] = directory
    from prometheus_client import values

    from socialsite.analytics.metrics_file import MetricFile

    module: Any = values  # untyped
    module.MmapedDict = MetricFile
    multi_process_value = module.MultiProcessValue
    values.ValueClass = multi_process_value(process_identity)


def setup_after_fork() -> None:
    """Let a forked process count in files of its own. prometheus_client opens them when the identity has changed."""
    process_identity.cache_clear()
    if directory := get_directory():
        os.close(_lock_descriptor.pop())  # the process that forked keeps its lock
        try:
            _lock_alive_file(directory)
        except OSError as error:
            log.warning("The metrics of this process are not added up when it ends: %s", error)


@cache
def process_identity() -> str:
    """Return part of this process's file names. The host name distinguishes containers that share the directory."""
    return f"{re.sub('[^A-Za-z0-9-]', '-', platform.node())}-{os.getpid()}"


def _lock_alive_file(directory: Path) -> None:
    file = directory / f"{process_identity()}.alive"
    _lock_descriptor.append(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660))
    fcntl.flock(_lock_descriptor[0], fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Lock the directory, so that no other process moves counts between files while they are added up."""
    with (directory / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def merge_dead_processes(directory: Path) -> None:
    """Add the counts of ended processes to the "past" files, and delete their gauges."""
    for mark in directory.glob("*.alive"):
        with mark.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            try:
                _merge_process(directory, mark.stem)
            except OSError as error:  # the disk is full; the next call tries again
                log.warning("The metrics of ended processes stay in their own files: %s", error)
                return
            mark.unlink()


def _merge_process(directory: Path, identity: str) -> None:
    from socialsite.analytics.metrics_file import MetricFile

    for kind in SUMMED_METRIC_TYPES:
        file = directory / f"{kind}_{identity}.db"
        if not file.exists():
            continue
        past = MetricFile(str(directory / f"{kind}_past.db"), must_share=True)
        values = {key: value for key, value, _, _ in MetricFile.read_all_values_from_file(str(file)) if value}
        sums = {key: past.read_value(key)[0] + value for key, value in values.items()}  # a full disk raises OSError
        for key, value in sums.items():
            past.write_value(key, value, 0.0)
        past.close()
        file.unlink()
    for file in directory.glob(f"gauge_*_{identity}.db"):
        file.unlink()
