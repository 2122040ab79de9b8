"""Partitioners: functions from a tag to a partition number from 0 to count - 1.

A partitioner raises UnassignedTag for a tag that it does not place; it has no default partition. Equal arguments give
equal results in every process and in every release. So a partitioner never uses Python's `hash` or a server's address
(docs/reference/decisions/partitioning.md).
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from hashlib import md5
from typing import Protocol, Self
from zlib import crc32

from socialsite.store.slots import (
    SLOT_COUNT,
    InvalidSlotMap,
    UnassignedTag,
    decode_bitmaps,
    encode_bitmaps,
    slot_of_tag,
    validated_tag,
)

POINTS_PER_NODE = 512
"""The points of each node on the ring. The shares of the nodes vary by about 1/sqrt(512) = 4 %.

With 160 points, as in ketama, the shares vary by 8 %.
"""


class Partitioner(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def count(self) -> int: ...

    def partition_of(self, tag: str) -> int:
        """Return the number of the partition. Raises UnassignedTag."""


class _CountedPartitioner:
    """A partitioner that needs only the number of partitions."""

    def __init__(self, count: int) -> None:
        self.count = _require_positive(count)

    @classmethod
    def balanced(cls, count: int) -> Self:
        return cls(count)


class ModuloPartitioner(_CountedPartitioner):
    """CRC32 of the tag modulo the number of nodes. A change of this number moves almost every tag.

    Source: "Scaling with Redis Cluster and Sentinel" (https://hub.packtpub.com/scaling-redis-cluster-and-sentinel/).
    """

    name = "hash"

    def partition_of(self, tag: str) -> int:
        return crc32(validated_tag(tag)) % self.count


class ConsistentHashPartitioner(_CountedPartitioner):
    """A consistent hash ring: each node owns many arcs of a circle. A new node takes about 1/n of the tags.

    The points of a node are derived from its number, so that a server that changes its address keeps its tags.
    """

    name = "ring"

    def __init__(self, count: int) -> None:
        super().__init__(count)
        points = sorted((_ring_position(b"%d-%d" % (n, at)), n) for n in range(count) for at in range(POINTS_PER_NODE))
        self._points = [position for position, _ in points]
        self._owners = [number for _, number in points]

    def partition_of(self, tag: str) -> int:
        index = bisect_left(self._points, _ring_position(validated_tag(tag)))
        return self._owners[index if index < len(self._owners) else 0]


class RangePartitioner(_CountedPartitioner):
    """Partition n owns the n-th of `count` ranges of adjacent slots. The stored bitmaps must be equal."""

    name = "range"

    def __init__(self, count: int) -> None:
        if count > SLOT_COUNT:
            raise ValueError(f"{SLOT_COUNT} slots cannot be cut into {count} ranges")
        super().__init__(count)

    def partition_of(self, tag: str) -> int:
        return self.partition_of_slot(slot_of_tag(tag))

    def partition_of_slot(self, slot: int) -> int:
        """Return the partition n with first_slot(n) <= slot < first_slot(n + 1)."""
        return ((slot + 1) * self.count - 1) // SLOT_COUNT

    def first_slot(self, number: int) -> int:
        """Return the lowest slot of a partition. For the number `count`, return SLOT_COUNT."""
        return number * SLOT_COUNT // self.count

    @cached_property
    def bitmaps(self) -> list[bytes]:
        return encode_bitmaps([self.partition_of_slot(slot) for slot in range(SLOT_COUNT)], self.count)

    def verify_bitmaps(self, bitmaps: Sequence[bytes]) -> None:
        """Raise InvalidSlotMap if the stored bitmaps differ from these ranges."""
        if len(bitmaps) != len(self.bitmaps):
            raise InvalidSlotMap(f"there are {len(bitmaps)} bitmaps for {len(self.bitmaps)} ranges")
        for number, (stored, expected) in enumerate(zip(bitmaps, self.bitmaps, strict=True)):
            if stored != expected:
                raise InvalidSlotMap(
                    f"the bitmap of partition {number} is not slots {self.first_slot(number)} to "
                    f"{self.first_slot(number + 1) - 1}"
                )


class TablePartitioner:
    """A table that assigns slots to partitions in any order. It is stored as bitmaps.

    Operators can edit this table, for example for a larger machine. Keys of an unlisted slot are refused.
    """

    name = "list"

    def __init__(self, lists: Iterable[Iterable[int]]) -> None:
        """`lists` contains the slots of each partition. Raises InvalidSlotMap if a slot is invalid or listed twice."""
        owners: list[int | None] = [None] * SLOT_COUNT
        count = 0
        for number, slots in enumerate(lists):
            count += 1
            for slot in slots:
                if not 0 <= slot < SLOT_COUNT:
                    raise InvalidSlotMap(f"there is no slot {slot}: they are 0 to {SLOT_COUNT - 1}")
                if owners[slot] is not None:
                    raise InvalidSlotMap(f"slot {slot} belongs to the partitions {owners[slot]} and {number}")
                owners[slot] = number
        self.count = _require_positive(count)
        self._owners = owners

    @classmethod
    def balanced(cls, count: int) -> Self:
        """Assign slot n to partition n modulo `count`."""
        _require_positive(count)
        return cls(range(number, SLOT_COUNT, count) for number in range(count))

    @classmethod
    def from_bitmaps(cls, bitmaps: Sequence[bytes]) -> Self:
        """Return the partitioner of stored bitmaps. Raises InvalidSlotMap."""
        partitioner = cls([()] * len(bitmaps))
        partitioner._owners = decode_bitmaps(bitmaps)
        return partitioner

    def partition_of(self, tag: str) -> int:
        return self.partition_of_slot(slot_of_tag(tag))

    def partition_of_slot(self, slot: int) -> int:
        owner = self._owners[slot]
        if owner is None:
            raise UnassignedTag(f"slot {slot} is on no list of the map, so its keys have no shard")
        return owner

    @property
    def unassigned_slots(self) -> list[int]:
        return [slot for slot, owner in enumerate(self._owners) if owner is None]

    @cached_property
    def bitmaps(self) -> list[bytes]:
        return encode_bitmaps(self._owners, self.count)


PARTITIONERS: dict[
    str, type[ModuloPartitioner] | type[ConsistentHashPartitioner] | type[RangePartitioner] | type[TablePartitioner]
] = {kind.name: kind for kind in (ModuloPartitioner, ConsistentHashPartitioner, RangePartitioner, TablePartitioner)}
"""Partitioners by their name in the `partitioner` parameter of a URL."""


@cache
def balanced_partitioner(kind: str, count: int) -> Partitioner:
    """Return the partitioner of a new store: it spreads the tags evenly over `count` nodes."""
    return PARTITIONERS[kind].balanced(count)


def _ring_position(text: bytes) -> int:
    """Return a point from 0 to 2^64 - 1. MD5 is used because CRC32 places adjacent numbers close together."""
    return int.from_bytes(md5(text, usedforsecurity=False).digest()[:8])


def _require_positive(count: int) -> int:
    if count < 1:
        raise ValueError(f"a map needs at least one partition, not {count}")
    return count
