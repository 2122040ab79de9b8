"""Search: the index returns candidates, the read pipeline applies the rights, and the texts must match the query.

A page is full unless the posts end. The work of one request is bounded. If the words of a query rarely occur together,
a page may therefore be short or empty and still have a cursor.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from accounts.accounts.service import AccountService
from socialsite.concurrency import run_together
from socialsite.ids import MAX_ID, AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Service
from timelines.pages.page import DEFAULT_LIMIT, HydratedPost, TimelinePage
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.search.autocomplete import AutocompleteService
from timelines.search.partition_merge import PartitionMerge
from timelines.search.query import SearchQuery
from timelines.search.repository import PostIndex, SearchTerms
from timelines.text.token_scanner import normalize_tag
from timelines.visibility.rights import ViewContext

SEARCH_DEADLINE_S = 0.5
"""A request starts no more reads after this time."""
MAX_ROUNDS = 20
MAX_ACCOUNTS, MAX_HASHTAGS, MAX_NAMES_ALONE = 5, 8, 40
SIMILAR_MIN_LENGTH, SIMILAR_CUT_CAP = 3, 2
"""A similar name starts with at least so many characters of the query, and lacks at most so many of its last ones."""


SearchKind = Literal["all", "posts", "people", "hashtags"]
NAME_LIMITS: Mapping[SearchKind, tuple[int, int]] = {
    "all": (MAX_ACCOUNTS, MAX_HASHTAGS),
    "posts": (0, 0),
    "people": (MAX_NAMES_ALONE, 0),
    "hashtags": (0, MAX_NAMES_ALONE),
}
"""The maximum numbers of accounts and of hashtags in the results."""
Names = tuple[list[AccountId], list[str]]
"""Accounts and hashtags."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of one kind, or of all: posts, and the accounts and hashtags that start with the query.

    If nothing is found, they are accounts and hashtags that nearly start with it, and `is_similar` is set.
    """

    posts: TimelinePage
    account_ids: list[AccountId]
    hashtags: list[str]
    is_similar: bool


class SearchService(Service):
    index: PostIndex
    pipeline: ReadPipeline
    accounts: AccountService
    autocomplete: AutocompleteService
    limits: ActionLimits

    async def search(
        self,
        query: SearchQuery,
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        limit: int = DEFAULT_LIMIT,
        kind: SearchKind = "all",
        caller: Caller | None = None,
    ) -> SearchResults:
        """Search posts, accounts or hashtags, as `kind` says. Raises RateLimited."""
        async with self.limits.refundable(caller, "search"):
            posts, (accounts, hashtags) = await run_together(
                self.search_posts(query, viewer_id=viewer_id, before=before, limit=limit)
                if kind in ("all", "posts")
                else _no_posts(),
                self._find_names((query.account_prefix, query.hashtag_prefix), viewer_id, kind),
            )
            is_similar = kind != "posts" and not (posts.entries or posts.next_before or accounts or hashtags)
            if is_similar:
                accounts, hashtags = await self._find_similar(query, viewer_id, kind)
        return SearchResults(posts, accounts, hashtags, is_similar)

    async def _find_similar(self, query: SearchQuery, viewer_id: AccountId | None, kind: SearchKind) -> Names:
        """Return accounts and hashtags that start with the query without its last characters."""
        prefixes = query.account_prefix, query.hashtag_prefix
        for cut in range(1, SIMILAR_CUT_CAP + 1):
            account_prefix, hashtag_prefix = (
                prefix[:-cut] if len(prefix) >= SIMILAR_MIN_LENGTH + cut else "" for prefix in prefixes
            )
            accounts, hashtags = await self._find_names((account_prefix, hashtag_prefix), viewer_id, kind)
            if accounts or hashtags:
                return accounts, hashtags
        return [], []

    async def _find_names(self, prefixes: tuple[str, str], viewer_id: AccountId | None, kind: SearchKind) -> Names:
        max_accounts, max_hashtags = NAME_LIMITS[kind]
        return await run_together(
            self._find_accounts(prefixes[0], viewer_id, max_accounts), self._find_hashtags(prefixes[1], max_hashtags)
        )

    async def _find_accounts(self, prefix: str, viewer_id: AccountId | None, limit: int) -> list[AccountId]:
        if not prefix or not limit:
            return []
        authors = await self.autocomplete.complete_accounts(prefix, viewer_id=viewer_id, limit=limit)
        return [author.id for author in authors]

    async def _find_hashtags(self, prefix: str, limit: int) -> list[str]:
        tag = normalize_tag(prefix) if limit else None
        return await self.autocomplete.complete_hashtags(tag, limit=limit) if tag else []

    async def search_posts(
        self, query: SearchQuery, *, viewer_id: AccountId | None, before: int | None = None, limit: int = DEFAULT_LIMIT
    ) -> TimelinePage:
        """Return matching posts below `before`, newest first."""
        author_id = None
        if query.author is not None:
            account = await self.accounts.find_by_handle(query.author)
            if account is None or not account.is_active:
                return TimelinePage((), None, None)
            author_id = AccountId(account.id)
        sought = SearchTerms(tuple(query.terms), author_id, query.lowest_id)
        highest = min(query.highest_id, MAX_ID if before is None else before - 1)
        return await self._page(query, PartitionMerge(self.index, sought, highest), viewer_id, limit)

    async def _page(
        self, query: SearchQuery, walk: PartitionMerge, viewer_id: AccountId | None, limit: int
    ) -> TimelinePage:
        entries: list[HydratedPost] = []
        loop = asyncio.get_running_loop()
        deadline = loop.time() + SEARCH_DEADLINE_S
        for _ in range(MAX_ROUNDS):
            if walk.is_exhausted or len(entries) > limit or loop.time() > deadline:
                break
            ids = await walk.next_ids(limit + 1 - len(entries))
            seen = await self.pipeline.read_posts(ids, ViewerContext(viewer_id, ViewContext.SEARCH))
            entries += [entry for entry in seen if query.matches(entry.post.searchable_text)]
        return TimelinePage(tuple(entries[:limit]), _next_cursor(entries, walk, limit), None)


async def _no_posts() -> TimelinePage:
    return TimelinePage((), None, None)


def _next_cursor(entries: list[HydratedPost], walk: PartitionMerge, limit: int) -> PostId | None:
    if len(entries) > limit:
        return entries[limit - 1].post.id
    return None if walk.is_exhausted else PostId(walk.lowest_decided_id)
