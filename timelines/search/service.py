"""Searching posts: the index narrows, the posts decide, rights are checked as everywhere.

A page is full unless the posts end. One whose words are rare together may come short, or empty, with a
cursor: the work of a request is bounded, the next one goes on where it stopped.
"""

import asyncio
from typing import Protocol

from accounts.models import Account
from socialsite.ids import MAX_ID, AccountId, PostId
from timelines.pages.page import DEFAULT_LIMIT, HydratedPost, TimelinePage
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.search.partition_merge import PartitionMerge
from timelines.search.query import SearchQuery
from timelines.search.repository import PostIndex, SearchTerms
from timelines.visibility.rights import ViewContext

SEARCH_DEADLINE_S = 0.5
"""After this a request asks for no further round."""
MAX_ROUNDS = 20


class Accounts(Protocol):
    async def find_by_handle(self, handle: str) -> Account | None: ...


class SearchService:
    def __init__(self, *, index: PostIndex, pipeline: ReadPipeline, accounts: Accounts) -> None:
        self._index = index
        self._pipeline = pipeline
        self._accounts = accounts

    async def search_posts(
        self,
        query: SearchQuery,
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> TimelinePage:
        """Posts that match, newest first, below `before`."""
        author_id = None
        if query.author is not None:
            account = await self._accounts.find_by_handle(query.author)
            if account is None or not account.is_active:
                return TimelinePage((), None, None)
            author_id = AccountId(account.id)
        sought = SearchTerms(tuple(query.terms), author_id, query.lowest_id)
        highest = min(query.highest_id, MAX_ID if before is None else before - 1)
        return await self._page(query, PartitionMerge(self._index, sought, highest), viewer_id, limit)

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
            seen = await self._pipeline.read_posts(ids, ViewerContext(viewer_id, ViewContext.SEARCH))
            entries += [entry for entry in seen if query.matches(entry.post.text)]
        return TimelinePage(tuple(entries[:limit]), _next_cursor(entries, walk, limit), None)


def _next_cursor(entries: list[HydratedPost], walk: PartitionMerge, limit: int) -> PostId | None:
    if len(entries) > limit:
        return entries[limit - 1].post.id
    return None if walk.is_exhausted else PostId(walk.lowest_decided_id)
