"""Partitions of pairs of ids: the two sides of a follow are stored in one partition.

Source: Redis in Action, section 10.3.3, listings 10.12 and 10.13.
"""

from collections.abc import Iterable
from functools import cache
from zlib import crc32

import msgspec


class PartitionLayout(msgspec.Struct, frozen=True, array_like=True):
    """The partitions of a component's edges: `count` partitions with tags that begin with `prefix`.

    `version` rises with each repartition, so that a stored partition number can be recognized as outdated.
    """

    prefix: str
    count: int
    version: int = 0

    def tag_of(self, number: int) -> str:
        return f"{self.prefix}{number}"

    @property
    def tags(self) -> tuple[str, ...]:
        return _build_tags(self.prefix, self.count)

    def contains_tag(self, tag: str) -> bool:
        return tag[:1] == self.prefix and tag[1:].isdigit()


@cache
def _build_tags(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(count))


def partition_of_pair(one: int, other: int, count: int) -> int:
    """Return the partition of an unordered pair: crc32("min:max") mod count."""
    return partitions_of_pairs(one, (other,), count)[0]


def partitions_of_pairs(one: int, others: Iterable[int], count: int) -> list[int]:
    """Return the partitions of the pairs of `one` with each id of `others`.

    CRC32 continues from the checksum of the common prefix. Results are not cached: a lookup in a large dict costs as
    much as the computation.
    """
    start, end = crc32(b"%d:" % one), b":%d" % one
    return [(crc32(b"%d" % each, start) if each >= one else crc32(b"%d%b" % (each, end))) % count for each in others]
