"""The services of reading, pictures, notifications, relations, hashtags and search."""

from accounts.ports import BadgePort
from socialsite.container.accounts import AccountServices
from socialsite.recipes.job_queue import JobQueue
from timelines.digests.service import DigestService
from timelines.filters.service import FilterService
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService
from timelines.hashtags.public_hashtags import PublicHashtags
from timelines.hashtags.service import FollowedHashtagService
from timelines.hashtags.trends import TrendService
from timelines.lists.rules import ListRules
from timelines.lists.service import ListService
from timelines.live.channels import ChannelResolver
from timelines.markers.service import MarkerService
from timelines.media.deletion import MediaDeletion
from timelines.media.processing import MediaProcessing
from timelines.media.service import MediaService
from timelines.media.storage import MediaFiles
from timelines.notifications.pending import PendingNotificationService
from timelines.notifications.repository import unread_command
from timelines.notifications.service import NotificationService
from timelines.notifications.thread_mutes import MutedThreadService
from timelines.notifications.visibility import NotificationVisibility
from timelines.pins.service import PinService
from timelines.popular.service import PopularPostsService
from timelines.previews.repository import ExpiredPreviews
from timelines.previews.service import PreviewService
from timelines.profiles.featured import FeaturedService
from timelines.profiles.service import ProfileService
from timelines.profiles.summaries import AccountSummaryService
from timelines.public_lists.service import PublicListService
from timelines.publishing.held_links import FirstLinks
from timelines.push.jobs import PushSending
from timelines.push.service import RETRY_POLICY as PUSH_RETRIES
from timelines.push.service import PushService
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.reading.hydration import Sources
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.service import ReadingService
from timelines.reports.service import ReportService
from timelines.search.autocomplete import AutocompleteService
from timelines.search.service import SearchService
from timelines.threads.service import ThreadService


