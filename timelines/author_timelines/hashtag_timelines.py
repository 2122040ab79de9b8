"""Stores hashtag timelines. Each is a capped sorted set of post ids that can be rebuilt from author timelines.

The tag in the key is different for each hashtag. The timeline of a popular hashtag is one key on one node.
"""

import hashlib
from collections.abc import Iterable, Sequence

from socialsite.ids import PostId
from socialsite.store import Command, Key, Read, Store
from timelines import keys
from timelines.author_timelines.repository import ZsetTimelines, parse_ids, range_command
from timelines.posts.post import Post
from timelines.text.linkify import find_all_hashtags


class HashtagTimelines(ZsetTimelines):
    """The repository of `timelines:{<digest of the hashtag>}:tag`. Callers pass normalized hashtags."""

    def __init__(self, store: Store, cap: int = keys.HASHTAG_CAP) -> None:
        super().__init__(store, "timelines", cap)

    async def add(self, posts: Iterable[Post]) -> int:
        """Add posts to the timelines of their hashtags, trim these timelines, and return the number of additions."""
        commands = add_commands(posts, self._cap)
        await self._component.execute_all(commands)
        return sum(command[0] == "ZADD" for command in commands)

    async def remove(self, *versions: Post, keep: Post | None = None) -> None:
        """Remove a post from the timelines of all hashtags of these versions, except the hashtags of `keep`."""
        tagged = {tag: post.id for post in versions for tag in find_all_hashtags(post.text)}
        kept_tags = keep.indexed_hashtags if keep is not None else ()
        await self._component.execute_all(
            (("ZREM", hashtag_key(tag), post_id) for tag, post_id in tagged.items() if tag not in kept_tags)
        )

    async def sizes(self, tags: Sequence[str]) -> dict[str, int]:
        """Return the number of posts of each hashtag, up to the cap."""
        replies = await self._component.execute_all(("ZCARD", hashtag_key(tag)) for tag in tags)
        return dict(zip(tags, replies, strict=True))

    def read(self, tag: str, bound: int, limit: int, *, upward: bool) -> Read[list[PostId]]:
        """Return the `limit` ids that are nearest to the exclusive `bound`, the nearest first."""
        return self._read(hashtag_key(tag), bound, limit, upward=upward)

    async def read_many(self, tags: Sequence[str], edge: int, limit: int, *, upward: bool) -> list[list[PostId]]:
        """Read the timelines of several hashtags like `read`, in one round trip per node."""
        commands = [range_command(hashtag_key(tag), edge, limit, upward=upward) for tag in tags]
        return [parse_ids(reply) for reply in await self._component.execute_all(commands)]


def hashtag_key(tag: str) -> Key:
    """Return the key, which contains the digest of the hashtag, since keys contain no user text."""
    return keys.hashtag_timeline(hashlib.sha256(tag.encode()).hexdigest()[:32])


def add_commands(posts: Iterable[Post], cap: int = keys.HASHTAG_CAP) -> Sequence[Command]:
    """Return the commands that add posts to hashtag timelines. Each timeline is trimmed once, after all additions."""
    tagged = [(hashtag_key(tag), post.id) for post in posts for tag in post.indexed_hashtags]
    adds: list[Command] = [("ZADD", key, post_id, post_id) for key, post_id in tagged]
    touched = dict.fromkeys(key for key, _ in tagged)
    return adds + [("ZREMRANGEBYRANK", key, 0, -cap - 1) for key in touched]
