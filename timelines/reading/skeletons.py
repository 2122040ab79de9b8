"""Skeletons: the ids of a timeline beyond an edge, before anything is hydrated or hidden.

A skeleton serves one request. `ids` answers with fewer than asked only where the timeline ends.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from socialsite.ids import AccountId, PostId
from socialsite.store import StoreFull
from timelines.author_feeds.merging import merge_nearest
from timelines.author_feeds.repository import AuthorFeedRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedHead, CachedTimelines
from timelines.hashtags.repository import HashtagTimelines
from timelines.pages.page import ABOVE_ALL_IDS


class Skeleton(Protocol):
    async def next_ids(self, edge: int, limit: int, *, upward: bool) -> list[PostId]: ...


class ProfileSkeleton:
    """One author's posts. `first`: what `ids` is asked for first, where that was read before."""

    def __init__(
        self,
        profiles: AuthorFeedRepository,
        account_id: AccountId,
        first: list[PostId] | None = None,
        *,
        may_lag: bool = False,
    ) -> None:
        self._profiles = profiles
        self._account_id = account_id
        self._first = first
        self._may_lag = may_lag

    async def next_ids(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        first, self._first = self._first, None
        if first is not None:
            return first
        return await self._profiles.read(self._account_id, edge, limit, upward=upward, may_lag=self._may_lag)


class PublicSkeleton:
    """Everybody's newest posts."""

    def __init__(self, public: PublicTimelineRepository, *, may_lag: bool = False) -> None:
        self._public = public
        self._may_lag = may_lag

    async def next_ids(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        return await self._public.read(edge, limit, upward=upward, may_lag=self._may_lag)


class TagSkeleton:
    """The newest posts with a hashtag."""

    def __init__(self, tags: HashtagTimelines, tag: str, *, may_lag: bool = False) -> None:
        self._tags = tags
        self._tag = tag
        self._may_lag = may_lag

    async def next_ids(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        return await self._tags.read(self._tag, edge, limit, upward=upward, may_lag=self._may_lag)


class TagsSkeleton:
    """The newest posts with any of some hashtags: their timelines, merged when they are read."""

    def __init__(self, tags: HashtagTimelines, names: Sequence[str]) -> None:
        self._tags = tags
        self._names = names

    async def next_ids(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        parts = await self._tags.read_many(self._names, edge, limit, upward=upward)
        return sorted({post_id for part in parts for post_id in part}, reverse=not upward)[:limit]


class MergedSkeleton:
    """The posts of some authors, merged from their profiles whenever they are read."""

    def __init__(self, profiles: AuthorFeedRepository, authors: Callable[[], Awaitable[Sequence[AccountId]]]) -> None:
        self._profiles = profiles
        self._read_authors = authors
        self._authors: Sequence[AccountId] | None = None

    async def next_ids(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        if self._authors is None:
            self._authors = await self._read_authors()
        return await merge_nearest(self._profiles, self._authors, edge, limit, upward=upward)


class CachedSkeleton:
    """A home or list timeline: the cached head, and below its floor the authors' profiles, without end."""

    def __init__(
        self,
        timelines: CachedTimelines,
        profiles: AuthorFeedRepository,
        owner: int,
        authors: Callable[[], Awaitable[Sequence[AccountId]]],
        pulled: Callable[[], Awaitable[Collection[AccountId]]] | None = None,
    ) -> None:
        self._timelines = timelines
        self._profiles = profiles
        self._owner = owner
        self._read_authors = authors
        self._read_pulled = pulled
        self._authors: Sequence[AccountId] | None = None
        self._pulled: Sequence[AccountId] | None = None
        self._part: CachedHead | None = None
        self._looked = False

    async def next_ids(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        if upward:
            return await self._above(edge, limit)
        found, below = await self._cached_below(edge, limit)
        pulled = [post_id for post_id in await self._by_pulled(edge, limit, upward=False) if post_id >= below]
        if pulled:
            found = sorted({*found, *pulled}, reverse=True)[:limit]
        if len(found) < limit:
            found += await self._merged(below, limit - len(found), upward=False)
        return found

    async def _cached_below(self, edge: int, limit: int) -> tuple[list[PostId], int]:
        """Ids of the cached head, and the edge below which the profiles go on."""
        part = await self._look(limit if edge == ABOVE_ALL_IDS else None)
        if part is None:
            return [], edge
        settled = part.settled_id
        found = [post_id for post_id in part.ids if settled <= post_id < edge]
        if len(found) < limit and not part.is_whole:
            self._part = part = await self._timelines.read_whole(self._owner)
            if part is None:
                return [], edge
            found = [post_id for post_id in part.ids if post_id < edge]
        return found[:limit], min(edge, part.floor + 1)

    async def _above(self, edge: int, limit: int) -> list[PostId]:
        part = await self._look(None)
        if part is None or edge < part.floor:
            return await self._merged(edge, limit, upward=True)
        found = [post_id for post_id in reversed(part.ids) if post_id > edge][:limit]
        pulled = await self._by_pulled(edge, limit, upward=True)
        return sorted({*found, *pulled})[:limit] if pulled else found

    async def _look(self, head: int | None) -> CachedHead | None:
        """The cached part, built first where it is absent; None while somebody else builds it."""
        if not self._looked:
            self._looked = True
            self._part = await self._read(head)
            if self._part is None and await self._built():
                self._part = await self._read(head)
        return self._part

    async def _built(self) -> bool:
        """Build, unless the store is full: then the profiles serve the page alone."""
        try:
            return await self.rebuild()
        except StoreFull:
            return False

    async def _read(self, head: int | None) -> CachedHead | None:
        if head is None:
            return await self._timelines.read_whole(self._owner)
        return await self._timelines.read(self._owner, head + self._timelines.read_ahead)

    async def rebuild(self) -> bool:
        """Rebuild an absent timeline from its sources; False where it stands, or the build was defeated."""
        token = await self._timelines.begin_build(self._owner)
        if token is None:
            return False
        self._authors = None  # read after the token stands, or an edge made before it could be missed
        cap = self._timelines.cap
        ids = await self._merged(ABOVE_ALL_IDS, cap + 1, upward=False)
        floor = ids[cap] if len(ids) > cap else 0
        return await self._timelines.finish_build(self._owner, token, ids[:cap], floor)

    async def _by_pulled(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        """What the cached part may lack: posts of followed authors who are not syndicated (pulling.py)."""
        if self._pulled is None:
            self._pulled = tuple(await self._read_pulled()) if self._read_pulled is not None else ()
        return await merge_nearest(self._profiles, self._pulled, edge, limit, upward=upward)

    async def _merged(self, edge: int, limit: int, *, upward: bool) -> list[PostId]:
        if self._authors is None:
            self._authors = await self._read_authors()
        return await merge_nearest(self._profiles, self._authors, edge, limit, upward=upward)
