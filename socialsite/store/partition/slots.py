"""The slots of Redis Cluster: CRC16 (XMODEM) modulo 16,384, by the tag where a key has one.

The rule of the specification, to the letter: the tag is what stands between the first `{` and the first `}`
after it, and only if that is not empty; otherwise the whole key counts. (The seed's text gives the last slot
as 16,384; the slots are 0 .. 16,383.)
"""

from binascii import crc_hqx
from functools import lru_cache

from socialsite.store.partition.partitioner import validated_tag

SLOT_COUNT = 16_384


def slot_of(key: str | bytes) -> int:
    """The slot of any key, as `CLUSTER KEYSLOT` says it."""
    return crc_hqx(hash_tag(key.encode() if isinstance(key, str) else key), 0) % SLOT_COUNT


@lru_cache(maxsize=65_536)  # pages ask for the same tags again and again
def slot_of_tag(tag: str) -> int:
    """The slot of every key with this tag. Raises Unassigned for what is no tag."""
    return crc_hqx(validated_tag(tag), 0) % SLOT_COUNT


def hash_tag(key: bytes) -> bytes:
    """The part of a key that decides about its slot."""
    start = key.find(b"{")
    if start < 0:
        return key
    end = key.find(b"}", start + 1)
    return key[start + 1 : end] if end > start + 1 else key
