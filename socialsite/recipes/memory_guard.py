"""Refuse new content if less than `reserve_bytes` is left below the server's maxmemory.

The reserve leaves memory for log-in, deletion and the pending jobs. The measurement is at most one second old.
"""

import time

from socialsite.concurrency import run_together
from socialsite.store import Node, Store, StoreFull, StoreUnavailable
from socialsite.store.replies import parse_info

CHECK_INTERVAL_S = 1.0


class MemoryGuard:
    """Checks the free memory of every node of a store."""

    def __init__(self, store: Store, reserve_bytes: int) -> None:
        self._store = store
        self._reserve_bytes = reserve_bytes
        self._checked_at = float("-inf")
        self._full_node: str | None = None

    async def check(self) -> None:
        """Raise StoreFull if a node has less than the reserve left.

        Unreachable nodes are ignored, because writes to them fail anyway.
        """
        if time.monotonic() - self._checked_at > CHECK_INTERVAL_S:
            addresses = await run_together(*(self._address_if_full(node) for node in self._store.nodes))
            self._full_node = next((address for address in addresses if address is not None), None)
            self._checked_at = time.monotonic()
        if self._full_node is not None:
            raise StoreFull(f"{self._full_node} has less than {self._reserve_bytes} bytes left")

    async def _address_if_full(self, node: Node) -> str | None:
        try:
            memory = parse_memory_info(await node.execute("INFO", "memory"))
        except StoreUnavailable:
            return None
        return str(node.address) if is_below_reserve(memory, self._reserve_bytes) else None


def is_below_reserve(memory: dict[str, int], reserve_bytes: int) -> bool:
    """Return whether less than the reserve is left. Return False if the server has no maxmemory."""
    maxmemory = memory.get("maxmemory", 0)
    return maxmemory > 0 and memory.get("used_memory", 0) + reserve_bytes > maxmemory


def parse_memory_info(reply: bytes) -> dict[str, int]:
    """Return the fields of INFO memory that are whole numbers."""
    return {name: int(value) for name, value in parse_info(reply).items() if value.isdigit()}
