"""What shards say at a start, held against the URL. Each refusal is one sentence that says what to do."""

from collections.abc import Collection, Sequence

from socialsite.store.key import Key
from socialsite.store.node import Node
from socialsite.store.partition import Partitioner
from socialsite.store.topology.shard_map import REPARTITION, InvalidShardMap, StoredShardMap

SAMPLED_KEYS = 1000


def require_position(
    node: Node, held: StoredShardMap | None, number: int, count: int, kind: str | None
) -> StoredShardMap:
    """The shard at place `number` of `count` holds a map of that size and kind, and this place in it."""
    if held is None:
        raise InvalidShardMap(
            f"{node.address} holds no map and other shards of the URL do: restore its data if it was "
            f"emptied, or take it out of the URL and add it with {REPARTITION} if it is a new one"
        )
    made = held.shard_map.partitioner
    if made.count != count:
        raise InvalidShardMap(
            f"the map on {node.address} is one of {made.count} shards and the URL names {count}: name all of "
            f"them in their order, or move the data with {REPARTITION}"
        )
    if held.number != number:
        raise InvalidShardMap(
            f"{node.address} is shard {held.number} of the map and stands at place {number} of the URL "
            "(counted from 0): put the servers back into their order"
        )
    if kind is not None and made.name != kind:
        raise InvalidShardMap(
            f"the map on {node.address} was made with partitioner={made.name} and the URL says {kind}: put "
            f"the old word back, or move the data with {REPARTITION}"
        )
    return held


def require_same_map(nodes: Sequence[Node], shards: Sequence[StoredShardMap]) -> None:
    """All shards hold the same map."""
    one, first = nodes[0].address, shards[0].shard_map
    for node, held in zip(nodes, shards, strict=True):
        if held.shard_map.id != first.id:
            raise InvalidShardMap(
                f"{node.address} belongs to another set of shards than {one}: name the servers of one set "
                "only, or give each set databases of its own (/1)"
            )
        if held.shard_map.epoch != first.epoch:
            raise InvalidShardMap(
                f"{node.address} holds epoch {held.shard_map.epoch} of the map and {one} epoch {first.epoch}: "
                f"a move was broken off, finish it with {REPARTITION}"
            )
        if held.shard_map.checksum != first.checksum:
            raise InvalidShardMap(
                f"{node.address} and {one} hold different maps of one epoch: restore the keys "
                "map:{shards}:* of the one that is wrong"
            )


async def require_no_foreign_keys(
    node: Node, number: int, partitioner: Partitioner, components: Collection[str]
) -> None:
    """A server that comes to a first start holds no keys that were placed by something else.

    They would not be found any more. A bounded look: data moved by changing a URL shows in the first keys.
    """
    _, found = await node.execute("SCAN", 0, "COUNT", SAMPLED_KEYS)
    for text in found:
        try:
            key = Key.parse(text.decode(errors="replace"))
        except ValueError:
            continue
        if key.component in components and partitioner.partition_of(key.tag) != number:
            raise InvalidShardMap(
                f"{node.address} holds data of this site already ({key}) that these shards would look for "
                f"elsewhere: start with empty servers and move the data with {REPARTITION}"
            )
