"""Trending hashtags: the worker counts uses, pages show the top, and each process caches it for CACHE_MS."""

import logging
from typing import NamedTuple

from socialsite.ids import TimeSource, ms_from_id
from socialsite.store import StoreError
from timelines.hashtags.trends_repository import Trends
from timelines.ports import Authors
from timelines.posts.post import Post
from timelines.text.linkify import find_hashtags

log = logging.getLogger(__name__)

MAX_TRENDS = 10
CACHE_MS = 20_000


class Trend(NamedTuple):
    """A hashtag and how many accounts used it within a day."""

    tag: str
    accounts: int


class TrendService:
    def __init__(self, *, trends: Trends, accounts: Authors, clock: TimeSource) -> None:
        self._trends = trends
        self._accounts = accounts
        self._clock = clock
        self._cache: tuple[int, tuple[Trend, ...]] = (0, ())

    async def count_post(self, post: Post) -> None:
        """Count the hashtags of a published post that everybody may read. Store errors are logged, not raised."""
        tags = find_hashtags(post.text) if post.is_discoverable else []
        if not tags:
            return
        try:
            author = (await self._accounts.find_authors([post.author_id])).get(post.author_id)
            if author is not None and author.is_visible and not author.private:
                await self._trends.count_uses(post.author_id, tags, ms_from_id(post.id))
        except StoreError as error:
            log.warning("hashtags were not counted: %s", error)

    @property
    def cached(self) -> tuple[Trend, ...]:
        """The last result of `top` in this process."""
        return self._cache[1]

    async def top(self) -> tuple[Trend, ...]:
        """Return the trends, at most CACHE_MS old; the cached or no trends if the store of statistics is away."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._cache[0]:
            self._cache = now_ms + CACHE_MS, self._cache[1]  # one request reads, others use the old value
            try:
                trends = await self._trends.top(now_ms, MAX_TRENDS)
                self._cache = self._cache[0], tuple(Trend(*each) for each in trends)
            except StoreError as error:
                log.info("no trends: %s", error)
        return self._cache[1]
