"""Limits how many new hashtags an account may create in a day.

The memory of a hashtag is never freed while its post exists, so a limit per minute is not enough. A new hashtag beyond
the daily number is not indexed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import NamedTuple

from msgspec import structs

from socialsite.concurrency import run_together
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Part
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.posts.post import PUBLIC, Post
from timelines.text.linkify import find_hashtags

KNOWN_HASHTAGS_CAP = 10_000


class TakenHashtags(NamedTuple):
    """New hashtags of a text, and how many uses of the author's daily number were counted for them."""

    new: list[str]
    counted: int

    @property
    def unused(self) -> int:
        return max(0, self.counted - len(self.new))

    def exclude_from(self, post: Post) -> Post:
        """Return the post with the new hashtags beyond the daily number excluded from the index."""
        unindexed = tuple(self.new[self.counted :])
        if unindexed == post.extra.unindexed_hashtags:
            return post
        return structs.replace(post, details=structs.replace(post.extra, unindexed_hashtags=unindexed))


class NewHashtagLimit(Part):
    """Counts the new hashtags of each author."""

    limits: ActionLimits
    hashtag_timelines: HashtagTimelines
    new_hashtags_per_day: int
    _known_hashtags: set[str] = field(init=False, default_factory=set)
    """Hashtags that had a timeline when this process used them. They are not new again."""

    async def take(self, text: str, audience: int | None, caller: Caller | None) -> TakenHashtags:
        """Count the hashtags of the text that may be new, as `take_tags` does."""
        tags = find_hashtags(text) if caller is not None and audience in (None, PUBLIC) else []
        return await self.take_tags(tags, caller)

    async def take_tags(self, tags: Iterable[str], caller: Caller | None) -> TakenHashtags:
        """Count the hashtags that may be new against the author's daily number.

        Sizes and counts take one round trip, so hashtags that this process does not know are counted before it is clear
        which of them are new. The caller refunds the others. If the caller has no limits, no hashtag counts.
        """
        unknown = [tag for tag in tags if tag not in self._known_hashtags]
        if not unknown:
            return TakenHashtags([], 0)
        taken, sizes = await run_together(
            self.limits.take_daily(caller, "newtags", self.new_hashtags_per_day, len(unknown)),
            self.hashtag_timelines.sizes(unknown),
        )
        if len(self._known_hashtags) > KNOWN_HASHTAGS_CAP:
            self._known_hashtags.clear()
        self._known_hashtags.update(tag for tag in unknown if sizes[tag])
        return TakenHashtags([tag for tag in unknown if not sizes[tag]], taken)

    async def refund(self, caller: Caller | None, count: int) -> None:
        await self.limits.refund_daily(caller, "newtags", count)

    async def limit_edit(self, post: Post, caller: Caller | None) -> Post:
        """Count the new hashtags of an edited post, as for a new post."""
        taken = await self.take(post.text, post.audience, caller)
        await self.refund(caller, taken.unused)
        return taken.exclude_from(post)

    async def limit_imported(self, posts: Sequence[Post], caller: Caller) -> list[Post]:
        """Count the new hashtags of imported posts together."""
        taken = await self.take_tags(dict.fromkeys(tag for post in posts for tag in post.indexed_hashtags), caller)
        await self.refund(caller, taken.unused)
        excess = frozenset(taken.new[taken.counted :])
        return [
            TakenHashtags([tag for tag in post.indexed_hashtags if tag in excess], 0).exclude_from(post)
            for post in posts
        ]
