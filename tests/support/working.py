"""Run workers on a job queue until it is empty, and record the performed jobs."""

import asyncio
from collections.abc import Sequence

from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.worker import JobHandler, Worker


class RecordingHandler:
    """A handler that records the performed payloads."""

    def __init__(self) -> None:
        self.performed: list[bytes] = []
        self._more = asyncio.Event()

    async def __call__(self, payload: bytes) -> Sequence[bytes]:
        self.performed.append(payload)
        self._more.set()
        return ()

    async def wait_for(self, payload: bytes, within_s: float = 10) -> None:
        async with asyncio.timeout(within_s):
            while payload not in self.performed:
                self._more.clear()
                await self._more.wait()


async def run_until_empty(queue: JobQueue, handle: JobHandler) -> bool:
    return await asyncio.wait_for(Worker(queue, handle).run_until_empty(), 10)
