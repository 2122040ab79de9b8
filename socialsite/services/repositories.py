"""The places where data lives, each with the sizes that the settings give it."""

from dataclasses import dataclass
from typing import Self

from accounts.accounts.repository import AccountRepository
from accounts.sessions.repository import SessionRepository
from socialsite.clock import Clock, FixedClock
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from timelines import keys
from timelines.archive.factory import create_archive
from timelines.author_feeds.repository import AuthorFeedRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines, TimelineCacheSpec
from timelines.filters.repository import Filters
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.hashtags.followed import FollowedHashtags
from timelines.hashtags.repository import HashtagTimelines
from timelines.hashtags.trends_repository import Trends
from timelines.lists.repository import ListMembers, Lists
from timelines.live.delivery_lag import DeliveryLag
from timelines.markers.repository import Markers
from timelines.notifications.pending_repository import PendingNotifications
from timelines.notifications.repository import Notifications
from timelines.posts.archive import Archive
from timelines.posts.replies import ReplyRepository
from timelines.posts.repository import PostRepository
from timelines.reactions.bookmark_repository import Bookmarks
from timelines.reactions.repository import Reactions
from timelines.reading.fan_out_on_read_repository import FanOutOnReadAuthors
from timelines.search.names import NameIndex
from timelines.search.pending import PendingSearchPosts
from timelines.search.repository import PostIndex

AnyClock = Clock | FixedClock


@dataclass(frozen=True, slots=True)
class Repositories:
    """One of each, over one store."""

    accounts: AccountRepository
    sessions: SessionRepository
    archive: Archive
    posts: PostRepository
    profiles: AuthorFeedRepository
    public: PublicTimelineRepository
    tags: HashtagTimelines
    homes: CachedTimelines
    list_timelines: CachedTimelines
    follows: Follows
    lists: Lists
    members: ListMembers
    lag: DeliveryLag
    notifications: Notifications
    followed_tags: FollowedHashtags
    trends: Trends
    reactions: Reactions
    bookmarks: Bookmarks
    relations: BlocksAndMutes
    requests: FollowRequests
    filters: Filters
    threads: ReplyRepository
    positions: Markers
    pulled: FanOutOnReadAuthors
    index: PostIndex
    names: NameIndex
    search_debts: PendingSearchPosts
    notice_debts: PendingNotifications

    @classmethod
    def over(cls, store: Store, clock: AnyClock, config: ServiceConfig) -> Self:
        ttl_ms, ahead = config.home_ttl_ms, config.read_ahead
        homes = TimelineCacheSpec(keys.home_timeline, keys.HOME_TIMELINE_KEY_PATTERN, config.home_cap, ttl_ms, ahead)
        of_lists = TimelineCacheSpec(keys.list_timeline, keys.LIST_TIMELINE_KEY_PATTERN, config.list_cap, ttl_ms, ahead)
        partitions = config.follow_partitions
        archive = create_archive(config.archive_url)
        posts = PostRepository(store, archive)
        return cls(
            accounts=AccountRepository(store),
            sessions=SessionRepository(store),
            archive=archive,
            posts=posts,
            profiles=AuthorFeedRepository(store, config.profile_cap, config.profile_partitions),
            public=PublicTimelineRepository(store, config.public_cap),
            tags=HashtagTimelines(store),
            homes=CachedTimelines(store, clock, homes),
            list_timelines=CachedTimelines(store, clock, of_lists),
            follows=Follows(store, partitions=partitions, following_cap=config.following_cap),
            lists=Lists(store),
            members=ListMembers(store, partitions=partitions, members_cap=config.list_members_cap),
            lag=DeliveryLag(store),
            notifications=Notifications(store),
            followed_tags=FollowedHashtags(store),
            trends=Trends(store),
            reactions=Reactions(store),
            bookmarks=Bookmarks(store),
            relations=BlocksAndMutes(store),
            requests=FollowRequests(store),
            filters=Filters(store),
            threads=ReplyRepository(store, posts),
            positions=Markers(store),
            pulled=FanOutOnReadAuthors(store),
            index=PostIndex(store),
            names=NameIndex(store),
            search_debts=PendingSearchPosts(store),
            notice_debts=PendingNotifications(store),
        )
