"""Settings of Python's garbage collector and of the C library's memory for the processes of the site.

A page creates thousands of small objects, which reference counting frees. With the default threshold (700) the
collector scans young objects several times a page, finds almost no cycles, and takes about a tenth of the time.
Cycles (tracebacks, closed connections) are still collected, a little later.
"""

import ctypes
import gc
from contextlib import suppress

GC_THRESHOLDS = 50_000, 20, 20
M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX = -3, -1, -8
MALLOC_OPTIONS = (M_MMAP_THRESHOLD, 1 << 20), (M_TRIM_THRESHOLD, 4 << 20), (M_ARENA_MAX, 2)
"""Numbers of malloc.h, and values."""


def set_gc_thresholds() -> None:
    """Let the collector run rarely. A process calls this before its imports, which create no garbage."""
    gc.set_threshold(*GC_THRESHOLDS)


def freeze_startup_objects() -> None:
    """Exclude the objects that exist now from collection. Call it once, after all imports.

    They are not collected before: that takes a tenth of the time of a start, and frees little.
    """
    gc.freeze()
    set_gc_thresholds()
    return_large_blocks()


def return_large_blocks() -> None:
    """Let glibc return freed blocks of at least 1 MB to the kernel immediately.

    Otherwise it raises this limit to the largest freed block: after an Argon2 hash (19 MB) a process keeps about 20 MB.
    Smaller blocks stay, so a page costs no further system calls.
    """
    with suppress(AttributeError, OSError):  # other C libraries have no mallopt(3)
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in MALLOC_OPTIONS:
            mallopt(option, value)
