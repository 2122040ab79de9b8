"""Walks over all keys of a store: SCAN on each node, never KEYS, a bounded number a step."""

import random
from collections.abc import AsyncIterator, Callable

from socialsite.store import Key, Node, Store

KEYS_PER_STEP = 500
RANDOM_PER_STEP = 200

OnStep = Callable[[int], None]
"""Hears how many keys were met."""


def ignore_step(count: int) -> None:
    """Nobody watches."""


async def steps(node: Node, on_step: OnStep, pattern: str | None = None) -> AsyncIterator[list[bytes]]:
    """The keys of a node as they come, those of others among them; a step may be empty."""
    cursor, match = b"0", ("MATCH", pattern) if pattern else ()
    while True:
        cursor, found = await node.execute("SCAN", cursor, "COUNT", KEYS_PER_STEP, *match)
        on_step(len(found))
        yield found
        if cursor == b"0":
            return


async def scanned(
    store: Store, on_step: OnStep = ignore_step, *, pattern: str | None = None
) -> AsyncIterator[list[Key]]:
    """Every key that stands from the beginning to the end of the walk; some may come twice."""
    for node in store.nodes:
        async for found in steps(node, on_step, pattern):
            if keys := keys_of(found):
                yield keys


async def sampled(store: Store, count: int, on_step: OnStep = ignore_step) -> AsyncIterator[list[Key]]:
    """About `count` keys picked at random."""
    for node, share in await _shares(store, count):
        for start in range(0, share, RANDOM_PER_STEP):
            picks = min(RANDOM_PER_STEP, share - start)
            found = await node.pipeline([("RANDOMKEY",)] * picks)
            on_step(picks)
            yield keys_of(list(dict.fromkeys(key for key in found if key is not None)))


async def key_count(store: Store) -> int:
    """How many keys all nodes hold, keys of others among them."""
    return sum([int(await node.execute("DBSIZE")) for node in store.nodes])


async def _shares(store: Store, count: int) -> list[tuple[Node, int]]:
    """How many to pick on each node, by its size; what is rounded off goes to one of them."""
    sizes = [int(await node.execute("DBSIZE")) for node in store.nodes]
    shares = [count * size // max(1, sum(sizes)) for size in sizes]
    shares[random.randrange(len(shares))] += count - sum(shares)  # noqa: S311 - not a secret
    return [(node, share) for node, share, size in zip(store.nodes, shares, sizes, strict=True) if size]


def keys_of(found: list[bytes]) -> list[Key]:
    """Those that are keys of a site; a server may hold others, too."""
    keys: list[Key] = []
    for text in found:
        try:
            keys.append(Key.parse(text.decode()))
        except ValueError:  # UnicodeDecodeError is one
            continue
    return keys
