"""The container, which builds the services of one event loop from a store. repositories.py builds the repositories.

A request passes view or consumer -> service -> repository -> store -> node. Each service is built when it is first
used. Only code outside the apps imports this module; views get a service by its class: `request.services[Class]`.
"""

from functools import cached_property, partial
from typing import Protocol, TypeVar, get_type_hints

from accounts import keys as account_keys
from accounts.accounts.service import AccountService
from accounts.accounts.staff import StaffService
from accounts.factors.passkeys import PasskeyService
from accounts.factors.service import FactorService
from accounts.joining.service import JoiningService
from accounts.mail.handler import JOB_TIMEOUT_S as MAIL_TIMEOUT_S
from accounts.mail.handler import MailSending
from accounts.mail.queue import MAILS_AT_ONCE, MailQueue
from accounts.mail.service import MailService
from accounts.oauth.service import OAuthService
from accounts.ports import BadgePort
from accounts.sanctions.service import SanctionRecords
from accounts.security.browsers import BrowserRegistry
from accounts.security.events import SecurityEvents
from accounts.sessions.pending import PendingLogins
from accounts.sessions.service import SessionService
from accounts.sessions.tokens import AccessTokenService
from socialsite.analytics.meter import Meter
from socialsite.analytics.stats import Statistics
from socialsite.ids import PostIdGenerator, TimeSource
from socialsite.limits import ActionLimits, BytesPerDay
from socialsite.outgoing.requests import OutgoingClient
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.recipes.worker import BackgroundQueue
from socialsite.repositories import AnyClock, Repositories
from socialsite.service_config import ServiceConfig
from socialsite.service_factory import BuiltService, field_types
from socialsite.site.service import SiteService
from socialsite.store import Store
from timelines import keys
from timelines.archive.service import ArchivingService
from timelines.audit.audit import Audit
from timelines.audit.context import AuditContext
from timelines.audit.rebuild_after_restore import RebuildAfterRestore
from timelines.audit.sampler import AuditSampler
from timelines.demo.load import DemoLoader
from timelines.digests.service import DigestService
from timelines.drafts.service import DraftService
from timelines.exporting.archive import ArchiveSources
from timelines.exporting.service import ExportService
from timelines.exporting.transfer import JOB_TIMEOUT_S, ArchiveQueue, ExportQueue
from timelines.fanout.account_purge import AccountPurge, request_purge
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.fanout.rebuild_timelines import RebuildService
from timelines.fanout.service import FanOutService
from timelines.filters.service import FilterService
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService
from timelines.hashtags.public_hashtags import PublicHashtags
from timelines.hashtags.service import FollowedHashtagService
from timelines.hashtags.trends import TrendService
from timelines.importing.account_lists import AccountListsImport
from timelines.importing.graph import GraphImport
from timelines.importing.posts import PostsImport
from timelines.importing.reactions import ReactionsImport
from timelines.importing.service import ImportService
from timelines.lists.rules import ListRules
from timelines.lists.service import ListService
from timelines.live.channels import ChannelResolver
from timelines.live_updates.service import LiveService
from timelines.markers.service import MarkerService
from timelines.media.processing import PICTURES_AT_ONCE, MediaProcessing, MediaQueue
from timelines.media.service import MediaService
from timelines.media.storage import MediaFiles
from timelines.notifications.pending import PendingNotificationService
from timelines.notifications.repository import unread_command
from timelines.notifications.service import NotificationService
from timelines.notifications.thread_mutes import MutedThreadService
from timelines.notifications.visibility import NotificationVisibility
from timelines.pins.service import PinService
from timelines.polls.service import PollService
from timelines.popular.service import PopularPostsService
from timelines.previews.repository import ExpiredPreviews
from timelines.previews.service import PreviewQueue, PreviewService
from timelines.profiles.featured import FeaturedService
from timelines.profiles.service import ProfileService
from timelines.profiles.summaries import AccountSummaryService
from timelines.publishing.author_timelines import AuthorTimelines
from timelines.publishing.blocked_content import BlockedContent
from timelines.publishing.edits import EditService
from timelines.publishing.hashtag_limit import NewHashtagLimit
from timelines.publishing.held_links import FirstLinks
from timelines.publishing.post_writer import PostWriter
from timelines.publishing.service import PublishingService
from timelines.push.jobs import PushSending
from timelines.push.service import PushQueue, PushService
from timelines.quotes.service import QuoteService
from timelines.reactions.boosts import BoostService
from timelines.reactions.edit_notifications import EditNotifications
from timelines.reactions.service import ReactionsService
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.reading.hydration import Sources
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.service import ReadingService
from timelines.reports.service import ReportService
from timelines.search.autocomplete import AutocompleteService
from timelines.search.indexing import SearchIndexer
from timelines.search.service import SearchService
from timelines.threads.service import ThreadService

