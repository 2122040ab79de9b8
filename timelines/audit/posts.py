"""Checks posts, and the records of idempotency keys."""

import re
from collections.abc import AsyncIterator, Sequence
from functools import partial

from accounts.domain import DELETED
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.post_indexes import PostIndexChecks
from timelines.audit.reader import ABSENT, AuditReader, decode_post_or_none
from timelines.posts.post import Post
from timelines.posts.repository import IDEMPOTENCY_TTL_S, RESERVATION_TTL_S
from timelines.posts.stored_values import DELETED as TOMBSTONE
from timelines.posts.stored_values import PostState

IDEMPOTENCY_RECORD = re.compile(rb"\d{1,16}:[0-9a-f]{32}(:[0-2])?")


class PostChecks:
    def __init__(self, context: AuditContext, indexes: PostIndexChecks) -> None:
        self._context = context
        self._indexes = indexes

    async def posts(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each post is readable, has an author, and is in all its sets.

        Only a reserved id may have a TTL.
        """
        posts: dict[Key, Post] = {}
        archived: list[Key] = []
        for key, (value, ttl_ms) in await reader.read_each(checked, ("GET",), ("PTTL",)):
            post = decode_post_or_none(value)
            if post is None or (isinstance(post, Post) and str(post.id) != key.tag):
                yield Discrepancy("post_unreadable", key, repair=self._context.run(("SET", key, TOMBSTONE)))
            elif isinstance(post, Post):
                posts[key] = post
            elif post is PostState.ARCHIVED:
                archived.append(key)
            if post is PostState.PENDING and ttl_ms == -1:
                yield Discrepancy("claim_eternal", key, repair=self._context.run(("EXPIRE", key, RESERVATION_TTL_S)))
            elif post is not PostState.PENDING and ttl_ms > 0:
                yield Discrepancy("post_expires", key, repair=self._context.run(("PERSIST", key)))
        bodies = await reader.read_posts(int(key.tag) for key in archived)
        # There is no repair, because only a copy of the archive can restore a lost text.
        for key in archived:
            if int(key.tag) in bodies:
                posts[key] = bodies[int(key.tag)]
            else:
                yield Discrepancy("post_without_body", key)
        states = await reader.read_states(post.author_id for post in posts.values())
        owned: dict[Key, Post] = {}
        for key, post in posts.items():
            state = states[post.author_id]
            if state == ABSENT:
                yield Discrepancy("post_without_author", key, repair=partial(self._delete, post))
            elif state == DELETED and await reader.is_unpurged(post.author_id):
                yield Discrepancy("post_unswept", key, repair=partial(self._delete, post))
            elif state != DELETED:
                owned[key] = post
        for found in await self._indexes.find_unindexed(reader, owned):
            yield found

    async def _delete(self, post: Post) -> None:
        await self._context.posts.delete(post.id, post.author_id)
        await self._context.profiles.remove(post.author_id, post.id)
        await self._context.public.remove(post.id)
        if post.in_reply_to is not None:
            await self._context.posts.remove_reply(post.in_reply_to, post.id)

    async def versions(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that former versions belong to a post that exists. A backup may have those of a deleted post."""
        values = await reader.execute_all(("GET", keys.post(int(key.tag))) for key in checked)
        for key, value in zip(checked, values, strict=True):
            if not isinstance(state := decode_post_or_none(value), Post) and state is not PostState.ARCHIVED:
                yield Discrepancy("versions_of_nothing", key, repair=self._context.run(("DEL", key)))

    async def idempotency(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each record contains a post id and a digest, and expires."""
        for key, (value, ttl_ms) in await reader.read_each(checked, ("GET",), ("PTTL",)):
            if value is not None and not IDEMPOTENCY_RECORD.fullmatch(value):
                yield Discrepancy("idempotency_garbage", key, repair=self._context.run(("DEL", key)))
            elif value is not None and ttl_ms == -1:
                expire = self._context.run(("EXPIRE", key, IDEMPOTENCY_TTL_S))
                yield Discrepancy("idempotency_eternal", key, repair=expire)
