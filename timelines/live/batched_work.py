"""Pending work in memory that one task processes in batches."""

import asyncio
import logging
from abc import ABC, abstractmethod
from itertools import islice
from typing import Any, ClassVar, Generic, TypeVar

from socialsite.store.errors import StoreError

RETRY_S = 1.0

Key = TypeVar("Key")
Value = TypeVar("Value", bound=Any)

log = logging.getLogger(__name__)


class BatchedWork(ABC, Generic[Key, Value]):
    """Pending values by key. `run` processes them in batches, and repeats a batch that fails.

    Thousands of sockets may add work at the same moment. Requests are served between two batches.
    """

    batch_size: ClassVar[int]
    failure_message: ClassVar[str]
    """The text of the log message, with one %s for the error."""

    def __init__(self) -> None:
        self._pending: dict[Key, Value] = {}
        self._has_pending = asyncio.Event()

    def add(self, key: Key, value: Value) -> None:
        """Add work. Two values of one key are combined with the operator `|`."""
        self._pending[key] = self._pending[key] | value if key in self._pending else value
        self._has_pending.set()

    async def run(self) -> None:
        """Process work until cancelled."""
        while True:
            await self._has_pending.wait()
            self._has_pending.clear()
            await self.send_pending()

    async def send_pending(self) -> None:
        """Process batches until no work is pending."""
        while self._pending:
            batch = {key: self._pending.pop(key) for key in list(islice(self._pending, self.batch_size))}
            try:
                await self.process(batch)
            except StoreError as error:
                log.warning(self.failure_message, error)
                for key, value in batch.items():
                    self.add(key, value)
                await asyncio.sleep(RETRY_S)

    @abstractmethod
    async def process(self, batch: dict[Key, Value]) -> None:
        """Process a batch. Raises StoreError if its data cannot be read; the batch is then repeated."""
