"""What a pass over a side of edges has read so far, and its cursor under each layout of the partitions."""

from dataclasses import dataclass, replace

from socialsite.store.connections import Layout
from timelines.domain.follow import FIRST_PASS, PassCursor

GENERATION = 1 << 16
"""Partitions of a cursor are numbered from here for each layout after the first (docs/moving.md)."""


def read_under(layout: Layout, cursor: PassCursor) -> PassCursor:
    """Where to go on. A cursor of an earlier layout begins again: every delivery may be repeated."""
    generation, number = divmod(cursor.partition, GENERATION)
    if generation != layout.generation:
        return FIRST_PASS
    return replace(cursor, partition=number)


def written_under(layout: Layout, cursor: PassCursor) -> PassCursor:
    return replace(cursor, partition=layout.generation * GENERATION + cursor.partition)


def shares_of(sizes: list[int], room: int) -> list[int]:
    """How many to read of each of the first partitions until `room` is used up."""
    shares = []
    for size in sizes:
        if room <= 0:
            break
        shares.append(min(size, room))
        room -= size
    return shares


@dataclass(frozen=True, slots=True)
class Found:
    """What a pass has read, not yet decoded, and how many each partition gave, in their order."""

    members: list[bytes]
    counts: list[tuple[int, int]]

    def extend(self, partition: int, members: list[bytes]) -> None:
        self.members.extend(members)
        self.counts.append((partition, len(members)))

    def place_of(self, position: int) -> tuple[int, int]:
        """The partition of a member, and the position where that partition begins."""
        start = 0
        for partition, count in self.counts:
            if position < start + count:
                return partition, start
            start += count
        raise IndexError(position)
