"""How much a pass over a side of edges reads, and its cursor under each layout of the partitions."""

from dataclasses import replace

from socialsite.store.pair_partitions import PartitionLayout
from timelines.graph.follow import FIRST_PASS, PassCursor

GENERATION = 1 << 16
"""Partitions of a cursor are numbered from here for each layout after the first (docs/reference/migration.md)."""


def read_under(layout: PartitionLayout, cursor: PassCursor) -> PassCursor:
    """Where to go on. A cursor of an earlier layout begins again: every delivery may be repeated."""
    generation, number = divmod(cursor.partition, GENERATION)
    if generation != layout.version:
        return FIRST_PASS
    return replace(cursor, partition=number)


def written_under(layout: PartitionLayout, cursor: PassCursor) -> PassCursor:
    return replace(cursor, partition=layout.version * GENERATION + cursor.partition)


def shares_of(sizes: list[int], room: int) -> list[int]:
    """How many to read of each of the first partitions until `room` is used up."""
    shares = []
    for size in sizes:
        if room <= 0:
            break
        shares.append(min(size, room))
        room -= size
    return shares
