"""Hash partitioning: CRC32 of the tag modulo the number of nodes, as the book has it.

Even and without a table; another number of nodes moves almost every tag, so the number is part
of the stored map.
"""

from typing import Self
from zlib import crc32

from socialsite.store.partition.partitioner import require_positive_count, validated_tag


class ModuloPartitioner:
    name = "hash"

    def __init__(self, count: int) -> None:
        self.count = require_positive_count(count)

    @classmethod
    def balanced(cls, count: int) -> Self:
        return cls(count)

    def partition_of(self, tag: str) -> int:
        return crc32(validated_tag(tag)) % self.count
