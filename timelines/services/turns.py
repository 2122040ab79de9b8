"""A worker's turn at a post: pass after pass, the next one read while the last ones are being delivered.

One after another, the worker would wait for the server and the server for the worker. A turn ends by the
clock, so that what follows from it is stored before long, and others come in between.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from timelines.domain.follow import PassCursor, PassPage

TURN_MS = 20
"""So long a job reads on; what it has read by then it still delivers."""
AT_ONCE = 2
"""Passes under way: the server works on one while the replies of the other are looked at."""

Id = TypeVar("Id", bound=int)
Read = Callable[[PassCursor], Awaitable[PassPage[Id]]]
Deliver = Callable[[PassPage[Id]], Coroutine[Any, Any, None]]


async def take_turn(
    page: PassPage[Id], read: Read[Id], deliver: Deliver[Id], *, until: float
) -> PassPage[Id]:
    """Deliver `page` and those behind it until the loop's clock shows `until`; the last one delivered.

    Raises what reading or delivering raised, once nothing is under way any more.
    """
    loop = asyncio.get_running_loop()
    under_way: deque[asyncio.Task[None]] = deque()
    try:
        under_way.append(asyncio.create_task(deliver(page)))
        while page.next is not None and loop.time() < until:
            page = await read(page.next)
            if len(under_way) == AT_ONCE:
                await under_way.popleft()
            under_way.append(asyncio.create_task(deliver(page)))
        for task in under_way:
            await task
    except asyncio.CancelledError:
        for task in under_way:
            task.cancel()
        raise
    finally:
        await asyncio.gather(*under_way, return_exceptions=True)
    return page
