"""Whether keys change their servers: a walk, server by server, would miss those that pass it by.

Told are slots of a cluster, its masters, and moves of `repartition`. A proxy's own map nobody tells.
"""

from socialsite.store import Node, Store, StoreError
from socialsite.store.topology.cluster import Cluster

TopologyFingerprint = tuple[object, ...]
"""Where everything stands; another one later: keys may have changed their servers in between."""
CLUSTER_NODES_FIXED_FIELDS = 8
"""Of a line of CLUSTER NODES; what follows are slots, and in brackets those that are being moved."""


class TopologyChanging(StoreError):
    """What walks over all keys would miss some."""


async def topology_fingerprint(store: Store) -> TopologyFingerprint:
    """Raises TopologyChanging where something moves now."""
    epoch, is_moving = store.topology_follower.migration_state if store.topology_follower else (0, False)
    slots: list[bytes] = []
    for place in store.topologies:
        if isinstance(place, Cluster):
            slots += [await _read_slots(node) for node in place.nodes]
    if is_moving or any(b"[" in each for each in slots):
        raise TopologyChanging("keys are changing their servers: wait until the move is done, then repeat this")
    return epoch, tuple(str(node.address) for node in store.nodes), tuple(slots)


async def require_unchanged(store: Store, before: TopologyFingerprint) -> None:
    """Raises TopologyChanging."""
    if await topology_fingerprint(store) != before:
        raise TopologyChanging("keys changed their servers meanwhile, some may be missing: repeat this")


async def _read_slots(node: Node) -> bytes:
    lines: list[bytes] = (await node.execute("CLUSTER", "NODES")).splitlines()
    return next(b" ".join(line.split(b" ")[CLUSTER_NODES_FIXED_FIELDS:]) for line in lines if b"myself" in line)
