"""Group owners of keys by node, for batches of thousands, with a cache of the node of each owner.

Owners are small numbers, so the cache is an array with one byte per owner. A lookup takes less than 0.1 us; building
the key, hashing its tag and reading the topology takes 0.7 to 1.5 us. Owners may also be decimal digits (bytes), as in
sorted sets and keys; they are returned unchanged.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from socialsite.batches import group_by
from socialsite.store.key import Key
from socialsite.store.node import Node

KeyBuilder = Callable[[int], Key]
OwnerId = TypeVar("OwnerId", int, bytes)
NodeGroups = list[tuple[Node, Sequence[OwnerId]]]

MAX_CACHED_OWNER_ID = 1 << 24
"""The highest id in the cache, which uses 16 MB per key builder. Batches with larger ids do not use the cache."""
GROWTH_FACTOR = 1.25
UNKNOWN_NODE = 0
_INT_LIST_DECODER = msgspec.json.Decoder(list[int])
MAX_CACHED_NODES = 255


def group_by_node(
    node_for: Callable[[str], Node], owners: Sequence[OwnerId], key_of: KeyBuilder
) -> NodeGroups[OwnerId]:
    """Group owners without a cache."""
    return list(group_by(owners, lambda owner: node_for(key_of(int(owner)).tag)).items())


class NodeLookupCache:
    """The nodes of the owners on one topology. Call `clear` when the topology changes."""

    def __init__(self, node_for: Callable[[str], Node]) -> None:
        self._node_for = node_for
        self._node_numbers: dict[KeyBuilder, bytearray] = {}
        self._nodes: list[Node] = []  # node number n is at index n - 1

    def clear(self) -> None:
        self._node_numbers.clear()
        self._nodes.clear()

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        """Group owners by the node of `key_of(owner)`. Pass the same function object for the same kind of key."""
        numbers = self._node_numbers.setdefault(key_of, bytearray())
        parts = self._split(owners, numbers)
        if parts is None:
            if not self._fill(parse_owner_ids(owners), numbers, key_of):
                return group_by_node(self._node_for, owners, key_of)
            parts = self._split(owners, numbers) or []
        return [(node, part) for node, part in zip(self._nodes, parts, strict=True) if part]

    def _split(self, owners: Sequence[OwnerId], numbers: bytearray) -> list[list[OwnerId]] | None:
        """Return the owners of each node, or None if an owner is not in the cache."""
        parts: list[list[OwnerId]] = [[] for _ in range(len(self._nodes) + 1)]
        append_to = [part.append for part in parts]
        try:
            for owner, number in zip(owners, map(numbers.__getitem__, parse_owner_ids(owners)), strict=True):
                append_to[number](owner)
        except IndexError:
            return None
        return None if parts[UNKNOWN_NODE] else parts[1:]

    def _fill(self, owners: Sequence[int], numbers: bytearray, key_of: KeyBuilder) -> bool:
        """Look up the nodes of the owners that are not in the cache. Returns False if they cannot be cached."""
        largest = max(owners, default=0)
        if largest >= MAX_CACHED_OWNER_ID or min(owners, default=0) < 0:
            return False
        if largest >= len(numbers):
            numbers.extend(bytes(int(largest * GROWTH_FACTOR) + 1 - len(numbers)))
        for owner in owners:
            if numbers[owner] == UNKNOWN_NODE:
                node = self._node_for(key_of(owner).tag)
                if node not in self._nodes:
                    if len(self._nodes) == MAX_CACHED_NODES:
                        return False
                    self._nodes.append(node)
                numbers[owner] = self._nodes.index(node) + 1
        return True


def parse_owner_ids(owners: Sequence[int] | Sequence[bytes]) -> list[int]:
    """Return the owners as numbers.

    Digits are parsed by one call of a JSON decoder, which takes half the time of `int`.
    """
    if not owners or not isinstance(owners[0], bytes):
        return list(map(int, owners))
    return _INT_LIST_DECODER.decode(b"[%b]" % b",".join(owners))  # type: ignore[arg-type]
