"""The 16,384 slots of Redis Cluster, and bitmaps that store which partition owns each slot.

A slot is CRC16 (XMODEM) modulo 16,384 of the tag: the text between the first `{` and the next `}` of a key (Redis
Cluster specification, "Hash tags"). Each key of the site has a tag.

A slot map is stored as one bitmap of 2,048 bytes per partition. Bit n is slot n in the order of SETBIT and GETBIT: the
highest bit of the first byte is slot 0. So `GETBIT map:{shards}:partition:2 12948` reads one slot on any server.
"""

from binascii import crc_hqx
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

SLOT_COUNT = 16_384
BITMAP_BYTES = SLOT_COUNT // 8
SLOT_CACHE_SIZE = 16_384
"""The maximum number of tags whose slot is cached. Pages use the same tags repeatedly."""


class UnassignedTag(LookupError):
    """The partitioner assigns this tag or slot to no partition."""


class InvalidSlotMap(ValueError):
    """Two bitmaps contain the same slot, or a bitmap has the wrong size."""


def validated_tag(tag: str) -> bytes:
    """Return the bytes of a tag. Raises UnassignedTag if it is empty or contains a brace.

    A Redis Cluster would place a key with such a tag by its whole name.
    """
    if not tag or "{" in tag or "}" in tag:
        raise UnassignedTag(f"{tag!r} is no tag, so no partition can be chosen for it")
    return tag.encode()


@lru_cache(maxsize=SLOT_CACHE_SIZE)
def slot_of_tag(tag: str) -> int:
    """Return the slot of all keys with this tag. Raises UnassignedTag if the tag is invalid."""
    return crc_hqx(validated_tag(tag), 0) % SLOT_COUNT


def encode_bitmaps(owners: Sequence[int | None], count: int) -> list[bytes]:
    """Return one bitmap per partition. `owners` contains the partition of each slot."""
    bitmaps = [bytearray(BITMAP_BYTES) for _ in range(count)]
    for slot, owner in enumerate(owners):
        if owner is not None:
            bitmaps[owner][slot >> 3] |= 0x80 >> (slot & 7)
    return [bytes(bitmap) for bitmap in bitmaps]


def decode_bitmaps(bitmaps: Iterable[bytes]) -> list[int | None]:
    """Return the partition of each slot, or None if no bitmap contains the slot. Raises InvalidSlotMap."""
    owners: list[int | None] = [None] * SLOT_COUNT
    for number, bitmap in enumerate(bitmaps):
        if len(bitmap) != BITMAP_BYTES:
            raise InvalidSlotMap(f"the bitmap of partition {number} has {len(bitmap)} bytes instead of {BITMAP_BYTES}")
        for slot in _set_bits(bitmap):
            if owners[slot] is not None:
                raise InvalidSlotMap(f"slot {slot} is in the bitmaps of partitions {owners[slot]} and {number}")
            owners[slot] = number
    return owners


def _set_bits(bitmap: bytes) -> Iterator[int]:
    for index, byte in enumerate(bitmap):
        if byte:
            yield from (index * 8 + bit for bit in range(8) if byte & (0x80 >> bit))
