"""Keeping the search index: posts under their terms, accounts and hashtags under what they are called.

The index is a cache beside everything else. Where its servers are away nothing waits for it: what could not
be put in is owed, what could not be taken out is hidden from readers, like all they may not see.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import structlog

from accounts.accounts.repository import AccountRepository
from accounts.domain import Author
from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.store import StoreUnavailable
from socialsite.store.aof import wait_for_aof_at_exit
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.search.names import NameIndex
from timelines.search.pending import PendingSearchPosts
from timelines.search.repository import PostIndex
from timelines.text.linkify import find_hashtags
from timelines.text.tokenizer import name_prefixes

POSTS_PER_BATCH = 1_000
"""In one round trip, some 60 ms of the index's servers, in scripts of a millisecond."""
PENDING_INTERVAL_S = 5.0

log = structlog.get_logger("timelines.search")


@dataclass(kw_only=True, slots=True)
class SearchIndexer:
    """Every step may run any number of times."""

    index: PostIndex
    names: NameIndex
    pending: PendingSearchPosts
    posts: PostRepository
    accounts: AccountRepository

    async def add_posts(self, posts: Iterable[Post]) -> int:
        """Put those posts in that strangers may find; the number of new postings. Raises StoreUnavailable.

        Whose account is private or suspended is asked when they are read: that may change any time.
        """
        added = 0
        for some in batches((post for post in posts if post.is_discoverable), POSTS_PER_BATCH):
            added += await self.index.add(some)
            await self.names.add_hashtags(chain.from_iterable(find_hashtags(post.text) for post in some))
        return added

    async def add_or_defer(self, post: Post) -> None:
        """For the worker, who must not wait for search."""
        try:
            await self.add_posts([post])
        except StoreUnavailable as error:
            log.warning("post_not_indexed", post=post.id, reason=type(error).__name__)
            await self.pending.add(post.id)

    async def add_pending(self) -> int:
        """Put in what is owed; the number of posts. Raises StoreUnavailable."""
        paid = 0
        while ids := await self.pending.find_oldest(POSTS_PER_BATCH):
            async with wait_for_aof_at_exit():
                found = await self.posts.find_many(ids)
                await self.add_posts(found.values())
                await self._remove_deleted(found)
            await self.pending.remove(ids)
            paid += len(found)
        return paid

    async def _remove_deleted(self, found: Mapping[PostId, Post]) -> None:
        """A delete while they were put in may have found nothing to take out."""
        standing = await self.posts.find_many(list(found))
        for post_id in found.keys() - standing.keys():
            await self.index.remove(found[post_id])

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        """The regular work of the workers."""
        return (PeriodicTask("search", PENDING_INTERVAL_S, self.add_pending),)

    async def remove_post(self, post: Post) -> None:
        """After the tombstone stands: nobody sees what stays behind."""
        if not post.is_discoverable:
            return
        try:
            await self.index.remove(post)
        except StoreUnavailable as error:
            log.warning("post_not_unindexed", post=post.id, reason=type(error).__name__)

    async def update_names(self, account_ids: Sequence[AccountId]) -> int:
        """Find accounts by what they are called now, hidden ones by nothing. Raises StoreUnavailable."""
        authors = await self.accounts.find_authors(account_ids)
        return await self.names.set_names({id: searchable_names(authors.get(id)) for id in account_ids})

    async def update_names_if_available(self, account_ids: Sequence[AccountId]) -> None:
        """The same for those who do not wait for it: sign-up, settings, moderation."""
        try:
            await self.update_names(account_ids)
        except StoreUnavailable as error:
            log.warning("accounts_not_named", accounts=len(account_ids), reason=type(error).__name__)


def searchable_names(author: Author | None) -> list[str]:
    """The handle, marked as one, and the beginnings of the display name."""
    if author is None or not author.is_visible:
        return []
    return [f"@{author.handle}", *name_prefixes(author.display_name)]
