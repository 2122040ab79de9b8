"""Stores author timelines and the public timeline in sorted sets. The post id is the score and the member."""

from collections.abc import Iterable, Sequence

from socialsite.ids import AccountId, PostId
from socialsite.store import Command, Key, Read, Reply, Store
from timelines import keys


class ZsetTimelines:
    """The base class of timelines that are capped sorted sets of post ids. Bounds are exclusive."""

    def __init__(self, store: Store, component: str, cap: int) -> None:
        self._component = store.component(component)
        self._cap = cap

    async def _add(self, key: Key, post_id: PostId) -> None:
        trim = ("ZREMRANGEBYRANK", key, 0, -self._cap - 1)
        await self._component.write_all([("ZADD", key, post_id, post_id), trim])

    async def _remove(self, key: Key, post_id: PostId) -> None:
        await self._component[key].execute("ZREM", key, post_id)

    def _read(self, key: Key, bound: int, limit: int, *, upward: bool) -> Read[list[PostId]]:
        command = range_command(key, bound, limit, upward=upward)
        return Read([command], lambda replies: parse_ids(replies[0]), self._component)


def range_command(key: Key, bound: int, limit: int, *, upward: bool) -> Command:
    """Return the command that reads `limit` ids next to `bound`: below it newest first, or above it oldest first."""
    if upward:
        return ("ZRANGEBYSCORE", key, f"({bound}", "+inf", "LIMIT", 0, limit)
    return ("ZREVRANGEBYSCORE", key, f"({bound}", "-inf", "LIMIT", 0, limit)


def parse_ids(reply: Reply) -> list[PostId]:
    return [PostId(int(member)) for member in reply]


class AuthorTimelineRepository(ZsetTimelines):
    """The repository of `timelines:{<account id>}:profile`, from which home and list timelines are rebuilt.

    If PROFILE_PARTITIONS is above 1, a timeline has several parts, which are read together and merged (Redis in Action,
    section 10.3, listing 10.14). The cap applies to each part, so that the newest `cap` posts are always present.
    """

    def __init__(self, store: Store, cap: int, partitions: int = 1) -> None:
        super().__init__(store, "timelines", cap)
        self.keys = keys.AuthorTimelineKeys(partitions)

    async def add(self, account_id: AccountId, post_id: PostId) -> None:
        await self._add(self.keys.of_post(account_id, post_id), post_id)

    async def remove(self, account_id: AccountId, post_id: PostId) -> None:
        await self._remove(self.keys.of_post(account_id, post_id), post_id)

    def read(self, account_id: AccountId, bound: int, limit: int, *, upward: bool) -> Read[list[PostId]]:
        """Return the `limit` ids of a timeline that are nearest to `bound`, the nearest first."""
        commands = [range_command(key, bound, limit, upward=upward) for key in self.keys.timeline_keys(account_id)]

        def parse(replies: Sequence[Reply]) -> list[PostId]:
            return merge_parts(list(map(parse_ids, replies)), limit, upward=upward)

        return Read(commands, parse, self._component)

    def read_many(self, timelines: Sequence[tuple[AccountId, int, int]], *, upward: bool) -> Read[list[list[PostId]]]:
        """Read several timelines like `read`. Each element of `timelines` is (account, bound, limit)."""
        timeline_keys = [self.keys.timeline_keys(account_id) for account_id, _, _ in timelines]
        commands = [
            range_command(key, bound, limit, upward=upward)
            for part_keys, (_, bound, limit) in zip(timeline_keys, timelines, strict=True)
            for key in part_keys
        ]

        def parse(replies: Sequence[Reply]) -> list[list[PostId]]:
            remaining = iter(replies)
            parts = ([parse_ids(next(remaining)) for _ in part_keys] for part_keys in timeline_keys)
            return [merge_parts(ids, limit, upward=upward) for ids, (_, _, limit) in zip(parts, timelines, strict=True)]

        return Read(commands, parse, self._component)

    def count(self, account_id: AccountId) -> Read[int]:
        return Read([("ZCARD", key) for key in self.keys.timeline_keys(account_id)], sum, self._component)


def merge_parts(parts: Sequence[list[PostId]], limit: int, *, upward: bool) -> list[PostId]:
    """Merge the ids of the parts of a timeline. Return at most `limit` ids, the nearest to the bound first."""
    if len(parts) == 1:
        return parts[0]
    return sorted((id for part in parts for id in part), reverse=not upward)[:limit]


class PublicTimelineRepository(ZsetTimelines):
    """The repository of `public:{public}:posts`, a cache of the newest public posts of all accounts."""

    def __init__(self, store: Store, cap: int) -> None:
        super().__init__(store, "public", cap)

    async def add(self, post_id: PostId) -> None:
        await self._add(keys.public_timeline(), post_id)

    async def add_many(self, post_ids: Iterable[PostId]) -> None:
        """Add posts of an import or a rebuild, and trim the timeline to its cap."""
        key = keys.public_timeline()
        commands: list[Command] = [("ZADD", key, post_id, post_id) for post_id in post_ids]
        commands.append(("ZREMRANGEBYRANK", key, 0, -self._cap - 1))
        await self._component[key].execute_all(commands)

    async def remove(self, post_id: PostId) -> None:
        await self._remove(keys.public_timeline(), post_id)

    def read(self, bound: int, limit: int, *, upward: bool) -> Read[list[PostId]]:
        return self._read(keys.public_timeline(), bound, limit, upward=upward)

    async def replace(self, old_ids: Iterable[PostId], post_ids: Iterable[PostId]) -> None:
        """Replace the timeline in a rebuild. Read `old_ids` from it before reading the sources.

        Posts that were added to the timeline after that stay.
        """
        key, new_ids = keys.public_timeline(), set(post_ids)
        removals: list[Command] = [("ZREM", key, post_id) for post_id in old_ids if post_id not in new_ids]
        await self._component[key].execute_all(removals)
        await self.add_many(new_ids)
