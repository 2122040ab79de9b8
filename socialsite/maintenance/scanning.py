"""Scan all keys of a store, node by node in bounded steps, and check that no key moves meanwhile."""

import random
from collections.abc import AsyncIterator, Callable

from socialsite.store import Key, Node, Store, StoreError
from socialsite.store.topology.cluster import Cluster

KEYS_PER_SCAN = 2_000
RANDOM_KEYS_PER_BATCH = 200

TopologyFingerprint = tuple[object, ...]
"""The placement of all keys. If it changes during a scan, keys may have moved to other servers."""
CLUSTER_NODES_FIXED_FIELDS = 8  # in a line of CLUSTER NODES, before slots; moving slots are in brackets

OnProgress = Callable[[int], None]
"""A function that is called with the number of keys of each step."""


def ignore_progress(count: int) -> None:
    """Do nothing."""


async def scan_raw_keys(node: Node, on_progress: OnProgress, pattern: str | None = None) -> AsyncIterator[list[bytes]]:
    """Yield all keys of a node, including foreign keys. A step may be empty."""
    cursor, match = b"0", ("MATCH", pattern) if pattern else ()
    while True:
        cursor, raw_keys = await node.execute("SCAN", cursor, "COUNT", KEYS_PER_SCAN, *match)
        on_progress(len(raw_keys))
        yield raw_keys
        if cursor == b"0":
            return


async def scan_keys(node: Node, on_progress: OnProgress) -> AsyncIterator[list[Key]]:
    """Yield the keys of the site on one node. A step may be empty."""
    async for raw_keys in scan_raw_keys(node, on_progress):
        yield parse_keys(raw_keys)


async def scan_store(
    store: Store, on_progress: OnProgress = ignore_progress, *, pattern: str | None = None
) -> AsyncIterator[list[Key]]:
    """Yield every key that exists from the beginning to the end of the scan. A key may be yielded twice."""
    for node in store.nodes:
        async for raw_keys in scan_raw_keys(node, on_progress, pattern):
            if keys := parse_keys(raw_keys):
                yield keys


async def sample_keys(store: Store, count: int, on_progress: OnProgress = ignore_progress) -> AsyncIterator[list[Key]]:
    """Yield about `count` random keys."""
    for node, share in await _picks_by_node(store, count):
        for start in range(0, share, RANDOM_KEYS_PER_BATCH):
            picks = min(RANDOM_KEYS_PER_BATCH, share - start)
            raw_keys = await node.execute_all([("RANDOMKEY",)] * picks)
            on_progress(picks)
            yield parse_keys(list(dict.fromkeys(raw_key for raw_key in raw_keys if raw_key is not None)))


async def count_keys(store: Store) -> int:
    """Return the number of keys of all nodes, including foreign keys."""
    return sum([int(await node.execute("DBSIZE")) for node in store.nodes])


async def _picks_by_node(store: Store, count: int) -> list[tuple[Node, int]]:
    """Return the number of keys to pick on each node, in proportion to its keys. A random node gets the remainder."""
    sizes = [int(await node.execute("DBSIZE")) for node in store.nodes]
    shares = [count * size // max(1, sum(sizes)) for size in sizes]
    shares[random.randrange(len(shares))] += count - sum(shares)  # noqa: S311 - not a secret
    return [(node, share) for node, share, size in zip(store.nodes, shares, sizes, strict=True) if size]


def parse_keys(raw_keys: list[bytes]) -> list[Key]:
    """Return the keys of the site, without foreign keys."""
    keys: list[Key] = []
    for raw_key in raw_keys:
        try:
            keys.append(Key.parse(raw_key.decode()))
        except ValueError:  # UnicodeDecodeError is a subclass
            continue
    return keys


class TopologyChanging(StoreError):
    """Keys are moving to other servers, so a scan of all keys would miss some of them.

    The fingerprint detects moved slots and new masters of a cluster, and moves of `repartition`. It does not detect a
    change in a proxy's own map.
    """


async def topology_fingerprint(store: Store) -> TopologyFingerprint:
    """Return the placement of all keys. Raises TopologyChanging if keys are moving now."""
    epoch, is_moving = store.topology_follower.migration_state if store.topology_follower else (0, False)
    slots: list[bytes] = []
    for topology in store.topologies:
        if isinstance(topology, Cluster):
            slots += [await _read_slots(node) for node in topology.nodes]
    if is_moving or any(b"[" in each for each in slots):
        raise TopologyChanging("keys are changing their servers: wait until the move is done, then repeat this")
    return epoch, tuple(str(node.address) for node in store.nodes), tuple(slots)


async def require_unchanged(store: Store, before: TopologyFingerprint) -> None:
    """Raise TopologyChanging if keys may have moved since `before`."""
    if await topology_fingerprint(store) != before:
        raise TopologyChanging("keys changed their servers meanwhile, some may be missing: repeat this")


async def _read_slots(node: Node) -> bytes:
    lines: list[bytes] = (await node.execute("CLUSTER", "NODES")).splitlines()
    return next(b" ".join(line.split(b" ")[CLUSTER_NODES_FIXED_FIELDS:]) for line in lines if b"myself" in line)