class TimelineServices(AccountServices):
    """Adds the services that read posts, and the services that they need."""

    def _build_reading(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.expired_previews = ExpiredPreviews(clock)
        self.sources = Sources(
            store=store, posts=data.posts, authors=self.accounts, follows=data.follows, members=data.members,
            expired_previews=self.expired_previews, link_previews=config.link_previews,
        )  # fmt: skip
        self.pipeline = ReadPipeline(sources=self.sources, clock=clock)
        self.fan_out_on_read = FanOutOnRead(
            pulled=data.fan_out_on_read_authors, follows=data.follows, clock=clock,
            pull_threshold=config.pull_threshold, pull_grace_ms=config.pull_grace_ms,
        )  # fmt: skip
        self.reading = ReadingService(
            pipeline=self.pipeline, author_timelines=data.author_timelines, public_timeline=data.public,
            hashtag_timelines=data.hashtag_timelines, homes=data.homes, follows=data.follows,
            fan_out_on_read=self.fan_out_on_read, limits=self.action_limits,
        )  # fmt: skip
        self.threads = ThreadService(replies=data.threads, pipeline=self.pipeline)
        self.markers = MarkerService(store=store, markers=data.markers)
        self.pins = PinService(store=store, pins=data.pins, posts=data.posts, pipeline=self.pipeline)
        self.muted_threads = MutedThreadService(store=store, pipeline=self.pipeline)

    def _build_pictures(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.media_queue = JobQueue(store, "media", is_heavy=True)
        self.slow_pictures_queue = JobQueue(store, "slowpictures", is_heavy=True)
        self.media_files = MediaFiles()
        self.media_deletion = MediaDeletion(
            rows=data.media_rows, files=self.media_files, posts=data.posts, accounts=self.accounts, clock=clock,
            site=self.site,
        )  # fmt: skip
        self.media = MediaService(
            rows=data.media_rows, files=self.media_files, deletion=self.media_deletion, jobs=self.media_queue,
            posts=data.posts, accounts=self.accounts, ids=self.ids, limits=self.action_limits, clock=clock,
            site=self.site, find_audience=self.pipeline.find_audience, media_account_quota=config.media_account_quota,
            media_site_quota=config.media_site_quota,
        )  # fmt: skip
        self.media_processing = MediaProcessing(
            rows=data.media_rows, files=self.media_files, slow_pictures=self.slow_pictures_queue
        )
        self.previews = PreviewService(
            previews=data.previews, expired_previews=self.expired_previews, preview_queue=self.preview_queue,
            verified_links=self.verified_links, posts=data.posts, media=self.media, outgoing=self.outgoing,
            limits=self.action_limits, clock=clock,
            link_previews=config.link_previews, live=self.live,
        )  # fmt: skip

    def _build_notifications(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.push_queue = JobQueue(store, "push", PUSH_RETRIES)
        self.push = PushService(
            push_subscriptions=data.push_subscriptions, push_queue=self.push_queue, sessions=self.sessions,
            outgoing=self.outgoing, limits=self.action_limits, clock=clock, push_enabled=config.push_enabled,
            vapid_private_key=config.vapid_private_key,
        )  # fmt: skip
        self.notification_visibility = NotificationVisibility(
            store=store, pipeline=self.pipeline, authors=self.accounts, follows=data.follows, clock=clock
        )
        self.notifications = NotificationService(
            notifications=data.notifications, visibility=self.notification_visibility, follows=data.follows,
            accounts=data.accounts, live=self.live, pushes=self.push, ids=self.ids,
        )  # fmt: skip
        self.badge_port = BadgePort(read_command=unread_command, parse_reply=self.notifications.badge)
        self.pending_notifications = PendingNotificationService(
            pending=data.pending_notifications, notifications=self.notifications, clock=clock
        )
        self.push_sending = PushSending(
            push_subscriptions=data.push_subscriptions, push=self.push, notifications=self.notifications,
            sessions=self.sessions, accounts=data.accounts, follows=data.follows, outgoing=self.outgoing, clock=clock,
        )  # fmt: skip
        self.digests = DigestService(mails=data.mails, mail=self.mail, notifications=self.notifications, clock=clock)

    def _build_relations(self) -> None:
        store, clock, config, data = self.store, self.clock, self.config, self.repositories
        self.following = FollowingService(
            follows=data.follows, blocks_and_mutes=data.blocks_and_mutes, follow_requests=data.follow_requests,
            accounts=self.accounts, homes=data.homes, following_cap=config.following_cap,
            pending=self.pending_notifications,
        )  # fmt: skip
        self.follow_requests = FollowRequestService(
            follow_requests=data.follow_requests, blocks_and_mutes=data.blocks_and_mutes, follows=data.follows,
            accounts=self.accounts, homes=data.homes, following_cap=config.following_cap,
        )  # fmt: skip
        self.blocks_and_mutes = BlocksAndMutesService(
            store=store, blocks_and_mutes=data.blocks_and_mutes, follow_requests=data.follow_requests,
            follows=data.follows, accounts=self.accounts, homes=data.homes, live=self.live, limits=self.action_limits,
        )  # fmt: skip
        self.follow_suggestions = FollowSuggestionService(
            store=store, follows=data.follows, follow_requests=data.follow_requests, authors=self.accounts,
            public=data.public, posts=data.posts, clock=clock, site=self.site,
        )  # fmt: skip
        self.first_links = FirstLinks(posts=data.posts, author_timelines=data.author_timelines, site=self.site)
        self.lists = ListService(
            repository=data.lists, memberships=data.members, accounts=self.accounts, timelines=data.list_timelines,
            rules=ListRules(data.lists, data.members, data.follows), reading=self.reading, follows=data.follows,
            follow_requests=data.follow_requests, live=self.live, limits=self.action_limits,
            members_cap=config.list_members_cap, find_refusal=self.first_links.find_refusal,
        )  # fmt: skip
        self.public_lists = PublicListService(
            store=store, lists=self.lists, repository=data.lists, memberships=data.members, accounts=self.accounts,
            following=self.following, follow_requests=self.follow_requests, blocks_and_mutes=data.blocks_and_mutes,
            pipeline=self.pipeline, limits=self.action_limits, clock=clock, site=self.site,
        )  # fmt: skip
        self.filters = FilterService(filters=data.filters, live=self.live, limits=self.action_limits)
        self.followed_hashtags = FollowedHashtagService(repository=data.followed_hashtags, limits=self.action_limits)
        self.reports = ReportService(
            reports=data.reports, accounts=self.accounts, pipeline=self.pipeline, notifications=self.notifications,
            site=self.site, ids=self.ids, limits=self.action_limits, clock=clock,
        )  # fmt: skip
        self.notification_visibility.find_reported = self.reports.find_reported

    def _build_profiles(self) -> None:
        store, clock, data = self.store, self.clock, self.repositories
        self.channel_resolver = ChannelResolver(
            reading=self.reading, accounts=self.accounts, lists=self.lists, notifications=self.notifications,
            hashtags=self.followed_hashtags,
        )  # fmt: skip
        self.profiles = ProfileService(
            store=store, accounts=self.accounts, reading=self.reading, blocks_and_mutes=self.blocks_and_mutes,
            blocks_and_mutes_repository=data.blocks_and_mutes, follows=data.follows, markers=data.markers,
            pins=data.pins, pin_service=self.pins, clock=clock,
        )  # fmt: skip
        self.featured = FeaturedService(accounts=self.accounts, following=self.following, reading=self.reading)
        self.account_summaries = AccountSummaryService(
            store=store,
            accounts=self.accounts,
            follows=data.follows,
            author_timelines=data.author_timelines,
            clock=clock,
        )

    def _build_discovery(self) -> None:
        store, clock, data = self.store, self.clock, self.repositories
        self.public_hashtags = PublicHashtags(
            hashtag_timelines=data.hashtag_timelines, posts=data.posts, accounts=self.accounts
        )
        self.trends = TrendService(
            trends=data.trends, accounts=self.accounts, clock=clock, public=data.public,
            public_hashtags=self.public_hashtags, posts=data.posts, site=self.site,
        )  # fmt: skip
        self.popular = PopularPostsService(
            popular=data.popular, store=store, posts=data.posts, accounts=self.accounts, pipeline=self.pipeline,
            clock=clock, site=self.site,
        )  # fmt: skip
        self.autocomplete = AutocompleteService(
            store=store, names=data.search_names, hashtag_timelines=data.hashtag_timelines,
            public_hashtags=self.public_hashtags, authors=self.accounts, follows=data.follows, clock=clock,
            limits=self.action_limits,
        )  # fmt: skip
        self.search = SearchService(
            index=data.search_index, pipeline=self.pipeline, accounts=self.accounts, autocomplete=self.autocomplete,
            limits=self.action_limits,
        )  # fmt: skip
