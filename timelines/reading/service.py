"""Reading timelines: skeleton, hydrate, rules, page. Pages are full unless the timeline ends."""

from collections.abc import Collection, Sequence
from functools import partial

from socialsite.ids import AccountId, PostId
from socialsite.store import Read
from timelines.author_feeds.repository import AuthorFeedRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.errors import PostNotFound
from timelines.graph.repository import Follows
from timelines.hashtags.repository import HashtagTimelines
from timelines.ids import ListId
from timelines.lists.rules import ListRule, ListRules
from timelines.pages.page import DEFAULT_LIMIT, HydratedPost, PageRequest, TimelinePage, build_page, fetch_size
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.reading.hydration import Hydrator
from timelines.reading.skeletons import (
    CachedSkeleton,
    MergedSkeleton,
    ProfileSkeleton,
    PublicSkeleton,
    Skeleton,
    TagSkeleton,
    TagsSkeleton,
)
from timelines.visibility.rights import AllowedAuthors, ViewContext, allow_all

MAX_ROUNDS = 40  # reads for one page when nearly everything is hidden; then the page ends early, with a cursor


class ReadingService:
    """Pages of every timeline, for anybody who may see them.

    `may_lag`: ids and counts may be a second old (docs/reference/topologies.md, "Read replicas"), for visitors' pages.
    What may be shown never is: posts, authors and rights come from where they are written.
    """

    def __init__(
        self,
        *,
        hydrator: Hydrator,
        profiles: AuthorFeedRepository,
        public: PublicTimelineRepository,
        tags: HashtagTimelines,
        homes: CachedTimelines,
        list_timelines: CachedTimelines,
        follows: Follows,
        rules: ListRules,
        pulling: FanOutOnRead,
    ) -> None:
        self._hydrator = hydrator
        self._profiles = profiles
        self._public = public
        self._tags = tags
        self._homes = homes
        self._list_timelines = list_timelines
        self._follows = follows
        self._rules = rules
        self._pulling = pulling

    async def home(
        self,
        viewer_id: AccountId,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> TimelinePage:
        """Posts of the accounts the viewer follows, and their own. Has no bottom."""
        skeleton, rights = self.home_skeleton(viewer_id), self.home_rights(viewer_id)
        return await self._page(skeleton, PageRequest(before, after, limit), viewer_id, ViewContext.HOME, rights)

    async def profile(
        self,
        account_id: AccountId,
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LIMIT,
        may_lag: bool = False,
    ) -> TimelinePage:
        cut = PageRequest(before, after, limit)
        return await self.profile_page(account_id, cut, viewer_id=viewer_id, may_lag=may_lag)

    async def profile_page(
        self,
        account_id: AccountId,
        cut: PageRequest,
        *,
        viewer_id: AccountId | None,
        ids: list[PostId] | None = None,
        may_lag: bool = False,
    ) -> TimelinePage:
        """`ids`: the answer of `read_profile_ids`, where that was asked before."""
        skeleton = ProfileSkeleton(self._profiles, account_id, ids, may_lag=may_lag)
        return await self._page(skeleton, cut, viewer_id, ViewContext.PROFILE, may_lag=may_lag)

    def read_profile_ids(self, account_id: AccountId, cut: PageRequest, *, may_lag: bool = False) -> Read[list[PostId]]:
        """What a page of a profile begins with, for a round trip that asks other things too."""
        return self._profiles.read_ids(account_id, cut.bound, fetch_size(cut), upward=cut.upward, may_lag=may_lag)

    async def feed(self, account_id: AccountId, *, may_lag: bool = False) -> TimelinePage:
        """An account's newest posts for anybody: what is listed, and nothing of a private account."""
        skeleton = ProfileSkeleton(self._profiles, account_id, may_lag=may_lag)
        return await self._page(skeleton, PageRequest(), None, ViewContext.PUBLIC, may_lag=may_lag)

    async def public(
        self,
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LIMIT,
        may_lag: bool = False,
    ) -> TimelinePage:
        skeleton = PublicSkeleton(self._public, may_lag=may_lag)
        return await self._page(
            skeleton, PageRequest(before, after, limit), viewer_id, ViewContext.PUBLIC, may_lag=may_lag
        )

    async def tag(
        self,
        tag: str,
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LIMIT,
        may_lag: bool = False,
    ) -> TimelinePage:
        """Posts with a hashtag, which comes normalized (`normalize_tag`)."""
        skeleton = TagSkeleton(self._tags, tag, may_lag=may_lag)
        return await self._page(
            skeleton, PageRequest(before, after, limit), viewer_id, ViewContext.HASHTAG, may_lag=may_lag
        )

    async def tags(
        self,
        tags: Sequence[str],
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> TimelinePage:
        """Posts with any of some hashtags, which come normalized; each post once."""
        skeleton = TagsSkeleton(self._tags, tags)
        return await self._page(skeleton, PageRequest(before, after, limit), viewer_id, ViewContext.HASHTAG)

    async def list_timeline(
        self,
        list_id: ListId,
        *,
        viewer_id: AccountId | None,
        before: int | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> TimelinePage:
        """Posts of the list's members. Whose list it is, is the caller's question."""
        rule = await self._rules.find(list_id)
        skeleton = self.list_skeleton(list_id) if rule.expression is None else self._merged(rule)
        cut = PageRequest(before, after, limit)
        return await self._page(
            skeleton, cut, viewer_id, ViewContext.LIST, rule.read_member_authors, answering=rule.reply_rights
        )

    async def post(self, post_id: PostId, *, viewer_id: AccountId | None) -> HydratedPost:
        """Raises PostNotFound where it is absent, deleted or hidden."""
        found = await self._hydrator.hydrate([post_id], viewer_id=viewer_id, context=ViewContext.POST)
        if not found:
            raise PostNotFound
        return found[0]

    def read_post_count(self, account_id: AccountId, *, may_lag: bool = False) -> Read[int]:
        """`post_count`, for a round trip that asks other things too."""
        return self._profiles.read_count(account_id, may_lag=may_lag)

    async def post_count(self, account_id: AccountId) -> int:
        """How many posts the profile holds."""
        return await self._profiles.count(account_id)

    # What builds and live feeds share with the pages

    def home_skeleton(self, viewer_id: AccountId) -> CachedSkeleton:
        async def authors() -> list[AccountId]:
            return [*await self._follows.following_ids(viewer_id), viewer_id]

        pulled = partial(self._pulling.followed_authors, viewer_id)
        return CachedSkeleton(self._homes, self._profiles, viewer_id, authors, pulled)

    def list_skeleton(self, list_id: ListId) -> CachedSkeleton:
        async def authors() -> list[AccountId]:
            return await (await self._rules.find(list_id)).member_ids()

        return CachedSkeleton(self._list_timelines, self._profiles, list_id, authors)

    def home_rights(self, viewer_id: AccountId) -> AllowedAuthors:
        def allowed(authors: Collection[AccountId]) -> Read[set[AccountId]]:
            others = [account_id for account_id in authors if account_id != viewer_id]
            followed = self._follows.followed_among(viewer_id, others)
            if viewer_id not in authors:
                return followed
            return Read(followed.commands, lambda replies: followed.parse(replies) | {viewer_id})

        return allowed

    def _merged(self, rule: ListRule) -> MergedSkeleton:
        """Of a virtual list: nothing of it is kept, its members' profiles are merged at each read."""
        return MergedSkeleton(self._profiles, rule.member_ids)

    async def _page(
        self,
        skeleton: Skeleton,
        cut: PageRequest,
        viewer_id: AccountId | None,
        place: ViewContext,
        rights: AllowedAuthors = allow_all,
        *,
        answering: AllowedAuthors | None = None,
        may_lag: bool = False,
    ) -> TimelinePage:
        """Read on until the page is full, one entry more tells whether there is a next one."""
        entries: list[HydratedPost] = []
        edge, ended = cut.bound, False
        for number in range(MAX_ROUNDS):
            # Where much is hidden (an exclusive list takes its members out of home) more is asked each time.
            asked = fetch_size(cut, len(entries), number)
            ids = await skeleton.next_ids(edge, asked, upward=cut.upward)
            entries += await self._hydrator.hydrate(
                ids, viewer_id=viewer_id, allowed=rights, context=place, replyable=answering, may_lag=may_lag
            )
            ended = len(ids) < asked
            if ended or len(entries) > cut.limit:
                break
            edge = ids[-1]
        return build_page(cut, entries, bound=edge, ended=ended)
