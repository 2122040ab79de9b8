"""Questions about sides of pair edges as they are sent; pages ask them by the dozen (store/batches.py)."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from socialsite.store.batches import wire_of, wire_text
from socialsite.store.key import KEPT, Key
from socialsite.store.scripts import encode

KeyOfSide = Callable[[str, int], Key]  # (tag of the partition, id whose side it is) -> key


def group_wires(groups: Mapping[int, Sequence[int]]) -> list[tuple[int, bytes, bytes]]:
    """Of each group the number of its partition, how its ZMSCORE starts and how it ends."""
    return [
        (number, b"*%d\r\n" % (len(members) + 2), b"".join(map(wire_of, members)))
        for number, members in groups.items()
    ]


def scores_wire(heads: Sequence[bytes], groups: Sequence[tuple[int, bytes, bytes]]) -> bytes:
    """A ZMSCORE of each group; `heads`: its name and key, of all partitions."""
    return b"".join([part for number, start, end in groups for part in (start, heads[number], end)])


@lru_cache(maxsize=KEPT)
def scores_heads(key: KeyOfSide, tags: tuple[str, ...], owner: int) -> tuple[bytes, ...]:
    return tuple(wire_text("ZMSCORE") + wire_text(key(tag, owner)) for tag in tags)


@lru_cache(maxsize=KEPT)
def sizes_wire(key: KeyOfSide, tags: tuple[str, ...], owner: int) -> bytes:
    return b"".join([encode(("ZCARD", key(tag, owner))) for tag in tags])


@lru_cache(maxsize=KEPT)
def walk_wire(
    key: KeyOfSide, tags: tuple[str, ...], owner: int, last: int, with_times: bool = False
) -> bytes:
    told = ("WITHSCORES",) if with_times else ()
    return b"".join([encode(("ZRANGE", key(tag, owner), 0, last, *told)) for tag in tags])
