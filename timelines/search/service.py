"""Search: the index returns candidates, the read pipeline applies the rights, and the texts must match the query.

A page is full unless the posts end. The work of one request is bounded. If the words of a query rarely occur together,
a page may therefore be short or empty and still have a cursor.
"""

import asyncio
from dataclasses import dataclass

from accounts.accounts.service import AccountService
from socialsite.ids import MAX_ID, AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from socialsite.tasks import run_together
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
MAX_ACCOUNTS, MAX_HASHTAGS = 5, 8
SIMILAR_MIN_LENGTH, SIMILAR_CUT_CAP = 3, 2
"""A similar name starts with at least so many characters of the query, and lacks at most so many of its last ones."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """A page of posts. The first page also has accounts and hashtags that start with the query.

    If nothing is found, it has accounts and hashtags that nearly start with it, and `is_similar` is set.
    """

    posts: TimelinePage
    account_ids: list[AccountId]
    hashtags: list[str]
    is_similar: bool


@dataclass(kw_only=True, slots=True)
class SearchService:
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
        is_first: bool = True,
        caller: Caller | None = None,
    ) -> SearchResults:
        """Search posts, and for the first page also accounts and hashtags. Raises RateLimited."""
        async with self.limits.refundable(caller, "search"):
            posts, accounts, hashtags = await run_together(
                self.search_posts(query, viewer_id=viewer_id, before=before, limit=limit),
                self._find_accounts(query.account_prefix if is_first else "", viewer_id),
                self._find_hashtags(query.hashtag_prefix if is_first else ""),
            )
            is_similar = is_first and not (posts.entries or posts.next_before or accounts or hashtags)
            if is_similar:
                accounts, hashtags = await self._find_similar(query, viewer_id)
        return SearchResults(posts, accounts, hashtags, is_similar)

    async def _find_similar(self, query: SearchQuery, viewer_id: AccountId | None) -> tuple[list[AccountId], list[str]]:
        """Return accounts and hashtags that start with the query without its last characters."""
        names = query.account_prefix, query.hashtag_prefix
        for cut in range(1, SIMILAR_CUT_CAP + 1):
            account_prefix, hashtag_prefix = (
                name[:-cut] if len(name) >= SIMILAR_MIN_LENGTH + cut else "" for name in names
            )
            accounts, hashtags = await run_together(
                self._find_accounts(account_prefix, viewer_id), self._find_hashtags(hashtag_prefix)
            )
            if accounts or hashtags:
                return accounts, hashtags
        return [], []

    async def _find_accounts(self, prefix: str, viewer_id: AccountId | None) -> list[AccountId]:
        if not prefix:
            return []
        authors = await self.autocomplete.complete_accounts(prefix, viewer_id=viewer_id, limit=MAX_ACCOUNTS)
        return [author.id for author in authors]

    async def _find_hashtags(self, prefix: str) -> list[str]:
        return await self.autocomplete.complete_hashtags(normalize_tag(prefix) or "", limit=MAX_HASHTAGS)

    async def search_posts(
        self,
        query: SearchQuery,
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        limit: int = DEFAULT_LIMIT,
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


def _next_cursor(entries: list[HydratedPost], walk: PartitionMerge, limit: int) -> PostId | None:
    if len(entries) > limit:
        return entries[limit - 1].post.id
    return None if walk.is_exhausted else PostId(walk.lowest_decided_id)
