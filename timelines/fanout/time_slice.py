"""A time slice of a fan-out job. It delivers passes one after another, and reads the next pass meanwhile.

Without this overlap, worker and server would wait for each other. A slice ends after a fixed time. The rest of the job
is then stored as a new job, so that other jobs run in between.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from timelines.graph.follow import PassCursor, PassPage

SLICE_MS = 20
"""The time in which a job reads passes. Passes that were read before the end are still delivered."""
MAX_CONCURRENT_PASSES = 3
"""The number of passes that are delivered at the same time, so that their pushes, trims and live messages overlap."""

T = TypeVar("T")
Id = TypeVar("Id", bound=int)
Read = Callable[[PassCursor], Coroutine[Any, Any, PassPage[Id]]]
Deliver = Callable[[PassPage[Id]], Coroutine[Any, Any, None]]


def slice_end(slice_s: float) -> float:
    """Return the end of a slice that begins now, as a time of the event loop's clock."""
    return asyncio.get_running_loop().time() + slice_s


def slice_is_over(until: float) -> bool:
    return asyncio.get_running_loop().time() >= until


async def run_slice(page: PassPage[Id], read: Read[Id], deliver: Deliver[Id], *, until: float) -> PassPage[Id]:
    """Deliver `page` and the following pages until the event loop's clock reaches `until`. Return the last page.

    Errors of reading and delivering are raised after all tasks have ended.
    """
    delivering: deque[asyncio.Task[None]] = deque()
    reading: asyncio.Task[PassPage[Id]] | None = None
    try:
        while True:
            if page.next is not None and not slice_is_over(until):
                # Start the next read first, so that it is not queued behind the large write.
                reading = asyncio.create_task(read(page.next))
            if len(delivering) == MAX_CONCURRENT_PASSES:
                await delivering.popleft()
            delivering.append(asyncio.create_task(deliver(page)))
            if reading is None:
                break
            page, reading = await reading, None
        for task in delivering:
            await task
    except asyncio.CancelledError:
        for task in delivering:
            task.cancel()
        raise
    finally:
        await asyncio.gather(*delivering, *([reading] if reading else []), return_exceptions=True)
    return page
