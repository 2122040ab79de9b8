"""A background task that several callers wait for."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Generic, ParamSpec

from socialsite.store.errors import StoreError

Params = ParamSpec("Params")

log = logging.getLogger(__name__)


class SharedTask(Generic[Params]):
    """Runs `work` at most once at a time. A caller that is cancelled does not cancel the work."""

    def __init__(self, work: Callable[Params, Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._task: asyncio.Task[None] | None = None

    def start(self, *args: Params.args, **kwargs: Params.kwargs) -> "asyncio.Task[None]":
        """Start the work unless it is running. A StoreError of the work is dropped if no caller joins it."""
        if self._task is None or self._task.done():
            # The context is empty, because the work does not belong to a request.
            self._task = asyncio.create_task(self._work(*args, **kwargs), context=Context())
            self._task.add_done_callback(_log_unexpected_error)
        return self._task

    async def join(self, *args: Params.args, **kwargs: Params.kwargs) -> None:
        """Start the work unless it is running, and wait for its end. Raises the error of the work."""
        await asyncio.shield(self.start(*args, **kwargs))

    async def cancel(self) -> None:
        """Cancel the work and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _log_unexpected_error(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, StoreError):
        log.error("%s failed", task.get_coro(), exc_info=error)
