"""Settings of Python's garbage collector for the processes of the site.

A page creates thousands of small objects, which reference counting frees. With the default threshold (700) the
collector scans young objects several times a page, finds almost no cycles, and takes about a tenth of the time.
Cycles (tracebacks, closed connections) are still collected, a little later.
"""

import gc

GC_THRESHOLDS = 50_000, 20, 20


def set_gc_thresholds() -> None:
    """Let the collector run rarely. A process calls this before its imports, which create no garbage."""
    gc.set_threshold(*GC_THRESHOLDS)


def freeze_startup_objects() -> None:
    """Exclude the objects that exist now from collection. Call it once, after all imports.

    They are not collected before: that takes a tenth of the time of a start, and frees little.
    """
    gc.freeze()
    set_gc_thresholds()
