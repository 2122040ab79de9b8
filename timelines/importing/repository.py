"""What imports keep: which source became which post, and who leads the imported graph.

A source's key holds the post's id, negative until the post stands in every place; so a stopped import knows
at its next run what is done (skip it) and what was begun (do it again under the same id).
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from socialsite.ids import PostId
from socialsite.store import Command, Key, Reply, Store
from timelines import keys
from timelines.hashtags.repository import add_commands
from timelines.posts.counts import add_member_command
from timelines.posts.post import Post, encode_post
from timelines.posts.repository import WRITE_POST_SCRIPT
from timelines.posts.stored_values import PENDING

COMMANDS_PER_ROUND = 500
CLAIM_TTL_S = 24 * 3600
GRAPH_RANKS_CAP = 100_000


class Source(NamedTuple):
    """A source's post. `is_done`: it stands in its author's profile, public, its parent's replies too."""

    post_id: PostId
    is_done: bool


class ImportedPosts:
    """`posts:{<digest of a source id>}:source`, and posts by the thousand."""

    def __init__(self, store: Store, *, profile_cap: int, profile_partitions: int = 1) -> None:
        self._store = store
        self._profile_cap = profile_cap
        self._profiles = keys.AuthorFeedKeys(profile_partitions)

    async def sources(self, source_ids: Iterable[str]) -> dict[str, Source]:
        """The posts of these sources; unknown ones are left out."""
        asked = list(dict.fromkeys(source_ids))
        replies = await self._gather([("GET", source_key(source_id)) for source_id in asked])
        found = zip(asked, replies, strict=True)
        return {source_id: source_of(reply) for source_id, reply in found if reply is not None}

    async def claim(self, wanted: Sequence[tuple[str, PostId]]) -> dict[str, Source]:
        """Bind sources to ids, each to the wanted one or the next above it that nobody holds."""
        held: dict[str, Source] = {}
        while wanted:
            claims = [("SET", keys.post(id), PENDING, "NX", "EX", CLAIM_TTL_S) for _, id in wanted]
            replies = await self._gather(claims)
            won = [pair for pair, reply in zip(wanted, replies, strict=True) if reply is not None]
            wanted = [(s, PostId(id + 1)) for (s, id), reply in zip(wanted, replies, strict=True) if reply is None]
            binds = [("SET", source_key(source_id), -id, "NX") for source_id, id in won]
            await self._gather(binds)
            # Another run may have bound a source meanwhile: what stands counts, our claim expires.
            held |= await self.sources(source_id for source_id, _ in won)
        return held

    async def write(self, posts: Sequence[Post]) -> list[Post]:
        """Store the posts where their claims stand; those that stand afterwards (not the deleted ones)."""
        replies = await self._gather(
            [WRITE_POST_SCRIPT.command([keys.post(post.id)], [encode_post(post)]) for post in posts]
        )
        return [post for post, reply in zip(posts, replies, strict=True) if reply > 0]

    async def place(self, posts: Sequence[Post]) -> None:
        """Into the profiles of the authors, the replies of the parents and the timelines of the tags."""
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
        """Say that nothing of these sources is left to do."""
        await self._gather([("SET", source_key(source_id), post_id) for source_id, post_id in done])

    async def _gather(self, commands: Sequence[Command]) -> list[Reply]:
        """A bounded number in one round trip, so that nobody's time-out passes behind an import."""
        replies: list[Reply] = []
        for start in range(0, len(commands), COMMANDS_PER_ROUND):
            replies += await self._store.gather(commands[start : start + COMMANDS_PER_ROUND])
        return replies


class GraphRanks:
    """`timelines:{graph}:ranks`: the accounts of imported graphs by their followers there."""

    def __init__(self, store: Store) -> None:
        self._place = store.component("timelines")

    async def record(self, followers: Iterable[tuple[int, int]]) -> None:
        """(account id, followers in the file); the least followed go above the cap."""
        key, rest = keys.imported_graph_ranks(), iter(followers)
        while some := list(islice(rest, COMMANDS_PER_ROUND)):
            pairs = [part for account_id, count in some for part in (count, account_id)]
            await self._place[key].execute("ZADD", key, *pairs)
        await self._place[key].execute("ZREMRANGEBYRANK", key, 0, -GRAPH_RANKS_CAP - 1)

    async def most_followed(self, limit: int) -> list[int]:
        """Account ids, most followers first."""
        key = keys.imported_graph_ranks()
        found: list[int] = []
        while len(found) < limit:
            last = min(limit, len(found) + 1000) - 1
            reply = await self._place[key].execute("ZREVRANGE", key, len(found), last)
            if not reply:
                break
            found += map(int, reply)
        return found


def source_key(source_id: str) -> Key:
    """User text never enters a key: its digest does."""
    return keys.import_source(hashlib.sha256(source_id.encode()).hexdigest()[:32])


def source_of(reply: bytes) -> Source:
    number = int(reply)
    return Source(PostId(abs(number)), number > 0)
