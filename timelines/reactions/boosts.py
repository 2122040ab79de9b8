"""Writes and removes boosts. A boost is a post; the key `boosts` of the original stores the id of each boost.

To boost: reserve an id, store it in `boosts` of the original, add a job to the outbox, write the boost, and add it to
the booster's index, author timeline and home. To undo: write the tombstone, and remove the boost from the author
timeline, `boosts` and the index. After a crash, a repetition of either action finds the id in `boosts` and
continues.
"""

from collections.abc import Sequence

from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Part
from socialsite.store import NotDurable as NotConfirmed
from timelines.errors import PostNotFound, PostUnconfirmed
from timelines.jobs import DeleteBoostsOfPost, encode_job
from timelines.live_updates.service import LiveService
from timelines.notifications.service import NotificationService
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.publishing.post_writer import PostWriter, Reservation
from timelines.publishing.timeline_writer import TimelineWriter
from timelines.reactions.repository import PostGone, ReactionKind, Reactions

MAX_TRIES = 20
BOOSTS_PER_ROUND = 200
"""The number of boosts that one request or one round of the worker deletes (about 0.1 s)."""


class BoostService(Part):
    """Writes and removes boosts. The caller checks who may boost which post."""

    reactions: Reactions
    posts: PostRepository
    post_writer: PostWriter
    timeline_writer: TimelineWriter
    outbox: JobQueue
    live: LiveService
    notifications: NotificationService

    async def boost(self, account_id: AccountId, original: Post, now_ms: int) -> None:
        """Boost a post; a repetition has no effect.

        Raises PostNotFound if the original is deleted, StoreFull, and PostUnconfirmed.
        """
        try:
            for _ in range(MAX_TRIES):
                reservation = await self._reserve(account_id, original.id, now_ms)
                boost = reservation.existing or boost_post(reservation.post_id, account_id, original)
                result = await self.post_writer.write(boost, exists=reservation.existing is not None)
                if result.exists:
                    break  # otherwise the boost was undone meanwhile, or its id expired: reserve another id
            # Write the index before the live messages, so that the booster's own pages show a pressed button.
            await self.reactions.sync_index(ReactionKind.BOOST, original.id, account_id)
            await self._add_to_timelines(boost, is_new=reservation.existing is None)
        except NotConfirmed as error:
            raise PostUnconfirmed from error
        except PostGone as gone:
            raise PostNotFound from gone
        await self.notifications.notify(boost)
        await self.live.counts_changed(original.id)

    async def unboost(self, account_id: AccountId, original_id: PostId) -> None:
        """Undo a boost. Readers then see the boost of the next booster instead."""
        existing_id = await self.reactions.find_score(ReactionKind.BOOST, original_id, account_id)
        if existing_id is None:
            await self.reactions.sync_index(ReactionKind.BOOST, original_id, account_id)
        else:
            await self._remove(Post(PostId(existing_id), account_id, "", boost_of=original_id))

    async def remove(self, boost: Post) -> None:
        if boost.boost_of is not None:
            # Remove the reaction while the boost still contains its original, so that a repetition can continue.
            await self.reactions.remove(ReactionKind.BOOST, boost.boost_of, boost.author_id, only_at=boost.id)
            await self._remove(boost)

    async def delete_boosts(self, original_id: PostId) -> int:
        """Delete the newest boosts of a deleted post, and add a job for the rest. Return how many were deleted.

        Readers do not see these boosts anyway. Their deletion corrects the post counts of the boosters.
        """
        boosts, is_more = await self.reactions.boosts_to_delete(original_id, BOOSTS_PER_ROUND)
        if is_more:
            await self.outbox.add_when_full(encode_job(DeleteBoostsOfPost(original_id)))
        return await self._delete_all(boosts)

    async def delete_more_boosts(self, original_id: PostId) -> bool:
        """Delete boosts of a deleted post in one round of the worker. Return True if more are left."""
        boosts, is_more = await self.reactions.boosts_to_delete(original_id, BOOSTS_PER_ROUND)
        await self._delete_all(boosts)
        return is_more

    async def _delete_all(self, boosts: Sequence[Post]) -> int:
        await run_together(*(self._delete(boost) for boost in boosts))
        await self.reactions.mark_boosts_deleted(boosts)
        return len(boosts)

    async def _delete(self, boost: Post) -> None:
        await self.posts.delete(boost.id, boost.author_id, include_reserved=True)
        await self.timeline_writer.remove(boost)
        await self.reactions.sync_index(ReactionKind.BOOST, boost.shown_id, boost.author_id)

    async def _remove(self, boost: Post) -> None:
        original_id, account_id = boost.shown_id, boost.author_id
        # Also delete a reserved id, because a request or the worker may be about to write the boost.
        await self.posts.delete(boost.id, account_id, include_reserved=True)
        await self.timeline_writer.remove(boost)
        await self.reactions.remove(ReactionKind.BOOST, original_id, account_id, only_at=boost.id)
        await self.reactions.sync_index(ReactionKind.BOOST, original_id, account_id)
        await self.live.boost_removed(boost)
        await self.live.counts_changed(original_id)

    async def _reserve(self, account_id: AccountId, original_id: PostId, now_ms: int) -> Reservation:
        """Return the id of the account's boost: a new id, or the id of an earlier request. Raises PostGone."""
        existing_id = await self.reactions.find_score(ReactionKind.BOOST, original_id, account_id)
        for _ in range(MAX_TRIES):
            new_id: PostId | None = None
            if existing_id is None:
                new_id = await self.post_writer.reserve_id()
                _, existing_id = await self.reactions.add(ReactionKind.BOOST, original_id, account_id, new_id)
            elif (existing := await self._find_existing(PostId(existing_id), account_id, now_ms)) is not None:
                return existing
            else:
                new_id = await self.post_writer.reserve_id()
                existing_id = await self.reactions.replace_boost(original_id, account_id, existing_id, new_id)
            if existing_id == new_id:
                return Reservation(new_id)
        raise PostNotFound

    async def _find_existing(self, boost_id: PostId, account_id: AccountId, now_ms: int) -> Reservation | None:
        """Return the account's earlier boost, or None if it was undone or its reserved id expired."""
        try:
            return await self.post_writer.resolve_reservation(boost_id, account_id, now_ms)
        except PostNotFound:
            return None

    async def _add_to_timelines(self, boost: Post, *, is_new: bool) -> None:
        try:
            if is_new:
                await self.post_writer.add_to_timelines(boost)
            else:
                await self.timeline_writer.add(boost, is_repeat=True)
                await self.timeline_writer.still_exists(boost)
        except PostNotFound:
            return  # undone meanwhile, which the response shows


def boost_post(boost_id: PostId, account_id: AccountId, original: Post) -> Post:
    """Return the boost of a post: a post without text, for the followers of the booster."""
    return Post(boost_id, account_id, "", boost_of=original.id, boosted_author_id=original.author_id)
