"""List partitioning: every slot stands on the list of one partition, in no order.

The only map that an operator may draw as they like (a larger machine, a hot slot by itself); the stored
bitmaps are the map. A slot on no list belongs to nobody: its keys are refused.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Self

from socialsite.store.partition.bitmaps import InvalidSlotMap, decode_bitmaps, encode_bitmaps
from socialsite.store.partition.partitioner import UnassignedTag, require_positive_count
from socialsite.store.partition.slots import SLOT_COUNT, slot_of_tag


class TablePartitioner:
    name = "list"

    def __init__(self, lists: Iterable[Iterable[int]]) -> None:
        """From the slots of each partition. Raises InvalidSlotMap where a slot stands on two lists, or is none."""
        owners: list[int | None] = [None] * SLOT_COUNT
        count = 0
        for number, slots in enumerate(lists):
            count += 1
            for slot in slots:
                if not 0 <= slot < SLOT_COUNT:
                    raise InvalidSlotMap(f"there is no slot {slot}: they are 0 to {SLOT_COUNT - 1}")
                if owners[slot] is not None:
                    raise InvalidSlotMap(f"slot {slot} stands on the lists of {owners[slot]} and {number}")
                owners[slot] = number
        self.count = require_positive_count(count)
        self._owners = owners

    @classmethod
    def balanced(cls, count: int) -> Self:
        """Slots dealt out in turn."""
        require_positive_count(count)
        return cls(range(number, SLOT_COUNT, count) for number in range(count))

    @classmethod
    def from_bitmaps(cls, bitmaps: Sequence[bytes]) -> Self:
        """From the stored form. Raises InvalidSlotMap."""
        made = cls([()] * len(bitmaps))
        made._owners = decode_bitmaps(bitmaps)
        return made

    def partition_of(self, tag: str) -> int:
        return self.partition_of_slot(slot_of_tag(tag))

    def partition_of_slot(self, slot: int) -> int:
        owner = self._owners[slot]
        if owner is None:
            raise UnassignedTag(f"slot {slot} stands on no list of the map, so its keys have no place")
        return owner

    @property
    def unassigned_slots(self) -> list[int]:
        return [slot for slot, owner in enumerate(self._owners) if owner is None]

    @cached_property
    def bitmaps(self) -> list[bytes]:
        return encode_bitmaps(self._owners, self.count)
