"""Writes the search index: posts by their terms, accounts and hashtags by their names.

The index is a cache. If its servers are unavailable, other work continues. Posts that could not be added are stored as
pending. Posts that could not be removed from the index are hidden, because readers check that a post exists.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import structlog

from accounts.accounts.repository import AccountRepository
from accounts.domain import Author
from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Part
from socialsite.store import Store, StoreUnavailable
from socialsite.store.aof import wait_for_aof_at_exit
from timelines import keys
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.search.names import NameIndex
from timelines.search.repository import PostIndex
from timelines.text.tokenizer import name_prefixes

POSTS_PER_BATCH = 2_000
"""Posts whose postings are computed together. The more posts, the more of them have a term in common."""
PENDING_PER_READ = 1_000
PENDING_INTERVAL_S = 5.0
PENDING_CAP = 100_000
"""The maximum number of pending posts (10 MB). Older posts are dropped; `rebuild_timelines --search` adds them."""

log = structlog.get_logger("timelines.search")


class PendingSearchPosts:
    """The posts that are not in the index yet, because its servers were unavailable (`jobs:{search}:owed`).

    They are not in the outbox, so that an outage of search does not block the workers.
    """

    def __init__(self, store: Store) -> None:
        self._component = store.component("jobs")
        self._key = keys.search_pending()

    async def add(self, post_id: PostId) -> None:
        trim = ("ZREMRANGEBYRANK", self._key, 0, -PENDING_CAP - 1)
        await self._component.write_all([("ZADD", self._key, post_id, post_id), trim])

    async def find_oldest(self, limit: int) -> list[PostId]:
        reply = await self._component[self._key].execute("ZRANGE", self._key, 0, limit - 1)
        return [PostId(int(member)) for member in reply]

    async def remove(self, post_ids: Iterable[PostId]) -> None:
        if ids := list(post_ids):
            await self._component[self._key].execute("ZREM", self._key, *ids)


class SearchIndexer(Part):
    """Adds posts and names to the search index, and removes them. Every call may be repeated."""

    index: PostIndex
    names: NameIndex
    pending: PendingSearchPosts
    posts: PostRepository
    accounts: AccountRepository

    async def add_posts(self, posts: Iterable[Post]) -> int:
        """Add the public posts and return the number of new postings. Raises StoreUnavailable.

        Posts of private or suspended accounts are added, too. Readers check the account, since its state may change.
        """
        added = 0
        for some in batches((post for post in posts if post.is_discoverable), POSTS_PER_BATCH):
            added += await self.index.add(some)
            await self.names.add_hashtags(chain.from_iterable(post.indexed_hashtags for post in some))
        return added

    async def add_or_defer(self, post: Post, former: Sequence[Post] = ()) -> None:
        """Add a post without the terms of its former versions, or store it as pending if the index is unavailable."""
        try:
            await self.add_posts([post])
            await self._remove_former(post, former)
        except StoreUnavailable as error:
            log.warning("post_not_indexed", post=post.id, reason=type(error).__name__)
            await self.pending.add(post.id)

    async def add_pending(self) -> int:
        """Add the pending posts and return their number. Raises StoreUnavailable."""
        paid = 0
        while ids := await self.pending.find_oldest(PENDING_PER_READ):
            async with wait_for_aof_at_exit():
                posts = await self.posts.find_many(ids)
                await self.add_posts(posts.values())
                for post in posts.values():
                    if post.extra.version:
                        *former, newest = await self.posts.find_versions(post.id) or [post]
                        await self._remove_former(newest, former)
                await self._remove_deleted(posts)
            await self.pending.remove(ids)
            paid += len(posts)
        return paid

    async def _remove_former(self, post: Post, former: Sequence[Post]) -> None:
        if former and post.is_discoverable:
            await self.index.remove(*former, keep=post)

    async def _remove_deleted(self, found: Mapping[PostId, Post]) -> None:
        """Remove posts that were deleted while they were being added."""
        standing = await self.posts.find_many(list(found))
        for post_id in found.keys() - standing.keys():
            await self.index.remove(found[post_id])

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        """The periodic task in which workers add the pending posts."""
        return (PeriodicTask("search", PENDING_INTERVAL_S, self.add_pending),)

    async def remove_post(self, post: Post, *former: Post) -> None:
        """Remove a post whose tombstone is stored. If the index is unavailable, the post stays there, but is hidden."""
        if not post.is_discoverable:
            return
        try:
            await self.index.remove(post, *former)
        except StoreUnavailable as error:
            log.warning("post_not_unindexed", post=post.id, reason=type(error).__name__)

    async def update_names(self, account_ids: Sequence[AccountId]) -> int:
        """Store the current names of the accounts. Names of hidden accounts are deleted. Raises StoreUnavailable."""
        authors = await self.accounts.find_authors(account_ids)
        return await self.names.set_names({id: searchable_names(authors.get(id)) for id in account_ids})

    async def update_names_if_available(self, account_ids: Sequence[AccountId]) -> None:
        """Call `update_names`. If the index is unavailable, only log this.

        Sign-up, settings and moderation use this method.
        """
        try:
            await self.update_names(account_ids)
        except StoreUnavailable as error:
            log.warning("accounts_not_named", accounts=len(account_ids), reason=type(error).__name__)


def searchable_names(author: Author | None) -> list[str]:
    """Return "@handle" and the prefixes of the display name. Hidden accounts have no names."""
    if author is None or not author.is_visible:
        return []
    return [f"@{author.handle}", *name_prefixes(author.display_name)]
