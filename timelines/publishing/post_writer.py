"""Writes posts and boosts in three steps: reserve an id, add a job to the outbox, write the post.

The job is stored before the post, so that a worker can finish the work after a crash. Publishing and boosting have
different idempotency keys. All other steps are the same, and each step may be repeated.
"""

import hashlib
from dataclasses import dataclass

from msgspec import msgpack

from socialsite.analytics.meter import Meter
from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId, PostIdGenerator, ms_from_id
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Part
from socialsite.store.aof import wait_for_aof_during
from timelines.errors import PostNotFound
from timelines.jobs import SyndicatePost, encode_job
from timelines.live_updates.service import LiveService
from timelines.posts.post import PUBLIC, Post, PostDetails
from timelines.posts.repository import PostRepository, WriteResult
from timelines.posts.stored_values import PostState
from timelines.publishing.timeline_writer import TimelineWriter

RESERVATION_TIMEOUT_MS = 60_000  # a post with an older id would appear too far down on timelines


@dataclass(frozen=True, slots=True)
class Reservation:
    """The reserved id of the post of a request.

    `existing` is the post, if it is already stored; then its job exists, too. `audience` is the default audience of the
    first request, if it is known. `is_new` is set if this request made the reservation.
    """

    post_id: PostId
    existing: Post | None = None
    audience: int | None = None
    is_new: bool = False


class PostWriter(Part):
    """Reserves ids, writes posts, adds them to the author's timelines and announces them."""

    ids: PostIdGenerator
    posts: PostRepository
    timeline_writer: TimelineWriter
    outbox: JobQueue
    live: LiveService
    meter: Meter

    async def reserve_id(self) -> PostId:
        post_id = self.ids.next_id()
        while not await self.posts.reserve_id(post_id):
            post_id = self.ids.next_id()
        return post_id

    async def resolve_reservation(self, post_id: PostId, author_id: AccountId, now_ms: int) -> Reservation | None:
        """Return the reservation of an earlier request, or None if its id is abandoned now or was abandoned before.

        Also returns None if the id belongs to a post of another author. This happens if two requests chose the same id
        and one of them crashed. Raises PostNotFound if the post was deleted.
        """
        state = await self.posts.find_state(post_id)
        if state is PostState.DELETED:
            raise PostNotFound
        if isinstance(state, Post):
            return Reservation(post_id, state) if state.author_id == author_id else None
        if state is not PostState.SUPERSEDED and now_ms - ms_from_id(post_id) <= RESERVATION_TIMEOUT_MS:
            return Reservation(post_id)
        result = await self.posts.abandon_id(post_id)
        if result is WriteResult.DELETED:
            raise PostNotFound
        return None if result is WriteResult.SUPERSEDED else Reservation(post_id, await self.posts.find(post_id))

    async def write(self, post: Post, *, exists: bool) -> WriteResult:
        """Write the post. If `exists` is set, the post is already stored, and replicas confirm it again."""
        if not exists:
            await self._store_job(post)
        return await self._write(post)

    async def write_with_timelines(self, post: Post, *, exists: bool) -> WriteResult:
        """Write the post, and add it to the author's own timelines in the same round trip.

        The timelines may contain the id before the post is stored, since readers skip an id without a post. Raises
        PostNotFound if the post is deleted.
        """
        if not exists:
            await self._store_job(post)
        result, _ = await run_together(self._write(post), self.timeline_writer.add(post))
        if result.exists:
            await self._confirm(post)
            return result
        await self.timeline_writer.remove(post)
        if result is WriteResult.DELETED:
            raise PostNotFound
        return result

    async def add_to_timelines(self, post: Post) -> None:
        """Add the post to the author's own timelines. Raises PostNotFound if it was deleted meanwhile."""
        await self.timeline_writer.add(post)
        await self._confirm(post)

    async def _store_job(self, post: Post) -> None:
        """Store the intent: a job that contains the post, so that a worker can finish the work."""
        await self.outbox.add(encode_job(SyndicatePost.from_post(post)), sender=post.author_id)

    async def _write(self, post: Post) -> WriteResult:
        result = await self.posts.write(post)
        if result is WriteResult.NEW:
            self.meter.count_post(post.author_id)
        return result

    async def _confirm(self, post: Post) -> None:
        """Announce the post and wait until it is durable. Raises PostNotFound if it was deleted meanwhile."""
        # The announcement is a hint: receivers read the post, or its tombstone.
        announcements = [self.live.entry_published(post)]
        if post.in_reply_to is not None:
            announcements.append(self.live.counts_changed(post.in_reply_to))
        reads = run_together(self.timeline_writer.still_exists(post), *announcements)
        exists, *_ = await wait_for_aof_during(reads)
        if not exists:
            raise PostNotFound


def idempotency_key_digest(key: str) -> str:
    """Return the digest of an idempotency key. The Redis key has the digest in its name, and no user text."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def hash_request(
    text: str, in_reply_to: PostId | None, audience: int = PUBLIC, details: PostDetails | None = None
) -> str:
    """Return the digest of a request. A repeated request has the same digest."""
    content = f"{in_reply_to}\n{text}" if audience == PUBLIC else f"{in_reply_to} {audience}\n{text}"
    encoded_details = b"" if details is None else b"\0" + msgpack.encode(details)  # no text contains NUL
    return hashlib.sha256(content.encode() + encoded_details).hexdigest()[:32]
