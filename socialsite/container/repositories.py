"""The repositories of one event loop, one of each kind over one store."""

from accounts.accounts.repository import AccountRepository
from accounts.factors.repository import FactorRepository
from accounts.joining.repository import JoiningRepository
from accounts.mail.repository import MailRepository
from accounts.oauth.repository import OAuthRepository
from accounts.sanctions.repository import SanctionRepository
from accounts.sessions.repository import SessionRepository
from accounts.sessions.values import ACCESS_TOKEN_LIMITS, APP_TOKEN_LIMITS
from socialsite.clock import Clock, FixedClock
from socialsite.service_config import ServiceConfig
from socialsite.site.repository import SiteRepository
from socialsite.store import Store
from timelines import keys
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.author_timelines.repository import AuthorTimelineRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines, TimelineCacheSpec
from timelines.drafts.repository import Drafts
from timelines.exporting.repository import Transfers
from timelines.filters.repository import Filters
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.hashtags.followed import FollowedHashtags
from timelines.hashtags.trends_repository import Trends
from timelines.importing.repository import GraphRanks, ImportedPosts
from timelines.lists.repository import ListMembers, Lists
from timelines.live_updates.delivery_lag import DeliveryLag
from timelines.markers.repository import Markers
from timelines.media.repository import MediaRows
from timelines.notifications.pending import PendingNotifications
from timelines.notifications.repository import Notifications
from timelines.pins.repository import Pins
from timelines.popular.repository import PopularPosts
from timelines.post_archive.factory import create_archive
from timelines.posts.poll_votes import PollRepository
from timelines.posts.quotes import QuoteRepository
from timelines.posts.replies import ReplyRepository
from timelines.posts.repository import PostRepository
from timelines.previews.repository import PreviewRepository
from timelines.push.repository import PushSubscriptions
from timelines.reactions.bookmarks import Bookmarks
from timelines.reactions.repository import Reactions
from timelines.reading.fan_out_on_read import FanOutOnReadAuthors
from timelines.reports.repository import Reports
from timelines.search.indexing import PendingSearchPosts
from timelines.search.names import NameIndex
from timelines.search.repository import PostIndex

AnyClock = Clock | FixedClock


class Repositories:
    """One repository of each kind over one store, with the sizes of the configuration."""

    def __init__(self, store: Store, clock: AnyClock, config: ServiceConfig) -> None:
        self.site = SiteRepository(store)
        self.joining = JoiningRepository(store)
        self.accounts = AccountRepository(store)
        self.sessions = SessionRepository(store)
        self.oauth = OAuthRepository(store)
        self.factors = FactorRepository(store)
        self.mails = MailRepository(store)
        self.sanctions = SanctionRepository(store)
        self.drafts = Drafts(store)
        self.transfers = Transfers(store)
        self.poll_votes = PollRepository(store)
        self.quotes = QuoteRepository(store)
        self.hashtag_timelines = HashtagTimelines(store)
        self.lists = Lists(store)
        self.lag = DeliveryLag(store)
        self.notifications = Notifications(store)
        self.previews = PreviewRepository(store)
        self.push_subscriptions = PushSubscriptions(store)
        self.followed_hashtags = FollowedHashtags(store)
        self.trends = Trends(store)
        self.popular = PopularPosts(store)
        self.reactions = Reactions(store)
        self.pins = Pins(store)
        self.bookmarks = Bookmarks(store)
        self.blocks_and_mutes = BlocksAndMutes(store)
        self.follow_requests = FollowRequests(store)
        self.filters = Filters(store)
        self.reports = Reports(store)
        self.markers = Markers(store)
        self.fan_out_on_read_authors = FanOutOnReadAuthors(store)
        self.search_index = PostIndex(store)
        self.search_names = NameIndex(store)
        self.pending_search_posts = PendingSearchPosts(store)
        self.pending_notifications = PendingNotifications(store)
        self.media_rows = MediaRows(store)
        self.graph_ranks = GraphRanks(store)
        self._build_timelines(store, clock, config)

    def _build_timelines(self, store: Store, clock: AnyClock, config: ServiceConfig) -> None:
        partitions, ttl_ms, ahead = config.follow_partitions, config.home_ttl_ms, config.read_ahead
        homes = TimelineCacheSpec(keys.home_timeline, keys.HOME_TIMELINE_KEY_PATTERN, config.home_cap, ttl_ms, ahead)
        list_timelines = TimelineCacheSpec(
            keys.list_timeline, keys.LIST_TIMELINE_KEY_PATTERN, config.list_cap, ttl_ms, ahead
        )
        self.tokens = SessionRepository(store, ACCESS_TOKEN_LIMITS, are_tokens=True)
        self.app_tokens = SessionRepository(store, APP_TOKEN_LIMITS, are_tokens=True)
        self.archive = create_archive(config.archive_url)
        self.posts = PostRepository(store, self.archive)
        self.threads = ReplyRepository(store, self.posts)
        self.author_timelines = AuthorTimelineRepository(store, config.profile_cap, config.profile_partitions)
        self.public = PublicTimelineRepository(store, config.public_cap)
        self.homes = CachedTimelines(store, clock, homes)
        self.list_timelines = CachedTimelines(store, clock, list_timelines)
        self.follows = Follows(store, partitions=partitions, following_cap=config.following_cap)
        self.members = ListMembers(store, partitions=partitions, members_cap=config.list_members_cap)
        self.imported_posts = ImportedPosts(
            store, profile_cap=config.profile_cap, profile_partitions=config.profile_partitions
        )
