"""Questions about sides of pair edges as they are sent; pages ask them by the dozen (store/batches.py)."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

from socialsite.store.commands import encode
from socialsite.store.encoding import encode_int, encode_text
from socialsite.store.key import Key

KeyOfSide = Callable[[str, int], Key]  # (tag of the partition, id whose side it is) -> key
OWNERS = 5_000  # whose keys stay encoded, of all partitions: with 16 about 12 MB of heads and 5 of each other


def group_wires(groups: Mapping[int, Sequence[int]]) -> list[tuple[int, bytes, bytes]]:
    """Of each group (ids by the number of their partition) that number, and its ZMSCORE but for name and key:
    what is sent before these, what after. So one grouping is asked of several sides."""
    return [(number, _lead(len(members)), b"".join(map(encode_int, members))) for number, members in groups.items()]


@cache
def _lead(members: int) -> bytes:
    """How a ZMSCORE of so many begins."""
    return b"*%d\r\n" % (members + 2)


def scores_wire(heads: Sequence[bytes], groups: Sequence[tuple[int, bytes, bytes]]) -> bytes:
    """A ZMSCORE of each of `group_wires`; `heads`: of the side asked, see `scores_heads`."""
    return b"".join([part for number, start, end in groups for part in (start, heads[number], end)])


@lru_cache(maxsize=OWNERS)
def scores_heads(key: KeyOfSide, tags: tuple[str, ...], owner: int) -> tuple[bytes, ...]:
    """Name and key of the side's ZMSCORE, by the number of the partition."""
    return tuple(encode_text("ZMSCORE") + encode_text(made(key, tag, owner)) for tag in tags)


@lru_cache(maxsize=OWNERS)
def sizes_wire(key: KeyOfSide, tags: tuple[str, ...], owner: int) -> bytes:
    """A ZCARD of each partition."""
    return b"".join([encode(("ZCARD", made(key, tag, owner))) for tag in tags])


@lru_cache(maxsize=OWNERS)
def walk_wire(key: KeyOfSide, tags: tuple[str, ...], owner: int, last: int, with_times: bool = False) -> bytes:
    """A ZRANGE of each partition, by rank from 0 to `last`; `with_times`: WITHSCORES."""
    told = ("WITHSCORES",) if with_times else ()
    return b"".join([encode(("ZRANGE", made(key, tag, owner), 0, last, *told)) for tag in tags])


def made(key: KeyOfSide, tag: str, owner: int) -> Key:
    """A key that its builder does not keep: what is sent is kept here, or nothing is."""
    build: KeyOfSide = getattr(key, "__wrapped__", key)
    return build(tag, owner)
