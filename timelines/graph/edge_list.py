"""Reads one side of pair edges: for an owner id, the ids at the other ends of its edges, in all partitions.

Examples are the followers of an account, the accounts that it follows, the members of a list, and the lists that
contain an account. The module edges.py writes both sides of an edge.

There is one ZSET per partition and owner. A member is the other id, and its score is the time of the edge (Unix ms).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, compress
from typing import Generic, TypeVar, cast

from socialsite.store import Command, Key, KeyDataShardedConnection, PreparedCommand, Read, Reply, prepare_command
from socialsite.store.key import READER_CACHE_SIZE
from socialsite.store.pair_partitions import PartitionLayout, partitions_of_pairs
from timelines.graph.follow import FIRST_PASS, FollowCursor, FollowPage, PassCursor, PassPage
from timelines.graph.zset_page import TIES_AFTER, read_account_page
from timelines.keys import EdgeKey

LAYOUT_VERSION_FACTOR = 1 << 16
"""A stored cursor contains `layout version * factor + partition` (docs/reference/migration.md)."""
"""The number of owners whose encoded keys are cached. With 16 partitions this takes about 17 MB."""

MEMBERS_PER_FIRST_READ, MEMBERS_PER_PASS = 100, 1_000
"""`ids_of_many` first reads this number of ids of each partition, and the edges of owners with more ids in passes."""

Id = TypeVar("Id", bound=int)


class EdgeList(Generic[Id]):
    """Reads one side of edges: counts, lookups, pages, and passes for fan-out."""

    def __init__(self, pairs: KeyDataShardedConnection, key: EdgeKey) -> None:
        self._pairs = pairs
        self._key = key

    def keys(self, owner: int, first: int = 0) -> list[Key]:
        """Return the keys of the owner in the partitions from `first` on."""
        return [self._key(tag, owner) for tag in self._tags[first:]]

    @property
    def _tags(self) -> tuple[str, ...]:
        return self._pairs.layout.tags

    # Counts and lookups

    def count(self, owner: int) -> Read[int]:
        return Read(_count_commands(self._key, self._tags, owner), sum, self._pairs)

    def time_of(self, owner: int, id: Id) -> Read[int | None]:
        """Read the time (Unix ms) of the edge with one id, or None if there is no edge."""
        (number,) = partitions_of_pairs(owner, (id,), self._pairs.count)
        command = "ZSCORE", self._key(self._tags[number], owner), id
        return Read([command], lambda replies: None if replies[0] is None else int(replies[0]), self._pairs)

    def times_among(self, owner: int, ids: Collection[Id]) -> Read[dict[Id, int]]:
        """Read the times (Unix ms) of the edges with `ids`. Ids without an edge are left out."""
        groups = self._partition(owner, ids)

        def parse(replies: Sequence[Reply]) -> dict[Id, int]:
            members, scores = chain.from_iterable(groups.values()), list(chain.from_iterable(replies))
            times = zip(compress(members, scores), map(int, filter(None, scores)), strict=True)
            return cast("dict[Id, int]", dict(times))

        return Read(self._scores(owner, groups), parse, self._pairs)

    def among(self, owner: int, ids: Collection[Id]) -> Read[set[Id]]:
        """Read the ids among `ids` with which the owner has an edge."""
        groups = self._partition(owner, ids)

        def parse(replies: Sequence[Reply]) -> set[Id]:
            members = set(compress(chain.from_iterable(groups.values()), chain.from_iterable(replies)))
            return cast("set[Id]", members)

        return Read(self._scores(owner, groups), parse, self._pairs)

    def _partition(self, owner: int, ids: Collection[Id]) -> dict[int, list[int]]:
        """Group ids by the partition of their edge with the owner."""
        groups: dict[int, list[int]] = {}
        for id, number in zip(ids, partitions_of_pairs(owner, ids, self._pairs.count), strict=True):
            if number in groups:
                groups[number].append(id)
            else:
                groups[number] = [id]
        return groups

    def _scores(self, owner: int, groups: Mapping[int, Sequence[int]]) -> list[Command]:
        """Return one ZMSCORE per partition. In its reply, the score of a missing member is None."""
        keys = _keys_of_owner(self._key, self._tags, owner)
        return [("ZMSCORE", keys[number], *members) for number, members in groups.items()]

    # Whole lists and pages

    def ids(self, owner: int, limit: int) -> Read[list[Id]]:
        """Read all ids, at most `limit`, partition by partition, and the oldest of each partition first."""
        return self.first_ids(owner, limit).map(lambda ids: ids[:limit])

    def first_ids(self, owner: int, per_partition: int) -> Read[list[Id]]:
        """Read the oldest ids, partition by partition, at most `per_partition` of each."""
        # Most owners are read at most once a day, so the cache of keys is not used for them.
        commands = [("ZRANGE", _uncached_key(self._key, tag, owner), 0, per_partition - 1) for tag in self._tags]
        return Read(commands, lambda replies: cast("list[Id]", _parse_ids(replies)), self._pairs)

    def times(self, owner: int, limit: int) -> Read[dict[Id, int]]:
        """Read all ids, at most `limit`, with the times of their edges (Unix ms)."""
        keys = [_uncached_key(self._key, tag, owner) for tag in self._tags]

        def parse(replies: Sequence[Reply]) -> dict[Id, int]:
            flat = list(chain.from_iterable(replies))[: 2 * limit]
            return cast("dict[Id, int]", dict(zip(map(int, flat[::2]), map(int, flat[1::2]), strict=True)))

        return Read([("ZRANGE", key, 0, limit - 1, "WITHSCORES") for key in keys], parse, self._pairs)

    def page(self, owner: int, cursor: FollowCursor | None, limit: int) -> Read[FollowPage]:
        """Read a page of the accounts of the edges after `cursor`, newest edge first."""
        return read_account_page(self._pairs, self.keys(owner), cursor, limit)

    async def ids_of_many(self, owners: Sequence[int]) -> set[Id]:
        """Return the ids of all edges of the owners, in one round trip for owners with few edges."""
        tags = self._tags
        prefixes = [self._key(tag, 0) for tag in tags]
        keys = [prefix.with_last_part(owner) for owner in owners for prefix in prefixes]
        replies = await self._pairs.execute_all([("ZRANGE", key, 0, MEMBERS_PER_FIRST_READ - 1) for key in keys])
        ids = set(_parse_ids(replies))
        for number, owner in enumerate(owners):
            own = replies[number * len(tags) : (number + 1) * len(tags)]
            cursor = FIRST_PASS if max(map(len, own)) == MEMBERS_PER_FIRST_READ else None
            while cursor is not None:
                page = await self.next_pass(owner, cursor, MEMBERS_PER_PASS)
                ids.update(page.ids)
                cursor = page.next
        return cast("set[Id]", ids)

    # Passes

    async def next_pass(self, owner: int, cursor: PassCursor, limit: int) -> PassPage[Id]:
        """Read up to `limit` ids after `cursor`, ordered by partition, time, id. The first cursor is FIRST_PASS.

        The first round trip reads the rest of the cursor's partition and the sizes of the following partitions. The
        second round trip reads as many of these as the pass has room for. One id above the limit is read, to detect
        the end. Only the score of the last id is read, because each score costs the server 0.3 us. If edges were
        added or removed between the read of the members and of the score, the next pass begins with the same
        partition.
        """
        layout = self._pairs.layout
        cursor = from_stored_cursor(layout, cursor)
        first, *rest = self.keys(owner, cursor.partition)
        newer_than = "ZRANGE", first, f"({cursor.at_ms}", "+inf", "BYSCORE", "LIMIT"
        ties, newer, end, *sizes = await self._pairs.execute_all(
            [
                TIES_AFTER.command((first,), ("up", cursor.at_ms, str(cursor.id), limit + 1)),
                (*newer_than, 0, limit + 1),
                (*newer_than, limit - 1, 1, "WITHSCORES"),
                *(("ZCARD", key) for key in rest),
            ]
        )
        room = limit - len(ties)
        if ties and 0 < room < len(newer):  # `ties` fill a part of the pass, so it ends at another id
            newer, end = await self._pairs.execute_all(
                [(*newer_than, 0, room + 1), (*newer_than, room - 1, 1, "WITHSCORES")]
            )
        ids: list[bytes] = [*ties, *newer]
        if len(ids) > limit:
            next = _cursor_behind(cursor, ids[limit - 1], end if room > 0 else None)
            return PassPage(ids[:limit], to_stored_cursor(layout, next))
        shares = share_room(sizes, limit + 1 - len(ids))
        more, stop = await self._next_partitions(rest, shares, limit - len(ids))
        if stop is None:
            return PassPage(ids + more, None)
        at, end = stop
        start = PassCursor.start_of(cursor.partition + 1 + at)
        next = _cursor_behind(start, end[0], end) if end else start
        return PassPage(ids + more, to_stored_cursor(layout, next))

    async def _next_partitions(
        self, keys: Sequence[Key], shares: Sequence[int], room: int
    ) -> tuple[list[bytes], tuple[int, Sequence[bytes]] | None]:
        """Read at most `room` ids of the partitions `keys`. Return them and the position of the next pass.

        The position is the index of a partition and its last (id, score), or () for the start of the partition. It is
        None if no ids are left. A partition is read as far as there is room, even beyond its counted size. Otherwise
        old edges that an import inserts meanwhile would push other ids out of the pass.
        """
        rooms = [room + 1 - sum(shares[:at]) for at in range(len(shares))]
        reads: list[Command] = [("ZRANGE", key, 0, size - 1) for key, size in zip(keys, rooms, strict=False)]
        rank = rooms[-1] - 2 if rooms else -1
        if 0 <= rank < shares[-1]:
            reads.append(("ZRANGE", keys[len(shares) - 1], rank, rank, "WITHSCORES"))
        replies = await self._pairs.execute_all(reads)
        end = replies.pop() if len(replies) > len(shares) else []
        ids: list[bytes] = []
        for at, (reply, size) in enumerate(zip(replies, rooms, strict=True)):
            if len(reply) >= size or len(ids) + len(reply) > room:
                is_planned = at == len(shares) - 1 and end and reply[rank : rank + 1] == end[:1]
                if not is_planned or len(ids) + rank + 1 > room:
                    # Never return an empty pass, which a caller that removes edges would take for the end.
                    return ids or reply[:room], (at, ())
                return ids + reply[: rank + 1], (at, end)
            ids += reply
        return ids, (len(shares), ()) if len(shares) < len(keys) else None


# The cursor of a pass


def from_stored_cursor(layout: PartitionLayout, cursor: PassCursor) -> PassCursor:
    """Return the cursor for `layout`. It is FIRST_PASS if the cursor was stored under another layout."""
    version, number = divmod(cursor.partition, LAYOUT_VERSION_FACTOR)
    if version != layout.version:
        return FIRST_PASS
    return replace(cursor, partition=number)


def to_stored_cursor(layout: PartitionLayout, cursor: PassCursor) -> PassCursor:
    return replace(cursor, partition=layout.version * LAYOUT_VERSION_FACTOR + cursor.partition)


def share_room(sizes: list[int], room: int) -> list[int]:
    """Return how many members to read of each of the first partitions until `room` is used up."""
    shares = []
    for size in sizes:
        if room <= 0:
            break
        shares.append(min(size, room))
        room -= size
    return shares


def _cursor_behind(cursor: PassCursor, last: bytes, end: Sequence[bytes] | None) -> PassCursor:
    """Return the cursor after the id `last`. `end` is its (id, score), or None if `cursor` has its score.

    If `end` is another id, edges changed between two commands of a round trip. The result is then `cursor` itself.
    """
    if end is None:
        return PassCursor(cursor.partition, cursor.at_ms, int(last))
    return PassCursor(cursor.partition, int(end[1]), int(last)) if end and end[0] == last else cursor


# Keys and commands are cached, because hydration reads counts and edges of dozens of owners for each page


@lru_cache(maxsize=READER_CACHE_SIZE)
def _keys_of_owner(key: EdgeKey, tags: tuple[str, ...], owner: int) -> tuple[Key, ...]:
    return tuple([_uncached_key(key, tag, owner) for tag in tags])


@lru_cache(maxsize=READER_CACHE_SIZE)
def _count_commands(key: EdgeKey, tags: tuple[str, ...], owner: int) -> tuple[PreparedCommand, ...]:
    return tuple([prepare_command("ZCARD", _uncached_key(key, tag, owner)) for tag in tags])


def _uncached_key(key: EdgeKey, tag: str, owner: int) -> Key:
    """Call the key builder without its cache."""
    build: EdgeKey = getattr(key, "__wrapped__", key)
    return build(tag, owner)


def _parse_ids(replies: Sequence[Reply]) -> list[int]:
    return list(map(int, chain.from_iterable(replies)))
