"""Wait for a condition: `wait_until` blocks, `eventually` is awaited, `repeat_while_refused` repeats an act."""

import asyncio
import contextlib
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], object], what: str = "the condition", timeout_s: float = 60.0) -> None:
    """Check `condition` every 50 ms. Raises AssertionError, which names `what`, after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(0.05)


async def eventually(condition: Callable[[], object | Awaitable[object]], timeout_s: float = 20.0) -> None:
    """Check `condition`, a function or a coroutine function, every 10 ms. Raises TimeoutError after `timeout_s`."""
    async with asyncio.timeout(timeout_s):
        while True:
            result = condition()
            if await result if inspect.isawaitable(result) else result:
                return
            await asyncio.sleep(0.01)


async def repeat_while_refused(act: Callable[[], Awaitable[T]], *errors: type[Exception], timeout_s: float = 20.0) -> T:
    """Repeat an idempotent act while it raises one of the errors. Raises TimeoutError after `timeout_s`."""
    async with asyncio.timeout(timeout_s):
        while True:
            with contextlib.suppress(*errors):
                return await act()
            await asyncio.sleep(0.01)
