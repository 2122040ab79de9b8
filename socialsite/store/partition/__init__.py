"""Partitioners: from a tag to the number of its partition, 0 .. count-1. Pure arithmetic, no input or output.

Each is a total function of the tags it knows and refuses the others (`UnassignedTag`): a tag never lands on a
default. Equal arguments make equal partitioners in every process, for ever: nothing here may hash by a
language's own function or by the address of a server (docs/reference/decisions/partitioning.md).
"""

from functools import cache

from socialsite.store.partition.hashed import ModuloPartitioner
from socialsite.store.partition.listed import TablePartitioner
from socialsite.store.partition.partitioner import Partitioner, UnassignedTag
from socialsite.store.partition.ranged import RangePartitioner
from socialsite.store.partition.ring import ConsistentHashPartitioner

PARTITIONERS: dict[
    str,
    type[ModuloPartitioner] | type[ConsistentHashPartitioner] | type[RangePartitioner] | type[TablePartitioner],
] = {kind.name: kind for kind in (ModuloPartitioner, ConsistentHashPartitioner, RangePartitioner, TablePartitioner)}
"""What stands behind `?partitioner=`."""


@cache
def balanced_partitioner(kind: str, count: int) -> Partitioner:
    """The partitioner that spreads everything evenly over `count` nodes, as a first start makes it."""
    return PARTITIONERS[kind].balanced(count)


__all__ = [
    "PARTITIONERS",
    "ConsistentHashPartitioner",
    "ModuloPartitioner",
    "Partitioner",
    "RangePartitioner",
    "TablePartitioner",
    "UnassignedTag",
    "balanced_partitioner",
]
