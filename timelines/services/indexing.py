"""Keeping the search index: posts under their terms, accounts and hashtags under what they are called.

The index is a cache beside everything else. Where its servers are away nothing waits for it: what could not
be put in is owed as a job, what could not be taken out is hidden from readers, like all they may not see.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import structlog

from accounts.domain import AccountId, Author
from accounts.repositories import AccountRepository
from socialsite.store import StoreUnavailable
from timelines.domain.linkify import hashtags
from timelines.domain.post import Post
from timelines.domain.searching import name_starts
from timelines.repositories.search import PostIndex
from timelines.repositories.search_names import NameIndex
from timelines.services.importing import batches

POSTS_AT_ONCE = 500
"""In one round trip, some 30 ms of the index's servers."""

log = structlog.get_logger("timelines.search")


class Indexing:
    """Every step may run any number of times."""

    def __init__(self, index: PostIndex, names: NameIndex, accounts: AccountRepository) -> None:
        self._index = index
        self._names = names
        self._accounts = accounts

    async def add(self, posts: Iterable[Post]) -> int:
        """Put those posts in that strangers may find; the number of new postings. Raises StoreUnavailable.

        Whose account is private or suspended is asked when they are read: that may change any time.
        """
        added = 0
        for some in batches((post for post in posts if post.is_listed), POSTS_AT_ONCE):
            added += await self._index.add(some)
            await self._names.add_tags(chain.from_iterable(hashtags(post.text) for post in some))
        return added

    async def add_if_there(self, post: Post) -> bool:
        """Whether that was possible; otherwise the caller owes it."""
        try:
            await self.add([post])
        except StoreUnavailable as error:
            log.warning("post_not_indexed", post=post.id, reason=type(error).__name__)
            return False
        return True

    async def remove(self, post: Post) -> None:
        """After the tombstone stands: nobody sees what stays behind."""
        if not post.is_listed:
            return
        try:
            await self._index.remove(post)
        except StoreUnavailable as error:
            log.warning("post_not_unindexed", post=post.id, reason=type(error).__name__)

    async def name(self, account_ids: Sequence[AccountId]) -> int:
        """Find accounts by what they are called now, hidden ones by nothing. Raises StoreUnavailable."""
        authors = await self._accounts.authors(account_ids)
        return await self._names.set_names({id: names_of(authors.get(id)) for id in account_ids})

    async def name_if_there(self, account_ids: Sequence[AccountId]) -> None:
        """The same for those who do not wait for it: sign-up, settings, moderation."""
        try:
            await self.name(account_ids)
        except StoreUnavailable as error:
            log.warning("accounts_not_named", accounts=len(account_ids), reason=type(error).__name__)


def names_of(author: Author | None) -> list[str]:
    """The handle, marked as one, and the beginnings of the display name."""
    if author is None or not author.is_visible:
        return []
    return [f"@{author.handle}", *name_starts(author.display_name)]
