"""The stored state of imports: the post of each source, and the most followed accounts of imported graphs.

A source is an imported row. Its key contains the post's id, which is negative until the post is in all its sets. So the
next run after an interrupted import skips finished sources and repeats started sources with the same ids.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from socialsite.batches import batches
from socialsite.ids import PostId
from socialsite.store import Command, Key, Reply, Repository, Store
from timelines import keys
from timelines.author_timelines.hashtag_timelines import add_commands
from timelines.posts.counts import add_member_command
from timelines.posts.post import Post, encode_post
from timelines.posts.repository import WRITE_POST_SCRIPT
from timelines.posts.stored_values import PENDING

COMMANDS_PER_ROUND = 500
ACCOUNTS_PER_READ = 1_000
CLAIM_TTL_S = 24 * 3600
GRAPH_RANKS_CAP = 100_000


class Source(NamedTuple):
    """The state of a source: its post id, and `is_done`, which is True if the post is in all its sets."""

    post_id: PostId
    is_done: bool


class ImportedPosts:
    """Reads and writes the keys `posts:{<digest of a source id>}:source`, and writes posts in bulk."""

    def __init__(self, store: Store, *, profile_cap: int, profile_partitions: int = 1) -> None:
        self._store = store
        self._profile_cap = profile_cap
        self._profiles = keys.AuthorTimelineKeys(profile_partitions)

    async def sources(self, source_ids: Iterable[str]) -> dict[str, Source]:
        """Return the state of each source id that was imported or started before."""
        ids = list(dict.fromkeys(source_ids))
        replies = await self._gather([("GET", source_key(source_id)) for source_id in ids])
        pairs = zip(ids, replies, strict=True)
        return {source_id: parse_source(reply) for source_id, reply in pairs if reply is not None}

    async def claim(self, wanted: Sequence[tuple[str, PostId]]) -> dict[str, Source]:
        """Assign to each source its wanted post id, or the next free id above it."""
        sources: dict[str, Source] = {}
        while wanted:
            claims = [("SET", keys.post(id), PENDING, "NX", "EX", CLAIM_TTL_S) for _, id in wanted]
            replies = await self._gather(claims)
            won = [pair for pair, reply in zip(wanted, replies, strict=True) if reply is not None]
            wanted = [(s, PostId(id + 1)) for (s, id), reply in zip(wanted, replies, strict=True) if reply is None]
            binds = [("SET", source_key(source_id), -id, "NX") for source_id, id in won]
            await self._gather(binds)
            # If another run has assigned an id to the source meanwhile, that id is used, and our reservation expires.
            sources |= await self.sources(source_id for source_id, _ in won)
        return sources

    async def write(self, posts: Sequence[Post]) -> list[Post]:
        """Store the posts under their reserved ids. Return the posts that were not deleted meanwhile."""
        replies = await self._gather(
            [WRITE_POST_SCRIPT.command([keys.post(post.id)], [encode_post(post)]) for post in posts]
        )
        return [post for post, reply in zip(posts, replies, strict=True) if reply > 0]

    async def write_versions(self, former: Sequence[Post]) -> None:
        """Store the former versions of a post that is not written yet, oldest first."""
        if former:
            key = keys.post_versions(former[0].id)
            await self._gather([("DEL", key), ("RPUSH", key, *map(encode_post, former))])

    async def forget_sources(self, digests: Iterable[str]) -> None:
        """Forget sources, so that their rows can be imported again."""
        await self._gather([("DEL", keys.import_source(digest)) for digest in digests])

    async def place(self, posts: Sequence[Post]) -> None:
        """Add the posts to their author timelines, their parents' replies and their hashtag timelines."""
        commands: list[Command] = []
        for post in posts:
            commands.append(("ZADD", self._profiles.of_post(post.author_id, post.id), post.id, post.id))
            if post.in_reply_to is not None:
                commands.append(add_member_command(keys.replies, post.in_reply_to, post.id, post.id))
        for profile in {self._profiles.of_post(post.author_id, post.id) for post in posts}:
            commands.append(("ZREMRANGEBYRANK", profile, 0, -self._profile_cap - 1))
        commands += add_commands(posts)
        await self._gather(commands)

    async def finish(self, done: Iterable[tuple[str, PostId]]) -> None:
        """Record that the posts of these sources are in all their sets."""
        await self._gather([("SET", source_key(source_id), post_id) for source_id, post_id in done])

    async def _gather(self, commands: Sequence[Command]) -> list[Reply]:
        """Execute commands, at most COMMANDS_PER_ROUND in one round trip, so that other requests do not wait long."""
        rounds = batches(commands, COMMANDS_PER_ROUND)
        return [reply for some in rounds for reply in await self._store.execute_all(some)]


class GraphRanks(Repository):
    """The ZSET `timelines:{graph}:ranks`: account id -> number of followers in the imported graph files."""

    async def record(self, followers: Iterable[tuple[int, int]]) -> None:
        """Add pairs (account id, followers in the file).

        Above the cap, the accounts with the fewest followers are removed.
        """
        key = keys.imported_graph_ranks()
        for batch in batches(followers, COMMANDS_PER_ROUND):
            await self._timelines.execute("ZADD", key, *(part for id, count in batch for part in (count, id)))
        await self._timelines.execute("ZREMRANGEBYRANK", key, 0, -GRAPH_RANKS_CAP - 1)

    async def most_followed(self, limit: int) -> list[int]:
        """Return account ids; the account with most followers comes first."""
        key = keys.imported_graph_ranks()
        account_ids: list[int] = []
        for start in range(0, min(limit, GRAPH_RANKS_CAP), ACCOUNTS_PER_READ):
            last = min(limit, start + ACCOUNTS_PER_READ) - 1
            account_ids += map(int, await self._timelines.execute("ZREVRANGE", key, start, last))
        return account_ids


def source_key(source_id: str) -> Key:
    """Return the key of a source. It contains a digest of the source id, because keys never contain user text."""
    return keys.import_source(digest_of(source_id))


def digest_of(source_id: str) -> str:
    return hashlib.sha256(source_id.encode()).hexdigest()[:32]


def parse_source(reply: bytes) -> Source:
    number = int(reply)
    return Source(PostId(abs(number)), number > 0)
