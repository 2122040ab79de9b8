"""Intent first, for every kind of post: claim an id, tell the outbox, write the post, place it.

Publishing and boosting agree on the id of a request each in their own way; what comes before and after that
is the same, and stands here. Every step may run any number of times.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from socialsite.ids import PostId, PostIdGenerator, ms_from_id
from timelines.errors import PostNotFound
from timelines.jobs import SyndicatePost, encode_job
from timelines.ports import PostMeter
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository, WriteResult
from timelines.posts.stored_values import PostState
from timelines.publishing.author_timelines import AuthorTimelines

RESERVATION_TIMEOUT_MS = 60_000  # an id claimed this long ago and never written would appear too deep in timelines


@dataclass(frozen=True, slots=True)
class Reservation:
    """The id a request publishes under. `standing`: the post that is there, so it has its job, too."""

    post_id: PostId
    existing: Post | None = None


class Outbox(Protocol):
    async def add(self, payload: bytes) -> object: ...


class PostAnnouncer(Protocol):
    async def entry_published(self, post: Post) -> None: ...

    async def post_deleted(self, post_id: PostId) -> None: ...

    async def boost_removed(self, boost: Post) -> None: ...

    async def counts_changed(self, post_id: PostId) -> None: ...


@dataclass(kw_only=True, slots=True)
class PostWriter:
    """Claims ids; writes posts, places them and tells of them."""

    id_generator: PostIdGenerator
    posts: PostRepository
    author_timelines: AuthorTimelines
    outbox: Outbox
    announcer: PostAnnouncer
    meter: PostMeter

    async def reserve_id(self) -> PostId:
        post_id = self.id_generator.next_id()
        while not await self.posts.reserve_id(post_id):
            post_id = self.id_generator.next_id()
        return post_id

    async def resolve_reservation(self, post_id: PostId, now_ms: int) -> Reservation | None:
        """What became of the id of an earlier request; None where it was given up, by us now or before.

        Raises PostNotFound where its post was deleted.
        """
        state = await self.posts.find_state(post_id)
        if state is PostState.DELETED:
            raise PostNotFound
        if isinstance(state, Post):
            return Reservation(post_id, state)
        if state is not PostState.SUPERSEDED and now_ms - ms_from_id(post_id) <= RESERVATION_TIMEOUT_MS:
            return Reservation(post_id)
        answer = await self.posts.abandon_id(post_id)
        if answer is WriteResult.DELETED:
            raise PostNotFound
        return None if answer is WriteResult.SUPERSEDED else Reservation(post_id, await self.posts.find(post_id))

    async def write(self, post: Post, *, exists: bool) -> WriteResult:
        """`exists`: it was there; it is written again all the same, which has replicas confirm it."""
        if exists:
            return await self.posts.write(post)
        # The intent goes first: the job carries the post, a worker can finish it.
        await self.outbox.add(encode_job(SyndicatePost.from_post(post)))
        written = await self.posts.write(post)
        if written is WriteResult.NEW:
            self.meter.count_post(post.author_id)
        return written

    async def add_to_timelines(self, post: Post) -> None:
        """Into its author's own timelines. Raises PostNotFound where it was deleted meanwhile."""
        await self.author_timelines.add(post)
        # A word is a hint: whoever hears it reads the post, or its tombstone.
        stands, _told = await asyncio.gather(self.author_timelines.still_exists(post), self._announce(post))
        if not stands:
            raise PostNotFound

    async def _announce(self, post: Post) -> None:
        await self.announcer.entry_published(post)
        if post.in_reply_to is not None:
            await self.announcer.counts_changed(post.in_reply_to)
