"""Range partitioning over the tag's slot: partition n owns the n-th of `count` runs of neighbouring slots.

The arithmetic is the map; the cluster chapter's bitmaps are how it is stored, and are held against it.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

from socialsite.store.partition.bitmaps import BrokenMap, bitmaps_of
from socialsite.store.partition.partitioner import require_count
from socialsite.store.partition.slots import SLOTS, slot_of_tag


class Ranged:
    name = "range"

    def __init__(self, count: int) -> None:
        if count > SLOTS:
            raise ValueError(f"{SLOTS} slots cannot be cut into {count} ranges")
        self.count = require_count(count)

    @classmethod
    def even(cls, count: int) -> Self:
        return cls(count)

    def partition_of(self, tag: str) -> int:
        return self.owner_of(slot_of_tag(tag))

    def owner_of(self, slot: int) -> int:
        """The partition n with first(n) <= slot < first(n + 1)."""
        return ((slot + 1) * self.count - 1) // SLOTS

    def first(self, number: int) -> int:
        """The lowest slot of a partition; that of `count` is the number of slots."""
        return number * SLOTS // self.count

    @cached_property
    def bitmaps(self) -> list[bytes]:
        return bitmaps_of([self.owner_of(slot) for slot in range(SLOTS)], self.count)

    def verify(self, bitmaps: Sequence[bytes]) -> None:
        """Raises BrokenMap where the stored form is not this map."""
        expected = self.bitmaps
        if len(bitmaps) != len(expected):
            raise BrokenMap(f"there are {len(bitmaps)} bitmaps for {len(expected)} ranges")
        for number, (stored, right) in enumerate(zip(bitmaps, expected, strict=True)):
            if stored != right:
                raise BrokenMap(
                    f"the bitmap of partition {number} is not slots {self.first(number)} to "
                    f"{self.first(number + 1) - 1}"
                )
