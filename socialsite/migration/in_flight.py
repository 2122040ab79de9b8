"""Commands under way, by the state of the map they were sent under.

A process says that it follows a state of the map once nothing sent under an older one is under way.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Collection, Iterator

from socialsite.store.errors import StoreUnavailable
from socialsite.store.node import Node


class InFlight:
    """What was sent under one state of the map, counted by slice."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._completed = asyncio.Event()
        self.nodes_to_drain: set[Node] = set()
        """Nodes whose answer nobody waits for any more: it still comes, in its turn."""
        self.has_lost_replies = False
        """An answer was lost with its connection: the command may still be carried out."""

    @contextlib.contextmanager
    def track(self, slices: Collection[int], node: Node) -> Iterator[None]:
        self._counts.update(slices)
        try:
            yield
        except asyncio.CancelledError:
            self.nodes_to_drain.add(node)
            raise
        except StoreUnavailable as error:
            self.has_lost_replies |= type(error) is StoreUnavailable  # the others are what a server answered
            raise
        finally:
            self._counts.subtract(slices)
            self._completed.set()

    async def wait_until_idle(self, slices: Collection[int] | None = None) -> None:
        """Returns when nothing on these slices (on any) is under way."""
        while self.is_busy(slices):
            self._completed.clear()
            await self._completed.wait()

    def is_busy(self, slices: Collection[int] | None = None) -> bool:
        counts = self._counts
        return any(counts[number] > 0 for number in (counts if slices is None else slices))
