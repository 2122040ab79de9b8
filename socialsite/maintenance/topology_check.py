"""Whether keys change their servers: a walk, server by server, would miss those that pass it by.

Told are slots of a cluster, its masters, and moves of `repartition`. A proxy's own map nobody tells.
"""

from socialsite.store import Node, Store, StoreError
from socialsite.store.topology.cluster import Cluster

Standing = tuple[object, ...]
"""Where everything stands; another one later: keys may have changed their servers in between."""
OWN_FACTS = 8
"""Of a line of CLUSTER NODES; what follows are slots, and in brackets those that are being moved."""


class KeysOnTheMove(StoreError):
    """What walks over all keys would miss some."""


async def standing(store: Store) -> Standing:
    """Raises KeysOnTheMove where something moves now."""
    epoch, is_moving = store.keeper.map_now if store.keeper else (0, False)
    slots: list[bytes] = []
    for place in store.topologies:
        if isinstance(place, Cluster):
            slots += [await _slots_of(node) for node in place.nodes]
    if is_moving or any(b"[" in each for each in slots):
        raise KeysOnTheMove("keys are changing their servers: wait until the move is done, then repeat this")
    return epoch, tuple(str(node.address) for node in store.nodes), tuple(slots)


async def require_same(store: Store, before: Standing) -> None:
    """Raises KeysOnTheMove."""
    if await standing(store) != before:
        raise KeysOnTheMove("keys changed their servers meanwhile, some may be missing: repeat this")


async def _slots_of(node: Node) -> bytes:
    lines: list[bytes] = (await node.execute("CLUSTER", "NODES")).splitlines()
    return next(b" ".join(line.split(b" ")[OWN_FACTS:]) for line in lines if b"myself" in line)
