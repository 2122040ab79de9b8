"""Refuse new content before the server has to: writes stop `reserve` bytes below maxmemory.

So that log-in, deletion and the work already owed still find room. The figure is at most a second old.
"""

import asyncio
import time

from socialsite.store import Node, Store, StoreFull, StoreUnavailable
from socialsite.store.replies import parse_info

CHECK_INTERVAL_S = 1.0


class MemoryGuard:
    """Watches the memory of every node of a store."""

    def __init__(self, store: Store, reserve_bytes: int) -> None:
        self._store = store
        self._reserve_bytes = reserve_bytes
        self._checked_at = float("-inf")
        self._full_node: str | None = None

    async def check(self) -> None:
        """Raises StoreFull where a node has less than the reserve left.

        A node that is away is not full; whether it is needed, the writes will find out.
        """
        if time.monotonic() - self._checked_at > CHECK_INTERVAL_S:
            answers = await asyncio.gather(*(self._address_if_full(node) for node in self._store.nodes))
            self._full_node = next((name for name in answers if name is not None), None)
            self._checked_at = time.monotonic()
        if self._full_node is not None:
            raise StoreFull(f"{self._full_node} has less than {self._reserve_bytes} bytes left")

    async def _address_if_full(self, node: Node) -> str | None:
        try:
            facts = parse_memory_info(await node.execute("INFO", "memory"))
        except StoreUnavailable:
            return None
        return str(node.address) if is_below_reserve(facts, self._reserve_bytes) else None


def is_below_reserve(facts: dict[str, int], reserve_bytes: int) -> bool:
    """Whether less than the reserve is left of maxmemory; without one there is always enough."""
    most = facts.get("maxmemory", 0)
    return most > 0 and facts.get("used_memory", 0) + reserve_bytes > most


def parse_memory_info(reply: bytes) -> dict[str, int]:
    """The whole numbers of INFO memory."""
    return {name: int(value) for name, value in parse_info(reply).items() if value.isdigit()}
