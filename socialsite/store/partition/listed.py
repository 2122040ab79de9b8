"""List partitioning: every slot stands on the list of one partition, in no order.

The only map that an operator may draw as they like (a larger machine, a hot slot by itself); the stored
bitmaps are the map. A slot on no list belongs to nobody: its keys are refused.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Self

from socialsite.store.partition.bitmaps import BrokenMap, bitmaps_of, owners_of
from socialsite.store.partition.partitioner import Unassigned, require_count
from socialsite.store.partition.slots import SLOTS, slot_of_tag


class Listed:
    name = "list"

    def __init__(self, lists: Iterable[Iterable[int]]) -> None:
        """From the slots of each partition. Raises BrokenMap where a slot stands on two lists, or is none."""
        owners: list[int | None] = [None] * SLOTS
        count = 0
        for number, slots in enumerate(lists):
            count += 1
            for slot in slots:
                if not 0 <= slot < SLOTS:
                    raise BrokenMap(f"there is no slot {slot}: they are 0 to {SLOTS - 1}")
                if owners[slot] is not None:
                    raise BrokenMap(f"slot {slot} stands on the lists of {owners[slot]} and {number}")
                owners[slot] = number
        self.count = require_count(count)
        self._owners = owners

    @classmethod
    def even(cls, count: int) -> Self:
        """Slots dealt out in turn."""
        require_count(count)
        return cls(range(number, SLOTS, count) for number in range(count))

    @classmethod
    def stored(cls, bitmaps: Sequence[bytes]) -> Self:
        """From the stored form. Raises BrokenMap."""
        made = cls([()] * len(bitmaps))
        made._owners = owners_of(bitmaps)
        return made

    def partition_of(self, tag: str) -> int:
        return self.owner_of(slot_of_tag(tag))

    def owner_of(self, slot: int) -> int:
        owner = self._owners[slot]
        if owner is None:
            raise Unassigned(f"slot {slot} stands on no list of the map, so its keys have no place")
        return owner

    @property
    def unassigned(self) -> list[int]:
        return [slot for slot, owner in enumerate(self._owners) if owner is None]

    @cached_property
    def bitmaps(self) -> list[bytes]:
        return bitmaps_of(self._owners, self.count)