S = TypeVar("S")


class Services:
    """The services of one event loop, each built when it is first used.

    `services[ReadingService]` is the service of that class, so that a view names only the classes that it uses.
    """

    def __init__(self, store: Store, clock: AnyClock, config: ServiceConfig) -> None:
        self.store = store
        self.clock = clock
        self.config = config
        self.repositories = Repositories(store, clock, config)
        self.rules = {name: Rule(name, limit) for name, limit in config.rate_limits.items()}

    async def check_archive(self) -> None:
        """Raise ArchiveUnavailable if the archive of old posts does not answer."""
        await self.repositories.archive.check()

    def build(self, service_class: type[S], **parts: object) -> S:
        """Return a service of this class. Fields that are not in `parts` are filled by type or name.

        A field whose type is a service or repository class gets that service or repository. If several repositories
        have the class, the field's name selects one. A field of a protocol gets the service or repository with its
        name. Other fields get the setting of ServiceConfig with their name.
        """
        for name, field_type in field_types(service_class).items():  # type: ignore[arg-type]  # mypy: not hashable
            if name in parts:
                continue
            if field_type in ATTRIBUTE_BY_TYPE:
                parts[name] = getattr(self, ATTRIBUTE_BY_TYPE[field_type])
            elif len(repositories := self.repositories.of_class(field_type)) > 1:
                parts[name] = repositories[name]
            elif repositories:
                (parts[name],) = repositories.values()
            elif Protocol in getattr(field_type, "__bases__", ()) and name in (
                vars(Services) | vars(self.repositories)
            ):
                parts[name] = getattr(self if name in vars(Services) else self.repositories, name)
            elif hasattr(self.config, name):
                parts[name] = getattr(self.config, name)
        return service_class(**parts)

    def __getitem__(self, service_class: type[S]) -> S:
        """Return the service of this class. Raises KeyError if no attribute is annotated with the class."""
        service: S = getattr(self, ATTRIBUTE_BY_CLASS[service_class])
        return service

    # Services for all apps

    ids = BuiltService(PostIdGenerator)
    outbox = BuiltService(JobQueue)

    @cached_property
    def memory(self) -> MemoryGuard:
        return MemoryGuard(self.store, self.config.memory_reserve)

    limits = BuiltService(RateLimiter)

    @cached_property
    def action_limits(self) -> ActionLimits:
        config = self.config
        bytes_per_day = BytesPerDay(config.bytes_per_day, config.import_bytes_per_day, config.site_bytes_per_day)
        return ActionLimits(self.limits, self.rules, self.clock, bytes_per_day)

    @cached_property
    def statistics(self) -> Statistics:
        totals = {"post": keys.post_totals, "account": account_keys.totals}
        return Statistics.create(self.store, self.clock, totals)

    @cached_property
    def meter(self) -> Meter:
        return self.statistics.meter

    live = BuiltService(LiveService)
    outgoing = BuiltService(OutgoingClient)
    site = BuiltService(SiteService)

    # Accounts

    security_events = BuiltService(SecurityEvents)
    browsers = BuiltService(BrowserRegistry)
    staff = BuiltService(StaffService)

    @cached_property
    def accounts(self) -> AccountService:
        return self.build(
            AccountService,
            end_sessions=self.sessions.end_all,
            on_deletion_requested=partial(request_purge, self.outbox),
            on_account_deleted=(
                self.live.account_closed,
                self.repositories.sanctions.delete_all,
                self.mail.forget,
                self.repositories.joining.delete_invitations,
            ),
            on_names_changed=self.search_indexer.update_names_if_available,
            on_password_changed=lambda account_id: self.mail.announce_password(account_id),
            find_by_address=lambda address: self.mail.find_by_address(address),
            check_texts=self.blocked_content.check_profile,
        )

    @cached_property
    def sessions(self) -> SessionService:
        return self.build(
            SessionService,
            on_sessions_ended=(self.live.session_ended, self.repositories.push_subscriptions.remove),
            on_session_replaced=self.repositories.push_subscriptions.move,
        )

    factors = BuiltService(FactorService)
    passkeys = BuiltService(PasskeyService)
    pending_logins = BuiltService(PendingLogins)
    access_tokens = BuiltService(AccessTokenService)
    mail_queue = BuiltService(MailQueue)
    mail = BuiltService(MailService)
    mail_sending = BuiltService(MailSending)
    joining = BuiltService(JoiningService)
    oauth = BuiltService(OAuthService)
    sanctions = BuiltService(SanctionRecords)
    blocked_content = BuiltService(BlockedContent)

    @cached_property
    def badge_port(self) -> BadgePort:
        return BadgePort(unread_command, self.notifications.badge)

    # Reading

    expired_previews = BuiltService(ExpiredPreviews)
    sources = BuiltService(Sources)
    pipeline = BuiltService(ReadPipeline)
    list_rules = BuiltService(ListRules)
    fan_out_on_read = BuiltService(FanOutOnRead)
    reading = BuiltService(ReadingService)
    channel_resolver = BuiltService(ChannelResolver)
    threads = BuiltService(ThreadService)
    markers = BuiltService(MarkerService)
    pins = BuiltService(PinService)
    followed_hashtags = BuiltService(FollowedHashtagService)
    public_hashtags = BuiltService(PublicHashtags)
    trends = BuiltService(TrendService)
    popular = BuiltService(PopularPostsService)

    # Search

    search = BuiltService(SearchService)
    autocomplete = BuiltService(AutocompleteService)
    search_indexer = BuiltService(SearchIndexer)

    # Notifications

    notification_visibility = BuiltService(NotificationVisibility)
    muted_threads = BuiltService(MutedThreadService)

    @cached_property
    def notifications(self) -> NotificationService:
        return self.build(NotificationService, pushes=self.push)

    preview_queue = BuiltService(PreviewQueue)

    previews = BuiltService(PreviewService)
    push_queue = BuiltService(PushQueue)
    push = BuiltService(PushService)
    push_sending = BuiltService(PushSending)
    pending_notifications = BuiltService(PendingNotificationService)
    digests = BuiltService(DigestService)

    # Pictures

    media_queue = BuiltService(MediaQueue)
    media_files = BuiltService(MediaFiles)
    media_processing = BuiltService(MediaProcessing)

    @cached_property
    def media(self) -> MediaService:
        return self.build(MediaService, find_audience=self.pipeline.find_audience)

    # Exports and imports of accounts

    archive_queue = BuiltService(ArchiveQueue)
    export_queue = BuiltService(ExportQueue)
    archive_sources = BuiltService(ArchiveSources)
    exports = BuiltService(ExportService)

    @cached_property
    def imports(self) -> ImportService:
        lists_import = self.build(AccountListsImport, following=self.build(FollowingService))  # without notifications
        return self.build(ImportService, lists_import=lists_import)

    # Publishing and reactions

    author_timelines = BuiltService(AuthorTimelines)
    first_links = BuiltService(FirstLinks)
    post_writer = BuiltService(PostWriter)

    @cached_property
    def publishing(self) -> PublishingService:
        return self.build(
            PublishingService,
            hold_post=lambda author_id, form: self.drafts.hold(author_id, form),  # drafts needs this service
        )

    edits = BuiltService(EditService)
    new_hashtags = BuiltService(NewHashtagLimit)
    boosts = BuiltService(BoostService)
    polls = BuiltService(PollService)
    quotes = BuiltService(QuoteService)
    drafts = BuiltService(DraftService)

    reactions = BuiltService(ReactionsService)

    # Accounts and their relations

    @cached_property
    def following(self) -> FollowingService:
        return self.build(FollowingService, pending=self.pending_notifications)

    follow_requests = BuiltService(FollowRequestService)
    blocks_and_mutes = BuiltService(BlocksAndMutesService)
    profiles = BuiltService(ProfileService)
    featured = BuiltService(FeaturedService)
    account_summaries = BuiltService(AccountSummaryService)
    follow_suggestions = BuiltService(FollowSuggestionService)
    filters = BuiltService(FilterService)
    reports = BuiltService(ReportService)

    @cached_property
    def lists(self) -> ListService:
        timelines, members_cap = self.repositories.list_timelines, self.config.list_members_cap
        return self.build(ListService, timelines=timelines, members_cap=members_cap)

    # The worker

    @property
    def background_queues(self) -> dict[str, BackgroundQueue]:
        """The queues whose jobs each worker performs, by their names."""
        queues = (
            BackgroundQueue(self.outbox, self.fan_out.handle),
            BackgroundQueue(self.media_queue, self.media_processing.handle, PICTURES_AT_ONCE),
            BackgroundQueue(self.push_queue, self.push_sending.handle),
            BackgroundQueue(self.archive_queue, self.imports.handle, 1, JOB_TIMEOUT_S, self.imports.abandon),
            BackgroundQueue(self.export_queue, self.imports.handle, 1, JOB_TIMEOUT_S, self.imports.abandon),
            BackgroundQueue(self.mail_queue, self.mail_sending.handle, MAILS_AT_ONCE, MAIL_TIMEOUT_S),
            BackgroundQueue(self.preview_queue, self.previews.handle),
        )
        return {each.queue.name: each for each in queues}

    fan_out = BuiltService(FanOutService)
    edit_notifications = BuiltService(EditNotifications)
    purging = BuiltService(AccountPurge)
    rebuilds = BuiltService(RebuildService)

    # Operators' commands

    affected_timelines = BuiltService(AffectedTimelines)
    archiving = BuiltService(ArchivingService)
    graph_import = BuiltService(GraphImport)
    posts_import = BuiltService(PostsImport)
    reactions_import = BuiltService(ReactionsImport)
    demo = BuiltService(DemoLoader)
    audit_context = BuiltService(AuditContext)

    @property
    def audit(self) -> Audit:
        """A new audit, for one run at a time."""
        return Audit(self.audit_context)

    audit_sampler = BuiltService(AuditSampler)
    rebuild_after_restore = BuiltService(RebuildAfterRestore)


ATTRIBUTE_BY_CLASS = {
    get_type_hints(member.func)["return"]: name
    for name, member in vars(Services).items()
    if isinstance(member, cached_property)
}
"""Service class -> name of the attribute of `Services` with this service."""
_FURTHER_TYPES = {Store: "store", TimeSource: "clock", ServiceConfig: "config"}
ATTRIBUTE_BY_TYPE = ATTRIBUTE_BY_CLASS | _FURTHER_TYPES
"""Type of a field -> name of the attribute of `Services` that fills the field."""
