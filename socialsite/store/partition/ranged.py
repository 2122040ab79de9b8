"""Range partitioning over the tag's slot: partition n owns the n-th of `count` runs of neighbouring slots.

The arithmetic is the map; the cluster chapter's bitmaps are how it is stored, and are held against it.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

from socialsite.store.partition.bitmaps import InvalidSlotMap, encode_bitmaps
from socialsite.store.partition.partitioner import require_positive_count
from socialsite.store.partition.slots import SLOT_COUNT, slot_of_tag


class RangePartitioner:
    name = "range"

    def __init__(self, count: int) -> None:
        if count > SLOT_COUNT:
            raise ValueError(f"{SLOT_COUNT} slots cannot be cut into {count} ranges")
        self.count = require_positive_count(count)

    @classmethod
    def balanced(cls, count: int) -> Self:
        return cls(count)

    def partition_of(self, tag: str) -> int:
        return self.partition_of_slot(slot_of_tag(tag))

    def partition_of_slot(self, slot: int) -> int:
        """The partition n with first(n) <= slot < first(n + 1)."""
        return ((slot + 1) * self.count - 1) // SLOT_COUNT

    def first_slot(self, number: int) -> int:
        """The lowest slot of a partition; that of `count` is the number of slots."""
        return number * SLOT_COUNT // self.count

    @cached_property
    def bitmaps(self) -> list[bytes]:
        return encode_bitmaps([self.partition_of_slot(slot) for slot in range(SLOT_COUNT)], self.count)

    def verify_bitmaps(self, bitmaps: Sequence[bytes]) -> None:
        """Raises InvalidSlotMap where the stored form is not this map."""
        expected = self.bitmaps
        if len(bitmaps) != len(expected):
            raise InvalidSlotMap(f"there are {len(bitmaps)} bitmaps for {len(expected)} ranges")
        for number, (stored, right) in enumerate(zip(bitmaps, expected, strict=True)):
            if stored != right:
                raise InvalidSlotMap(
                    f"the bitmap of partition {number} is not slots {self.first_slot(number)} to "
                    f"{self.first_slot(number + 1) - 1}"
                )
