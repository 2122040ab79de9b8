"""Trending hashtags: fed by the worker, told on pages, kept a moment in the process: no rights in them."""

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from accounts.domain import Author
from socialsite.ids import AccountId, TimeSource, ms_from_id
from socialsite.store import StoreError
from timelines.hashtags.trends_repository import Trends
from timelines.posts.post import Post
from timelines.text.linkify import find_hashtags

log = logging.getLogger(__name__)

MAX_TRENDS = 10
CACHE_MS = 20_000


class Trend(NamedTuple):
    """A hashtag and how many accounts used it within a day."""

    tag: str
    accounts: int


class Authors(Protocol):
    async def find_authors(self, ids: Iterable[AccountId]) -> Mapping[AccountId, Author]: ...


class TrendService:
    def __init__(self, *, trends: Trends, accounts: Authors, clock: TimeSource) -> None:
        self._trends = trends
        self._accounts = accounts
        self._clock = clock
        self._kept: tuple[int, tuple[Trend, ...]] = (0, ())

    async def count_post(self, post: Post) -> None:
        """A post was published; only what strangers may read makes a trend. Never fails: it is a count."""
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
        """What `top` said last in this process, without a question to the store."""
        return self._kept[1]

    async def top(self) -> tuple[Trend, ...]:
        """What is talked about most first; a moment old, and none while the statistics are away."""
        now_ms = self._clock.now_ms()
        if now_ms >= self._kept[0]:
            self._kept = now_ms + CACHE_MS, self._kept[1]  # one asks, the others take what was known
            try:
                found = await self._trends.top(now_ms, MAX_TRENDS)
                self._kept = self._kept[0], tuple(Trend(*each) for each in found)
            except StoreError as error:
                log.info("no trends: %s", error)
        return self._kept[1]
