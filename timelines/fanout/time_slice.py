"""A worker's turn at a post: pass after pass, the next one read while the last ones are being delivered.

One after another, the worker would wait for the server and the server for the worker. A turn ends by the
clock, so that what follows from it is stored before long, and others come in between.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from timelines.graph.follow import PassCursor, PassPage

SLICE_MS = 20
"""So long a job reads on; what it has read by then it still delivers."""
MAX_CONCURRENT_PASSES = 3
"""Passes under way: the server works on one while others are written, trimmed after and told of."""

T = TypeVar("T")
Id = TypeVar("Id", bound=int)
Read = Callable[[PassCursor], Coroutine[Any, Any, PassPage[Id]]]
Deliver = Callable[[PassPage[Id]], Coroutine[Any, Any, None]]


def slice_end(turn_s: float) -> float:
    """When a turn is over that begins now, by the loop's clock."""
    return asyncio.get_running_loop().time() + turn_s


def slice_is_over(until: float) -> bool:
    return asyncio.get_running_loop().time() >= until


async def run_slice(page: PassPage[Id], read: Read[Id], deliver: Deliver[Id], *, until: float) -> PassPage[Id]:
    """Deliver `page` and those behind it until the loop's clock shows `until`; the last one delivered.

    Raises what reading or delivering raised, once nothing is under way any more.
    """
    delivering: deque[asyncio.Task[None]] = deque()
    reading: asyncio.Task[PassPage[Id]] | None = None
    try:
        while True:
            if page.next is not None and not slice_is_over(until):
                # Before the page is delivered: its bytes would stand in the way of a short question.
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


async def run_concurrently(work: Coroutine[Any, Any, T], *others: Coroutine[Any, Any, None]) -> T:
    """What `work` answers, once the others are done as well.

    Raises what one of them raised, once nothing is under way any more: who tries again is alone.
    """
    answers = await asyncio.gather(work, *others, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return cast(T, answers[0])
