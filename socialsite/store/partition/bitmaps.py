"""The stored form of a map of slots: one bitmap of 16,384 bits a partition, 2,048 bytes (as Packt's cluster
chapter draws it).

Bit n is slot n, in the order of SETBIT and GETBIT: the highest bit of the first byte is slot 0. So an
operator can ask any server: `GETBIT map:{shards}:partition:2 12948`.
"""

from collections.abc import Iterable, Iterator, Sequence

from socialsite.store.partition.slots import SLOT_COUNT

BITMAP_BYTES = SLOT_COUNT // 8


class InvalidSlotMap(ValueError):
    """The bitmaps are no map: a slot stands in two of them, or the size is wrong."""


def encode_bitmaps(owners: Sequence[int | None], count: int) -> list[bytes]:
    """One bitmap a partition, from the owner of each slot."""
    maps = [bytearray(BITMAP_BYTES) for _ in range(count)]
    for slot, owner in enumerate(owners):
        if owner is not None:
            maps[owner][slot >> 3] |= 0x80 >> (slot & 7)
    return [bytes(each) for each in maps]


def decode_bitmaps(bitmaps: Iterable[bytes]) -> list[int | None]:
    """The owner of each slot; None where no bitmap has it. Raises InvalidSlotMap."""
    owners: list[int | None] = [None] * SLOT_COUNT
    for number, bitmap in enumerate(bitmaps):
        if len(bitmap) != BITMAP_BYTES:
            raise InvalidSlotMap(f"the bitmap of partition {number} has {len(bitmap)} bytes instead of {BITMAP_BYTES}")
        for slot in _set_bits(bitmap):
            if owners[slot] is not None:
                raise InvalidSlotMap(f"slot {slot} stands in the bitmaps of partitions {owners[slot]} and {number}")
            owners[slot] = number
    return owners


def _set_bits(bitmap: bytes) -> Iterator[int]:
    for at, byte in enumerate(bitmap):
        if byte:
            yield from (at * 8 + bit for bit in range(8) if byte & (0x80 >> bit))
