"""The shared file of one process's metrics. Its space on the disk is reserved before it is mapped."""

import logging
import mmap
import os
import sys
from typing import Any

from prometheus_client import mmap_dict

INITIAL_BYTES: int = mmap_dict._INITIAL_MMAP_SIZE
MAX_ENTRY_OVERHEAD_BYTES = 32
"""Maximum bytes of the length, padding and two numbers of an entry."""
MmapedDict: Any = mmap_dict.MmapedDict  # untyped

log = logging.getLogger(__name__)


class MetricFile(MmapedDict):  # type: ignore[misc]
    """Metrics in a memory-mapped file, or in private memory of the process if the disk is full.

    prometheus_client maps a file with holes, and writing to a hole of a full disk ends the process by SIGBUS.
    This class overrides private methods and fields of `MmapedDict`.
    """

    _f: Any
    _m: Any

    def __init__(self, filename: str, *, must_share: bool = False) -> None:
        """Open the file. If `must_share`, a full disk raises OSError, here and when `read_value` adds a new key."""
        self._must_share = must_share
        try:
            reserve(filename)
        except OSError as error:
            if must_share:
                raise
            warn_unshared(filename, error)
            descriptor = os.memfd_create("metrics")
            super().__init__(f"/proc/self/fd/{descriptor}")
            os.close(descriptor)
        else:
            super().__init__(filename)

    def _init_value(self, key: str) -> None:
        if self._used + len(key.encode()) + MAX_ENTRY_OVERHEAD_BYTES > self._capacity:
            try:
                reserve(f"/proc/self/fd/{self._f.fileno()}", 2 * self._capacity)
            except OSError as error:
                if self._must_share:
                    raise
                warn_unshared(self._fname, error)
                memory = os.fdopen(os.memfd_create("metrics"), "w+b")
                memory.write(self._m[:])
                memory.flush()
                self._f.close()
                self._f, self._m = memory, mmap.mmap(memory.fileno(), self._capacity)
        super()._init_value(key)


def reserve(filename: str, size_bytes: int = INITIAL_BYTES) -> None:
    """Reserve disk space for all pages of a file. A full disk raises OSError, and a new file is then deleted."""
    if sys.platform != "linux":
        return
    is_new = not os.path.exists(filename)
    descriptor = os.open(filename, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
    try:
        os.posix_fallocate(descriptor, 0, max(size_bytes, os.fstat(descriptor).st_size))
    except OSError:
        if is_new:
            os.unlink(filename)
        raise
    finally:
        os.close(descriptor)


def warn_unshared(filename: str, error: OSError) -> None:
    log.warning("%s cannot grow, later counts of this process stay in its memory: %s", filename, error)
