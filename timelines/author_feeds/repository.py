"""Profile timelines and the public one: ZSETs whose score and member are the post id."""

from collections.abc import Iterable, Sequence

from socialsite.ids import AccountId, PostId
from socialsite.store import Command, Key, Read, Reply, Store
from timelines import keys


class ZsetTimelines:
    """A timeline as a capped ZSET of ids. Bounds are exclusive."""

    def __init__(self, store: Store, component: str, cap: int) -> None:
        self._store = store
        self._component = store.component(component)
        self._cap = cap

    async def _add(self, key: Key, post_id: PostId) -> None:
        trim = ("ZREMRANGEBYRANK", key, 0, -self._cap - 1)
        await self._component.write(key, ("ZADD", key, post_id, post_id), trim)

    async def _remove(self, key: Key, post_id: PostId) -> None:
        await self._component[key].execute("ZREM", key, post_id)

    async def _read(self, key: Key, edge: int, limit: int, *, upward: bool, may_lag: bool = False) -> list[PostId]:
        command = range_command(key, edge, limit, upward=upward)
        return parse_ids((await self._component.gather([command], may_lag=may_lag))[0])


def range_command(key: Key, edge: int, limit: int, *, upward: bool) -> Command:
    """The `limit` ids directly below `edge` (newest first) or directly above it (oldest first)."""
    if upward:
        return ("ZRANGEBYSCORE", key, f"({edge}", "+inf", "LIMIT", 0, limit)
    return ("ZREVRANGEBYSCORE", key, f"({edge}", "-inf", "LIMIT", 0, limit)


def parse_ids(reply: Reply) -> list[PostId]:
    return [PostId(int(member)) for member in reply]


class AuthorFeedRepository(ZsetTimelines):
    """`timelines:{<account id>}:profile`, the source that homes and lists are rebuilt from.

    With PROFILE_PARTITIONS above 1 in parts, all asked at once and merged (listing 10.14). The cap holds for
    each part, so that the newest `cap` posts are there however they fall.
    """

    def __init__(self, store: Store, cap: int, partitions: int = 1) -> None:
        super().__init__(store, "timelines", cap)
        self.keys = keys.AuthorFeedKeys(partitions)

    async def add(self, account_id: AccountId, post_id: PostId) -> None:
        await self._add(self.keys.of_post(account_id, post_id), post_id)

    async def remove(self, account_id: AccountId, post_id: PostId) -> None:
        await self._remove(self.keys.of_post(account_id, post_id), post_id)

    async def read(
        self, account_id: AccountId, edge: int, limit: int, *, upward: bool, may_lag: bool = False
    ) -> list[PostId]:
        return (await self.read_many([(account_id, edge, limit)], upward=upward, may_lag=may_lag))[0]

    async def read_many(
        self, parts: Sequence[tuple[AccountId, int, int]], *, upward: bool, may_lag: bool = False
    ) -> list[list[PostId]]:
        """(account, edge, limit) for each profile, one round trip a node."""
        asked = [self.keys.feed_keys(account_id) for account_id, _, _ in parts]
        commands = [
            range_command(key, edge, limit, upward=upward)
            for places, (_, edge, limit) in zip(asked, parts, strict=True)
            for key in places
        ]
        replies = iter(await self._component.gather(commands, may_lag=may_lag))
        found = ([parse_ids(next(replies)) for _ in places] for places in asked)
        return [merge_parts(each, limit, upward=upward) for each, (_, _, limit) in zip(found, parts, strict=True)]

    def read_ids(
        self, account_id: AccountId, edge: int, limit: int, *, upward: bool, may_lag: bool = False
    ) -> Read[list[PostId]]:
        """As `read`, for a round trip that asks other things too."""
        commands = [range_command(key, edge, limit, upward=upward) for key in self.keys.feed_keys(account_id)]

        def understand(replies: Sequence[Reply]) -> list[PostId]:
            return merge_parts(list(map(parse_ids, replies)), limit, upward=upward)

        return Read(commands, understand, may_lag=may_lag)

    def read_count(self, account_id: AccountId, *, may_lag: bool = False) -> Read[int]:
        """How many posts there are."""
        return Read([("ZCARD", key) for key in self.keys.feed_keys(account_id)], sum, may_lag=may_lag)

    async def count(self, account_id: AccountId) -> int:
        (count,) = await self._store.read(self.read_count(account_id))
        return int(count)


def merge_parts(parts: Sequence[list[PostId]], limit: int, *, upward: bool) -> list[PostId]:
    """The `limit` nearest ids of a profile's parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    return sorted((id for part in parts for id in part), reverse=not upward)[:limit]


class PublicTimelineRepository(ZsetTimelines):
    """`public:{public}:posts`, a cache of the newest posts of everybody."""

    def __init__(self, store: Store, cap: int) -> None:
        super().__init__(store, "public", cap)

    async def add(self, post_id: PostId) -> None:
        await self._add(keys.public_timeline(), post_id)

    async def add_many(self, post_ids: Iterable[PostId]) -> None:
        """For imports and rebuilds; the cap holds afterwards."""
        key = keys.public_timeline()
        commands: list[Command] = [("ZADD", key, post_id, post_id) for post_id in post_ids]
        commands.append(("ZREMRANGEBYRANK", key, 0, -self._cap - 1))
        await self._component[key].pipeline(commands)

    async def remove(self, post_id: PostId) -> None:
        await self._remove(keys.public_timeline(), post_id)

    async def read(self, edge: int, limit: int, *, upward: bool, may_lag: bool = False) -> list[PostId]:
        return await self._read(keys.public_timeline(), edge, limit, upward=upward, may_lag=may_lag)

    async def replace(self, old_ids: Iterable[PostId], post_ids: Iterable[PostId]) -> None:
        """Rebuild: `old_ids` is what stood there before the sources were read; posts added since stay."""
        key, right = keys.public_timeline(), set(post_ids)
        drops: list[Command] = [("ZREM", key, post_id) for post_id in old_ids if post_id not in right]
        await self._component[key].pipeline(drops)
        await self.add_many(right)
