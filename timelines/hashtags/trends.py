"""Trending hashtags. The worker counts uses, and pages show the top hashtags, which a process caches for CACHE_MS."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, TypeVar

from accounts.accounts.service import AccountService
from accounts.domain import Author
from socialsite.ids import AccountId, TimeSource, ms_from_id
from socialsite.service import Service
from socialsite.site.service import SiteService
from socialsite.store import StoreError
from socialsite.web.cache import get_or_compute
from timelines.author_timelines.repository import PublicTimelineRepository
from timelines.hashtags.public_hashtags import PublicHashtags
from timelines.hashtags.trends_repository import HISTORY_DAYS, HOUR_MS, HOURS, Trends
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository

log = logging.getLogger(__name__)

MAX_TRENDS, MAX_CANDIDATES = 10, 50
CACHE_MS = 20_000
NEWEST_POSTS, MAX_NEWEST, NEWEST_CANDIDATES = 100, 5, 30
NEWEST_TTL_S = 60


class Trend(NamedTuple):
    """A hashtag and the number of accounts that used it within a day."""

    tag: str
    accounts: int


class ExploredHashtag(NamedTuple):
    """A hashtag with the number of accounts that used it lately.

    `hours` has its new accounts in each hour of the last day, the oldest first, or () if nothing was counted. For a
    hashtag that is no trend it has the newest posts instead.
    """

    tag: str
    accounts: int
    hours: tuple[int, ...] = ()


T = TypeVar("T", Trend, ExploredHashtag)


class TrendService(Service):
    """Counts and reads trends. If no hashtag reaches MIN_ACCOUNTS, the side panel shows the newest hashtags."""

    trends: Trends
    accounts: AccountService
    clock: TimeSource
    public: PublicTimelineRepository
    public_hashtags: PublicHashtags
    posts: PostRepository
    site: SiteService
    _newest_tags: tuple[Trend, ...] = ()
    _newest_explored: list[ExploredHashtag] = field(default_factory=list)
    _hours: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    _cache: tuple[int, tuple[Trend, ...]] = (0, ())

    async def count_post(self, post: Post) -> None:
        """Count the hashtags of a new or edited post that everybody may read. Store errors are logged, not raised."""
        tags = post.indexed_hashtags
        if not tags:
            return
        try:
            if _is_counted(post, await self.accounts.find_authors([post.author_id])):
                await self.trends.count_uses(post.author_id, tags, ms_from_id(post.id))
        except StoreError as error:
            log.warning("hashtags were not counted: %s", error)

    @property
    def cached(self) -> tuple[Trend, ...]:
        """The last result of `top` in this process."""
        return self._without_held(self._cache[1])[:MAX_TRENDS]

    @property
    def cached_newest(self) -> tuple[Trend, ...]:
        """The newest hashtags, if the last call of `top` found no trends. `accounts` is 0."""
        return self._without_held(self._newest_tags)[:MAX_NEWEST]

    def _without_held(self, trends: Sequence[T]) -> tuple[T, ...]:
        """Leave out the hashtags that staff hides, and with `reviews_trends` the hashtags that staff did not allow."""
        site = self.site.settings
        if not site.held_hashtags and not site.reviews_trends:
            return tuple(trends)
        return tuple(trend for trend in trends if site.shows_trend(trend.tag))

    async def top(self) -> tuple[Trend, ...]:
        """Return the trends as `candidates` does, without the hashtags that staff hides."""
        await self.candidates()
        return self.cached

    def history(self, tag: str) -> list[int]:
        """Return the new accounts of a trend on each of the last HISTORY_DAYS days (UTC), the newest first."""
        hours = self._hours.get(tag, ())
        return [sum(hours[start : start + HOURS]) for start in reversed(range(0, HOURS * HISTORY_DAYS, HOURS))]

    async def explored(self, limit: int) -> list[ExploredHashtag]:
        """Return the trends and then the newest hashtags, at most `limit` of them."""
        if not limit:
            return []
        await self.candidates()
        tags = [ExploredHashtag(*each, self._hours.get(each.tag, ())[-HOURS:]) for each in self.cached]
        if len(tags) < limit:
            trend_tags = {each.tag for each in tags}
            tags += [each for each in self._without_held(self._newest_explored) if each.tag not in trend_tags]
        return tags[:limit]

    async def candidates(self) -> tuple[Trend, ...]:
        """Return the most used hashtags of posts that everybody sees, at most CACHE_MS old, with the hidden hashtags.

        If the store of the trends is unavailable, returns the cached hashtags or none.
        """
        now_ms = self.clock.now_ms()
        if now_ms >= self._cache[0]:
            self._cache = now_ms + CACHE_MS, self._cache[1]  # one request reads while the others use the old value
            try:
                counts = dict(await self.trends.top(now_ms, MAX_CANDIDATES))
                tags = await self.public_hashtags.among(list(counts), MAX_CANDIDATES)
                trends = tuple(Trend(tag, counts[tag]) for tag in tags)
                self._cache = self._cache[0], trends
                self._hours = await self.trends.by_hour(now_ms, tags)
                self._newest_explored = await get_or_compute(
                    "newest-tags", list[ExploredHashtag], NEWEST_TTL_S, self._newest
                )
                self._newest_tags = () if trends else tuple(Trend(each.tag, 0) for each in self._newest_explored)
            except StoreError as error:
                log.info("no trends: %s", error)
        return self._cache[1]

    async def _newest(self) -> list[ExploredHashtag]:
        """Return the hashtags of the newest public posts; the hashtag with the most authors comes first."""
        post_ids = await self.public.read(ABOVE_ALL_IDS, NEWEST_POSTS, upward=False)
        posts = await self.posts.find_shown(post_ids)
        authors = await self.accounts.find_shown_authors({post.author_id for post in posts.values()})
        counted_posts = [
            posts[post_id] for post_id in post_ids if post_id in posts and _is_counted(posts[post_id], authors)
        ]
        author_ids: dict[str, set[AccountId]] = {}
        hours: dict[str, list[int]] = {}
        now_ms = self.clock.now_ms()
        for post in counted_posts:
            for tag in post.indexed_hashtags:
                author_ids.setdefault(tag, set()).add(post.author_id)
                age_h = (now_ms - ms_from_id(post.id)) // HOUR_MS
                if 0 <= age_h < HOURS:
                    hours.setdefault(tag, [0] * HOURS)[HOURS - 1 - age_h] += 1
        newest = [ExploredHashtag(tag, len(ids), tuple(hours.get(tag, ()))) for tag, ids in author_ids.items()]
        return sorted(newest[:NEWEST_CANDIDATES], key=lambda each: -each.accounts)


def _is_counted(post: Post, authors: Mapping[AccountId, Author]) -> bool:
    """Return whether everybody may see the author's posts."""
    author = authors.get(post.author_id)
    return author is not None and author.is_visible and not author.followers_only
