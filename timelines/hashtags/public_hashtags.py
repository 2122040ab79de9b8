"""Finds the hashtags that everybody may see, for trends and completion."""

from collections.abc import Sequence
from itertools import chain

from accounts.accounts.service import AccountService
from socialsite.service import Part
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.repository import PostRepository
from timelines.visibility.rights import ViewContext, may_see

FIRST_DEPTH, SECOND_DEPTH = 3, 30
"""The number of newest posts of a hashtag that are searched for a public post.

The second number is used only if the first search finds too few hashtags."""


class PublicHashtags(Part):
    hashtag_timelines: HashtagTimelines
    posts: PostRepository
    accounts: AccountService

    async def among(self, tags: Sequence[str], limit: int) -> list[str]:
        """Return the first `limit` hashtags, in their order, that have a public post among their newest posts."""
        public_tags = await self._find(tags[:limit], FIRST_DEPTH)
        if len(public_tags) < limit and (rest := [tag for tag in tags if tag not in public_tags]):
            public_tags |= await self._find(rest, SECOND_DEPTH)
        return [tag for tag in tags if tag in public_tags][:limit]

    async def _find(self, tags: Sequence[str], depth: int) -> set[str]:
        """Return the hashtags with a public post among their newest `depth` posts. Takes three round trips."""
        if not tags:
            return set()
        ids = await self.hashtag_timelines.read_many(tags, ABOVE_ALL_IDS, depth, upward=False)
        posts = await self.posts.find_shown(list(dict.fromkeys(chain.from_iterable(ids))))
        authors = await self.accounts.find_shown_authors({post.author_id for post in posts.values()})
        seen = {
            id
            for id, post in posts.items()
            if (author := authors.get(post.author_id)) is not None
            and may_see(post, author, viewer=None, follows=False, context=ViewContext.HASHTAG)
        }
        return {tag for tag, newest in zip(tags, ids, strict=True) if not seen.isdisjoint(newest)}
