"""Partitioners: from a tag to the number of its partition, 0 .. count-1. Pure arithmetic, no input or output.

Each is a total function of the tags it knows and refuses the others (`Unassigned`): a tag never lands on a
default. Equal arguments make equal partitioners in every process, for ever: nothing here may hash by a
language's own function or by the address of a server (docs/decisions/partitioning.md).
"""

from functools import cache

from socialsite.store.partition.hashed import Hashed
from socialsite.store.partition.listed import Listed
from socialsite.store.partition.partitioner import Partitioner, Unassigned
from socialsite.store.partition.ranged import Ranged
from socialsite.store.partition.ring import Ring

KINDS: dict[str, type[Hashed] | type[Ring] | type[Ranged] | type[Listed]] = {
    kind.name: kind for kind in (Hashed, Ring, Ranged, Listed)
}
"""What stands behind `?partitioner=`."""


@cache
def even(kind: str, count: int) -> Partitioner:
    """The partitioner that spreads everything evenly over `count` nodes, as a first start makes it."""
    return KINDS[kind].even(count)


__all__ = ["KINDS", "Hashed", "Listed", "Partitioner", "Ranged", "Ring", "Unassigned", "even"]
