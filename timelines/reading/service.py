"""Reads a page of any timeline: chooses the skeleton and the rights of the viewer, then runs the read pipeline."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Unpack

from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits
from socialsite.recipes.rate_limit import Identifier
from socialsite.service import Service
from socialsite.store import Read, WritesRefused
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.author_timelines.merging import MAX_TIMELINES_PER_READ
from timelines.author_timelines.repository import AuthorTimelineRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.graph.repository import Follows
from timelines.pages.page import HydratedPost, PagePart, PageRequest, TimelinePage, fetch_size
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.skeletons import CachedSkeleton, HashtagsSkeleton, StoredSkeleton
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import AllowedAuthors, ViewContext

ReadAuthorIds = Callable[[], Awaitable[list[AccountId]]]


class ReadingService(Service):
    """Reads pages of every timeline. `viewer_id` is None for visitors.

    The keyword arguments `part` select a part of the timeline (`PagePart`). Ids and counts of pages for visitors may
    come from replicas and be out of date. Posts, authors and rights are always read from servers that accept writes.
    """

    pipeline: ReadPipeline
    author_timelines: AuthorTimelineRepository
    public_timeline: PublicTimelineRepository
    hashtag_timelines: HashtagTimelines
    homes: CachedTimelines
    follows: Follows
    fan_out_on_read: FanOutOnRead
    limits: ActionLimits

    async def home(self, viewer_id: AccountId, **part: Unpack[PagePart]) -> TimelinePage:
        """Return posts of the viewer and of the accounts that the viewer follows, back to the oldest post.

        Raises RateLimited.
        """
        viewer = ViewerContext(viewer_id, ViewContext.HOME, self.home_rights(viewer_id))
        skeleton = self.home_skeleton(viewer_id, reader_id=viewer_id)
        return await self.pipeline.read_page(skeleton, PageRequest(**part), viewer)

    async def profile(
        self, account_id: AccountId, *, viewer_id: AccountId | None, **part: Unpack[PagePart]
    ) -> TimelinePage:
        return await self.profile_page(account_id, PageRequest(**part), viewer_id=viewer_id)

    async def profile_page(
        self,
        account_id: AccountId,
        request: PageRequest,
        *,
        viewer_id: AccountId | None,
        first_ids: list[PostId] | None = None,
    ) -> TimelinePage:
        """Return posts of one account, like `profile`.

        `first_ids` is the result of `read_profile_ids`, if the caller has already read it.
        """
        skeleton = StoredSkeleton(partial(self.author_timelines.read, account_id), first_ids, may_lag=request.may_lag)
        return await self.pipeline.read_page(skeleton, request, ViewerContext(viewer_id, ViewContext.PROFILE))

    def read_profile_ids(self, account_id: AccountId, request: PageRequest) -> Read[list[PostId]]:
        """Return the ids that a page of a profile begins with."""
        return self.author_timelines.read(account_id, request.bound, fetch_size(request), upward=request.upward)

    async def feed(self, account_id: AccountId) -> TimelinePage:
        """Return the newest public posts of an account as visitors see them. A private account has none."""
        skeleton = StoredSkeleton(partial(self.author_timelines.read, account_id), may_lag=True)
        viewer = ViewerContext(None, ViewContext.PUBLIC)
        return await self.pipeline.read_page(skeleton, PageRequest(may_lag=True), viewer)

    async def public(self, *, viewer_id: AccountId | None, **part: Unpack[PagePart]) -> TimelinePage:
        request = PageRequest(**part)
        skeleton = StoredSkeleton(self.public_timeline.read, may_lag=request.may_lag)
        return await self.pipeline.read_page(skeleton, request, ViewerContext(viewer_id, ViewContext.PUBLIC))

    async def tag(self, tag: str, *, viewer_id: AccountId | None, **part: Unpack[PagePart]) -> TimelinePage:
        """Return posts with a hashtag. The caller normalizes `tag` (`normalize_tag`)."""
        request = PageRequest(**part)
        skeleton = StoredSkeleton(partial(self.hashtag_timelines.read, tag), may_lag=request.may_lag)
        return await self.pipeline.read_page(skeleton, request, ViewerContext(viewer_id, ViewContext.HASHTAG))

    async def tags(self, tags: Sequence[str], *, viewer_id: AccountId | None, **part: Unpack[PagePart]) -> TimelinePage:
        """Return posts that have at least one of the normalized hashtags, each post once."""
        skeleton, viewer = HashtagsSkeleton(self.hashtag_timelines, tags), ViewerContext(viewer_id, ViewContext.HASHTAG)
        return await self.pipeline.read_page(skeleton, PageRequest(**part), viewer)

    async def post(self, post_id: PostId, *, viewer_id: AccountId | None) -> HydratedPost:
        """Return one post. Raises PostNotFound if the post is absent, deleted or hidden from the viewer."""
        return await self.pipeline.get_visible(viewer_id, post_id)

    async def posts(self, post_ids: Sequence[PostId], *, viewer_id: AccountId | None) -> list[HydratedPost]:
        """Return the posts whose pages the viewer may see, in the order of `post_ids`."""
        return await self.pipeline.read_posts(post_ids, ViewerContext(viewer_id, ViewContext.POST))

    def post_count(self, account_id: AccountId) -> Read[int]:
        """Return the number of posts in the author timeline of the account."""
        return self.author_timelines.count(account_id)

    # Rebuilds of cached timelines and live channels use these, too.

    def home_skeleton(self, viewer_id: AccountId, *, reader_id: AccountId | None = None) -> CachedSkeleton:
        async def read_author_ids() -> list[AccountId]:
            return [*await self.follows.following_ids(viewer_id), viewer_id]

        read_unpushed_ids = partial(self.fan_out_on_read.followed_authors, viewer_id)
        read_limited_ids = self.with_limit(read_author_ids, reader_id)
        return CachedSkeleton(self.homes, self.author_timelines, viewer_id, read_limited_ids, read_unpushed_ids)

    def with_limit(self, read_author_ids: ReadAuthorIds, reader_id: AccountId | None) -> ReadAuthorIds:
        """Count the pages of the reader for which the timelines of very many authors are merged.

        Without a reader, nothing is counted.
        """

        async def read_and_count() -> list[AccountId]:
            author_ids = await read_author_ids()
            if reader_id is not None and len(author_ids) > MAX_TIMELINES_PER_READ:
                with suppress(WritesRefused):
                    await self.limits.enforce_for({Identifier.account(reader_id): 1}, "merge")
            return author_ids

        return read_and_count

    def home_rights(self, viewer_id: AccountId) -> AllowedAuthors:
        """Return the rule of a home. It allows the viewer and the accounts that the viewer follows."""

        def read_allowed(author_ids: Collection[AccountId]) -> Read[set[AccountId]]:
            others = [account_id for account_id in author_ids if account_id != viewer_id]
            followed = self.follows.followed_among(viewer_id, others)
            return followed.map(lambda ids: ids | {viewer_id}) if viewer_id in author_ids else followed

        return read_allowed
