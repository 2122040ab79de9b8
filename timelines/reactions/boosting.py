"""Boosting: a boost is a post of its own, and which one an account's boost of an original is, all agree on.

claim an id -> agree on it (`boosts` of the original) -> outbox -> the boost -> the booster's index -> profile
and home -> answer. Taking it back: tombstone -> out of the profile -> out of `boosts` -> out of the
index. Wherever either stops, repeating it finds the id in `boosts` and goes on.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from socialsite.ids import AccountId, PostId
from socialsite.store import NotDurable as NotConfirmed
from timelines.errors import PostNotFound, PostUnconfirmed
from timelines.jobs import DeleteBoostsOfPost, encode_job
from timelines.ports import ReactionNotifier
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.publishing.author_timelines import AuthorTimelines
from timelines.publishing.post_writer import PostAnnouncer, PostWriter, Reservation
from timelines.reactions.repository import PostGone, ReactionKind, Reactions

MAX_TRIES = 20
BOOSTS_PER_ROUND = 200
"""Boosts taken along within the request that deletes their original, or a round of the worker: 0.1 s."""


class Outbox(Protocol):
    async def add_when_full(self, payload: bytes) -> object: ...


@dataclass(kw_only=True, slots=True)
class BoostService:
    """Boosts and takes boosts back; who may boost what is the caller's question."""

    reactions: Reactions
    posts: PostRepository
    post_writer: PostWriter
    author_timelines: AuthorTimelines
    outbox: Outbox
    live: PostAnnouncer
    notifications: ReactionNotifier

    async def boost(self, account_id: AccountId, original: Post, now_ms: int) -> None:
        """Once, however often. Raises PostNotFound (the original is gone), StoreFull, Unconfirmed."""
        try:
            for _ in range(MAX_TRIES):
                agreed = await self._agreed(account_id, original.id, now_ms)
                boost = agreed.existing or boost_post(agreed.post_id, account_id, original)
                written = await self.post_writer.write(boost, exists=agreed.existing is not None)
                if written.exists:
                    break  # else it was taken back meanwhile, or given up: agree anew
            # Before anybody is told: on the booster's own pages its button is pressed.
            await self.reactions.sync_index(ReactionKind.BOOST, original.id, account_id)
            await self._place(boost, is_new=agreed.existing is None)
        except NotConfirmed as error:
            raise PostUnconfirmed from error
        except PostGone as gone:
            raise PostNotFound from gone
        await self.notifications.boosted(boost=boost)
        await self.live.counts_changed(original.id)

    async def unboost(self, account_id: AccountId, original_id: PostId) -> None:
        """Nobody sees the boost from the answer on; the next booster's shows instead."""
        held = await self.reactions.find_score(ReactionKind.BOOST, original_id, account_id)
        if held is None:
            await self.reactions.sync_index(ReactionKind.BOOST, original_id, account_id)
        else:
            await self._end(Post(PostId(held), account_id, "", boost_of=original_id))

    async def remove(self, boost: Post) -> None:
        """As unboost, of a boost that stands."""
        if boost.boost_of is not None:
            # First, while the boost still says what it boosts: so repeating its deletion goes on, too.
            await self.reactions.remove(ReactionKind.BOOST, boost.boost_of, boost.author_id, only_at=boost.id)
            await self._end(boost)

    async def delete_boosts(self, original_id: PostId) -> int:
        """Take along the boosts of a deleted post: the newest now, the rest by the worker; how many now.

        Nobody sees them as it is: this keeps the counts of their boosters right.
        """
        boosts, is_more = await self.reactions.boosts_to_delete(original_id, BOOSTS_PER_ROUND)
        if is_more:
            await self.outbox.add_when_full(encode_job(DeleteBoostsOfPost(original_id)))
        return await self._fade_all(boosts)

    async def delete_more_boosts(self, original_id: PostId) -> bool:
        """One round of the worker; True while more is left."""
        boosts, is_more = await self.reactions.boosts_to_delete(original_id, BOOSTS_PER_ROUND)
        await self._fade_all(boosts)
        return is_more

    async def _fade_all(self, boosts: Sequence[Post]) -> int:
        await asyncio.gather(*(self._fade(boost) for boost in boosts))
        await self.reactions.mark_boosts_deleted(boosts)
        return len(boosts)

    async def _fade(self, boost: Post) -> None:
        await self.posts.delete(boost.id, boost.author_id, include_reserved=True)
        await self.author_timelines.remove(boost)
        await self.reactions.sync_index(ReactionKind.BOOST, boost.shown_id, boost.author_id)

    async def _end(self, boost: Post) -> None:
        original_id, account_id = boost.shown_id, boost.author_id
        # Also over a claim: a request may be on its way to write the boost, or the worker with its job.
        await self.posts.delete(boost.id, account_id, include_reserved=True)
        await self.author_timelines.remove(boost)
        await self.reactions.remove(ReactionKind.BOOST, original_id, account_id, only_at=boost.id)
        await self.reactions.sync_index(ReactionKind.BOOST, original_id, account_id)
        await self.live.boost_removed(boost)
        await self.live.counts_changed(original_id)

    async def _agreed(self, account_id: AccountId, original_id: PostId, now_ms: int) -> Reservation:
        """The id of the account's boost: a fresh one, or that of the request that came first. Raises Gone."""
        held = await self.reactions.find_score(ReactionKind.BOOST, original_id, account_id)
        for _ in range(MAX_TRIES):
            fresh: PostId | None = None
            if held is None:
                fresh = await self.post_writer.reserve_id()
                _new, held = await self.reactions.add(ReactionKind.BOOST, original_id, account_id, fresh)
            elif (found := await self._of_another(PostId(held), now_ms)) is not None:
                return found
            else:
                fresh = await self.post_writer.reserve_id()
                held = await self.reactions.replace_boost(original_id, account_id, held, fresh)
            if held == fresh:
                return Reservation(fresh)
        raise PostNotFound

    async def _of_another(self, boost_id: PostId, now_ms: int) -> Reservation | None:
        """The boost that the account made before; None where it is dead: taken back, or given up."""
        try:
            return await self.post_writer.resolve_reservation(boost_id, now_ms)
        except PostNotFound:
            return None

    async def _place(self, boost: Post, *, is_new: bool) -> None:
        try:
            if is_new:
                await self.post_writer.add_to_timelines(boost)
            else:
                await self.author_timelines.add(boost, is_repeat=True)
                await self.author_timelines.still_exists(boost)
        except PostNotFound:
            return  # taken back meanwhile: the answer will say so


def boost_post(boost_id: PostId, account_id: AccountId, original: Post) -> Post:
    """A boost has no text; it goes to the booster's followers whatever the original's audience is."""
    return Post(boost_id, account_id, "", boost_of=original.id, boosted_author_id=original.author_id)
