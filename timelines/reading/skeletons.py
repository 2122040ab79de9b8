"""Skeletons: a skeleton returns the post ids of a timeline beyond a bound, before any post is read or hidden.

A skeleton serves one request. It returns fewer ids than the limit only at the end of the timeline. The bound is
exclusive. `upward` selects newer ids, otherwise older ids are returned.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from socialsite.ids import AccountId, PostId
from socialsite.store import Read, WritesRefused
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.author_timelines.merging import merge_nearest
from timelines.author_timelines.repository import AuthorTimelineRepository
from timelines.cached_timelines.repository import CachedHead, CachedTimelines
from timelines.pages.page import ABOVE_ALL_IDS

LOWEST_FLOOR = 1
"""No id is below it: the cached head of a timeline with this bound has all posts."""


class Skeleton(Protocol):
    async def next_ids(self, bound: int, limit: int, *, upward: bool) -> list[PostId]: ...


class ReadIds(Protocol):
    """A function that reads the `limit` ids nearest to a bound. The bound is exclusive."""

    def __call__(self, bound: int, limit: int, *, upward: bool) -> Read[list[PostId]]: ...


class StoredSkeleton:
    """A timeline that is stored as one sorted set: an author timeline, the public timeline or a hashtag timeline.

    `first_ids` is the result of the first call, if the caller has already read these ids.
    """

    def __init__(self, read_ids: ReadIds, first_ids: list[PostId] | None = None, *, may_lag: bool = False) -> None:
        self._read_ids = read_ids
        self._first_ids = first_ids
        self._may_lag = may_lag

    async def next_ids(self, bound: int, limit: int, *, upward: bool) -> list[PostId]:
        first_ids, self._first_ids = self._first_ids, None
        if first_ids is not None:
            return first_ids
        return await self._read_ids(bound, limit, upward=upward).allow_lag(self._may_lag)


class HashtagsSkeleton:
    """The posts that have at least one of several hashtags, merged when they are read."""

    def __init__(self, timelines: HashtagTimelines, hashtags: Sequence[str]) -> None:
        self._timelines = timelines
        self._hashtags = hashtags

    async def next_ids(self, bound: int, limit: int, *, upward: bool) -> list[PostId]:
        parts = await self._timelines.read_many(self._hashtags, bound, limit, upward=upward)
        return sorted({post_id for part in parts for post_id in part}, reverse=not upward)[:limit]


class MergedSkeleton:
    """The posts of several authors, merged from their author timelines when they are read."""

    def __init__(
        self, author_timelines: AuthorTimelineRepository, read_author_ids: Callable[[], Awaitable[Sequence[AccountId]]]
    ) -> None:
        self._author_timelines = author_timelines
        self._read_author_ids = read_author_ids
        self._author_ids: Sequence[AccountId] | None = None

    async def next_ids(self, bound: int, limit: int, *, upward: bool) -> list[PostId]:
        if self._author_ids is None:
            self._author_ids = await self._read_author_ids()
        return await merge_nearest(self._author_timelines, self._author_ids, bound, limit, upward=upward)


class CachedSkeleton:
    """A home or list timeline: first the cached head, then all older posts from the timelines of its authors.

    `read_unpushed_ids` returns the authors whose posts are not pushed to the cache (fan_out_on_read.py).
    """

    def __init__(
        self,
        timelines: CachedTimelines,
        author_timelines: AuthorTimelineRepository,
        owner: int,
        read_author_ids: Callable[[], Awaitable[Sequence[AccountId]]],
        read_unpushed_ids: Callable[[], Awaitable[Collection[AccountId]]] | None = None,
    ) -> None:
        self._timelines = timelines
        self._author_timelines = author_timelines
        self._owner = owner
        self._read_author_ids = read_author_ids
        self._read_unpushed_ids = read_unpushed_ids
        self._author_ids: Sequence[AccountId] | None = None
        self._unpushed_ids: Sequence[AccountId] | None = None
        self._head: CachedHead | None = None
        self._has_read = False

    async def next_ids(self, bound: int, limit: int, *, upward: bool) -> list[PostId]:
        if upward:
            return await self._next_above(bound, limit)
        ids, floor = await self._read_cached_below(bound, limit)
        unpushed = await self._read_unpushed(bound, limit, upward=False)
        if unpushed_ids := [post_id for post_id in unpushed if post_id >= floor]:
            ids = sorted({*ids, *unpushed_ids}, reverse=True)[:limit]
        if len(ids) < limit and floor > LOWEST_FLOOR:
            ids += await self._merge_author_timelines(floor, limit - len(ids), upward=False)
        return ids

    async def _next_above(self, bound: int, limit: int) -> list[PostId]:
        head = await self._read_or_build(None)
        if head is None or bound < head.floor:
            return await self._merge_author_timelines(bound, limit, upward=True)
        ids = [post_id for post_id in reversed(head.ids) if post_id > bound][:limit]
        unpushed_ids = await self._read_unpushed(bound, limit, upward=True)
        return sorted({*ids, *unpushed_ids})[:limit] if unpushed_ids else ids

    async def _read_cached_below(self, bound: int, limit: int) -> tuple[list[PostId], int]:
        """Return ids of the cached head, and the bound below which older ids come from the author timelines."""
        head = await self._read_or_build(limit if bound == ABOVE_ALL_IDS else None)
        if head is None:
            return [], bound
        settled_id = head.settled_id
        ids = [post_id for post_id in head.ids if settled_id <= post_id < bound]
        if len(ids) < limit and not head.is_whole:
            self._head = head = await self._timelines.read_whole(self._owner)
            if head is None:
                return [], bound
            ids = [post_id for post_id in head.ids if post_id < bound]
        return ids[:limit], min(bound, head.floor + 1)

    async def _read_or_build(self, limit: int | None) -> CachedHead | None:
        """Return the cached head. Build the head first if it is absent.

        Returns None if another process is building the head, or if it cannot be built.
        """
        if not self._has_read:
            self._has_read = True
            self._head = await self._read_head(limit)
            if self._head is None and await self._rebuild_unless_refused():
                self._head = await self._read_head(limit)
        return self._head

    async def _read_head(self, limit: int | None) -> CachedHead | None:
        if limit is None:
            return await self._timelines.read_whole(self._owner)
        return await self._timelines.read(self._owner, limit + self._timelines.read_ahead)

    async def _rebuild_unless_refused(self) -> bool:
        """Rebuild the cached timeline. If the store refuses writes, return False; then author timelines are read."""
        try:
            return await self.rebuild()
        except WritesRefused:
            return False

    async def rebuild(self) -> bool:
        """Build an absent timeline from author timelines. Return False if it exists or the build was aborted."""
        token = await self._timelines.begin_build(self._owner)
        if token is None:
            return False
        self._author_ids = None  # read the follows again after the token is stored: an older result may lack a follow
        cap = self._timelines.cap
        ids = await self._merge_author_timelines(ABOVE_ALL_IDS, cap + 1, upward=False)
        floor = ids[cap] if len(ids) > cap else 0
        return await self._timelines.finish_build(self._owner, token, ids[:cap], floor)

    async def _read_unpushed(self, bound: int, limit: int, *, upward: bool) -> list[PostId]:
        """Return posts of authors whose posts are not pushed. The cache may lack these posts."""
        if self._unpushed_ids is None:
            self._unpushed_ids = () if self._read_unpushed_ids is None else tuple(await self._read_unpushed_ids())
        return await merge_nearest(self._author_timelines, self._unpushed_ids, bound, limit, upward=upward)

    async def _merge_author_timelines(self, bound: int, limit: int, *, upward: bool) -> list[PostId]:
        if self._author_ids is None:
            self._author_ids = await self._read_author_ids()
        return await merge_nearest(self._author_timelines, self._author_ids, bound, limit, upward=upward)
