"""The links of threads in both directions: the replies of a post, and the parent of a post.

The sorted set `replies` contains the existing replies of a post, and their number is the count that pages show. If a
deleted reply has replies itself, its id is moved to the sorted set `gone`, so that threads continue below it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from socialsite.ids import PostId
from socialsite.store import Command, Read, Store
from timelines import keys
from timelines.posts.counts import add_member_command
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import get_post_command, stored_parent


class ReplyRange(NamedTuple):
    """A range of replies to read: those to `parent` with ids above `after_id`, at most `limit` of them."""

    parent: PostId
    after_id: int
    depth: int
    limit: int = 0


class ReplyRepository:
    """The repository of the keys `posts:{<id>}:replies` and `posts:{<id>}:gone`."""

    def __init__(self, store: Store, posts: PostRepository) -> None:
        self._store = store
        self._component = store.component("posts")
        self._posts = posts

    async def read_replies(self, ranges: Sequence[ReplyRange]) -> list[list[PostId]]:
        """Return the replies of each range, oldest first, including deleted replies. Takes one round trip per node."""
        commands: list[Command] = [
            ("ZRANGEBYSCORE", key, f"({row.after_id}", "+inf", "LIMIT", 0, row.limit)
            for row in ranges
            for key in (keys.replies(row.parent), keys.deleted_replies(row.parent))
        ]
        (replies,) = await self._store.read(Read(commands, list, wrong_type_reply=[]))
        results: list[list[PostId]] = []
        for row, existing, deleted in zip(ranges, replies[::2], replies[1::2], strict=True):
            results.append(sorted({PostId(int(member)) for member in (*existing, *deleted)})[: row.limit])
        return results

    async def find_parents(self, post_ids: Sequence[PostId]) -> dict[PostId, PostId | None]:
        """Return the parent of each post or deleted post, and None for posts that are not replies.

        Posts whose parent is unknown are left out.
        """
        commands = [get_post_command(post_id) for post_id in post_ids]
        (values,) = await self._store.read(Read(commands, list, wrong_type_reply=None))
        parents: dict[PostId, PostId | None] = {}
        old: list[PostId] = []
        for post_id, value in zip(post_ids, values, strict=True):
            parent = stored_parent(value)
            if isinstance(parent, Post):
                parents[post_id] = parent.in_reply_to
            elif parent is not None:
                parents[post_id] = parent
            elif value is not None and value.isdigit():
                old.append(post_id)
        for post in (await self._posts.load_archived(old)).values() if old else ():
            parents[post.id] = post.in_reply_to
        return parents

    async def add_reply(self, parent_id: PostId, post_id: PostId) -> None:
        """Add a reply. If the parent was deleted meanwhile, add the parent to the `gone` set of the grandparent."""
        key = keys.post(parent_id)
        joined = add_member_command(keys.replies, parent_id, post_id, post_id)
        _, value = await self._component.write_all([joined, ("GET", key)])
        grandparent = stored_parent(value)
        if grandparent is not None and not isinstance(grandparent, Post):
            await self.add_deleted_reply(grandparent, parent_id)

    async def add_deleted_reply(self, parent_id: PostId, post_id: PostId) -> None:
        """Add a deleted reply that has replies to the `gone` set of its parent, so that threads continue below it."""
        await self._component.write("ZADD", keys.deleted_replies(parent_id), post_id, post_id)

    async def has_replies(self, post_id: PostId) -> bool:
        """Return whether the post has replies, or deleted replies that have replies."""
        both = keys.replies(post_id), keys.deleted_replies(post_id)
        return any(await self._component.execute_all([("EXISTS", key) for key in both]))
