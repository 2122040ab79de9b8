"""Walks over all keys of a store: SCAN on each node, never KEYS, a bounded number a step."""

import random
from collections.abc import AsyncIterator, Callable

from socialsite.store import Key, Node, Store

KEYS_PER_SCAN = 500
RANDOM_KEYS_PER_BATCH = 200

OnProgress = Callable[[int], None]
"""Hears how many keys were met."""


def ignore_progress(count: int) -> None:
    """Nobody watches."""


async def scan_raw_keys(node: Node, on_progress: OnProgress, pattern: str | None = None) -> AsyncIterator[list[bytes]]:
    """The keys of a node as they come, those of others among them; a step may be empty."""
    cursor, match = b"0", ("MATCH", pattern) if pattern else ()
    while True:
        cursor, found = await node.execute("SCAN", cursor, "COUNT", KEYS_PER_SCAN, *match)
        on_progress(len(found))
        yield found
        if cursor == b"0":
            return


async def scan_store(
    store: Store, on_progress: OnProgress = ignore_progress, *, pattern: str | None = None
) -> AsyncIterator[list[Key]]:
    """Every key that stands from the beginning to the end of the walk; some may come twice."""
    for node in store.nodes:
        async for found in scan_raw_keys(node, on_progress, pattern):
            if keys := parse_keys(found):
                yield keys


async def sample_keys(store: Store, count: int, on_progress: OnProgress = ignore_progress) -> AsyncIterator[list[Key]]:
    """About `count` keys picked at random."""
    for node, share in await _picks_by_node(store, count):
        for start in range(0, share, RANDOM_KEYS_PER_BATCH):
            picks = min(RANDOM_KEYS_PER_BATCH, share - start)
            found = await node.pipeline([("RANDOMKEY",)] * picks)
            on_progress(picks)
            yield parse_keys(list(dict.fromkeys(key for key in found if key is not None)))


async def count_keys(store: Store) -> int:
    """How many keys all nodes hold, keys of others among them."""
    return sum([int(await node.execute("DBSIZE")) for node in store.nodes])


async def _picks_by_node(store: Store, count: int) -> list[tuple[Node, int]]:
    """How many to pick on each node, by its size; what is rounded off goes to one of them."""
    sizes = [int(await node.execute("DBSIZE")) for node in store.nodes]
    shares = [count * size // max(1, sum(sizes)) for size in sizes]
    shares[random.randrange(len(shares))] += count - sum(shares)  # noqa: S311 - not a secret
    return [(node, share) for node, share, size in zip(store.nodes, shares, sizes, strict=True) if size]


def parse_keys(found: list[bytes]) -> list[Key]:
    """Those that are keys of a site; a server may hold others, too."""
    keys: list[Key] = []
    for text in found:
        try:
            keys.append(Key.parse(text.decode()))
        except ValueError:  # UnicodeDecodeError is one
            continue
    return keys
