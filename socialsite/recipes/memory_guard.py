"""Refuse new content before the server has to: writes stop `reserve` bytes below maxmemory.

So that log-in, deletion and the work already owed still find room. The figure is at most a second old.
"""

import asyncio
import time

from socialsite.store import Node, Store, StoreFull, StoreUnavailable
from socialsite.store.info import facts_of

FRESH_FOR_S = 1.0


class MemoryGuard:
    """Watches the memory of every node of a store."""

    def __init__(self, store: Store, reserve_bytes: int) -> None:
        self._store = store
        self._reserve = reserve_bytes
        self._looked_at = float("-inf")
        self._full: str | None = None

    async def check(self) -> None:
        """Raises StoreFull where a node has less than the reserve left.

        A node that is away is not full; whether it is needed, the writes will find out.
        """
        if time.monotonic() - self._looked_at > FRESH_FOR_S:
            answers = await asyncio.gather(*(self._is_short(node) for node in self._store.nodes))
            self._full = next((name for name in answers if name is not None), None)
            self._looked_at = time.monotonic()
        if self._full is not None:
            raise StoreFull(f"{self._full} has less than {self._reserve} bytes left")

    async def _is_short(self, node: Node) -> str | None:
        try:
            facts = memory_facts(await node.execute("INFO", "memory"))
        except StoreUnavailable:
            return None
        return str(node.address) if lacks(facts, self._reserve) else None


def lacks(facts: dict[str, int], reserve_bytes: int) -> bool:
    """Whether less than the reserve is left of maxmemory; without one there is always enough."""
    most = facts.get("maxmemory", 0)
    return most > 0 and facts.get("used_memory", 0) + reserve_bytes > most


def memory_facts(reply: bytes) -> dict[str, int]:
    """The whole numbers of INFO memory."""
    return {name: int(value) for name, value in facts_of(reply).items() if value.isdigit()}
