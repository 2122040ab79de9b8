"""The container: builds the services of one event loop from a store (the repositories: repositories.py).

A request passes view or consumer -> service -> repository -> store -> node. Each service is built when it is first
used. Only the code above the apps imports this module; views get a service by its class: `request.services[Class]`.
"""

from functools import cached_property, partial
from typing import TypeVar, get_type_hints

from accounts import keys as account_keys
from accounts.accounts.service import AccountService
from accounts.ports import BadgePort
from accounts.sessions.service import SessionService
from socialsite.analytics.metrics import SIGNUPS
from socialsite.analytics.stats import Statistics
from socialsite.ids import AccountId, PostIdGenerator, TimeSource
from socialsite.limits import ActionLimits
from socialsite.recipes.buffer import Entity
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.repositories import AnyClock, Repositories
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from socialsite.web.cache import get_or_compute
from timelines import keys
from timelines.archive.service import ArchivingService
from timelines.audit.audit import Audit
from timelines.audit.context import AuditContext
from timelines.audit.rebuild_after_restore import RebuildAfterRestore
from timelines.audit.sampler import AuditSampler
from timelines.audit.trimming import Trimming
from timelines.demo.load import DemoLoader
from timelines.fanout.account_purge import AccountPurge
from timelines.fanout.affected_timelines import AffectedTimelines
from timelines.fanout.rebuilding import RebuildService
from timelines.fanout.service import FanOutService
from timelines.filters.service import FilterService
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService
from timelines.hashtags.service import FollowedHashtagService
from timelines.hashtags.trends import TrendService
from timelines.importing.graph import GraphImport
from timelines.importing.posts import PostsImport
from timelines.jobs import PurgeAccount, encode_job
from timelines.lists.rules import ListRules
from timelines.lists.service import ListService
from timelines.live.service import LiveService
from timelines.markers.service import MarkerService
from timelines.notifications.pending import PendingNotificationService
from timelines.notifications.service import NotificationService
from timelines.notifications.visibility import NotificationVisibility
from timelines.ports import AuthorReads, Authors, ReactionNotifier
from timelines.profiles.service import ProfileService
from timelines.publishing.author_timelines import AuthorTimelines
from timelines.publishing.post_writer import PostAnnouncer, PostWriter
from timelines.publishing.service import PublishingService
from timelines.reactions.boosts import BoostService
from timelines.reactions.service import ReactionsService, VisibleAccounts
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.reading.hydration import Sources
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.service import ReadingService
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

    def _build(self, service_class: type[S], **parts: object) -> S:
        """Return a service of this class. Fields that are not in `parts` are filled by their types.

        A service or repository fills fields of its class. If several repositories have the class, the field's name
        selects one.
        """
        for name, field_type in get_type_hints(service_class).items():
            if name in parts:
                continue
            if field_type in ATTRIBUTE_BY_TYPE:
                parts[name] = getattr(self, ATTRIBUTE_BY_TYPE[field_type])
            elif len(repositories := self.repositories.of_class(field_type)) > 1:
                parts[name] = repositories[name]
            elif repositories:
                (parts[name],) = repositories.values()
        return service_class(**parts)

    def __getitem__(self, service_class: type[S]) -> S:
        """Raises KeyError if no attribute is annotated with this class."""
        service: S = getattr(self, ATTRIBUTE_BY_CLASS[service_class])
        return service

    # What every app uses

    @cached_property
    def ids(self) -> PostIdGenerator:
        return PostIdGenerator(self.clock)

    @cached_property
    def outbox(self) -> JobQueue:
        return JobQueue(self.store)

    @cached_property
    def memory(self) -> MemoryGuard:
        return MemoryGuard(self.store, self.config.memory_reserve)

    @cached_property
    def limits(self) -> RateLimiter:
        return RateLimiter(self.store)

    @cached_property
    def action_limits(self) -> ActionLimits:
        return ActionLimits(self.limits, self.rules, self.clock)

    @cached_property
    def statistics(self) -> Statistics:
        totals = {"post": keys.post_totals, "account": account_keys.totals}
        return Statistics.create(self.store, self.clock, totals)

    @cached_property
    def live(self) -> LiveService:
        return LiveService(store=self.store, clock=self.clock, lag=self.repositories.lag)

    # Accounts

    @cached_property
    def accounts(self) -> AccountService:
        return self._build(
            AccountService,
            end_sessions=self.sessions.end_all,
            on_deletion_requested=self._store_deletion,
            on_account_deleted=self._close_account,
            on_account_created=partial(self.statistics.meter.count, SIGNUPS),
            on_names_changed=self.search_indexer.update_names_if_available,
        )

    async def _store_deletion(self, account_id: AccountId) -> None:
        """Add the job that completes the deletion and deletes the data of the account."""
        await self.outbox.add_when_full(encode_job(PurgeAccount(account_id, is_deletion=True)))

    async def _close_account(self, account_id: AccountId) -> None:
        """Close the sockets of a deleted account, and delete its counters."""
        await self.live.account_closed(account_id)
        await self.statistics.stats.delete_counters(Entity("account", account_id))

    @cached_property
    def sessions(self) -> SessionService:
        return self._build(SessionService, clock=self.clock, on_sessions_ended=self.live.session_ended)

    @cached_property
    def badge_port(self) -> BadgePort:
        return BadgePort(self.notifications.unread_command, self.notifications.badge)

    # Reading

    @cached_property
    def pipeline(self) -> ReadPipeline:
        at = self.repositories
        sources = self._build(Sources, members=at.members)
        return ReadPipeline(sources=sources, clock=self.clock)

    @cached_property
    def list_rules(self) -> ListRules:
        return ListRules(self.repositories.lists, self.repositories.members, self.repositories.follows)

    @cached_property
    def fan_out_on_read(self) -> FanOutOnRead:
        return self._build(FanOutOnRead, threshold=self.config.pull_threshold, grace_ms=self.config.pull_grace_ms)

    @cached_property
    def reading(self) -> ReadingService:
        return self._build(ReadingService, list_rules=self.list_rules)

    @cached_property
    def threads(self) -> ThreadService:
        return self._build(ThreadService)

    @cached_property
    def markers(self) -> MarkerService:
        return MarkerService(self.store, self.repositories.markers)

    @cached_property
    def followed_hashtags(self) -> FollowedHashtagService:
        return FollowedHashtagService(self.repositories.followed_hashtags, self.action_limits)

    @cached_property
    def trends(self) -> TrendService:
        at = self.repositories
        return TrendService(
            trends=at.trends,
            accounts=at.accounts,
            clock=self.clock,
            public=at.public,
            posts=at.posts,
            shared_cache=get_or_compute,
        )

    # Search

    @cached_property
    def search(self) -> SearchService:
        return self._build(SearchService, accounts=self.accounts)

    @cached_property
    def autocomplete(self) -> AutocompleteService:
        return self._build(AutocompleteService, authors=self.accounts)

    @cached_property
    def search_indexer(self) -> SearchIndexer:
        return self._build(SearchIndexer)

    # Notifications

    @cached_property
    def notifications(self) -> NotificationService:
        at = self.repositories
        visibility = self._build(NotificationVisibility)
        return self._build(NotificationService, visibility=visibility, accounts=at.accounts, live=self.live)

    @cached_property
    def pending_notifications(self) -> PendingNotificationService:
        return self._build(PendingNotificationService)

    # Publishing and reactions

    @cached_property
    def author_timelines(self) -> AuthorTimelines:
        return self._build(AuthorTimelines)

    @cached_property
    def post_writer(self) -> PostWriter:
        return self._build(PostWriter, outbox=self.outbox, meter=self.statistics.meter)

    @cached_property
    def publishing(self) -> PublishingService:
        return self._build(
            PublishingService,
            boosts=self.boosts,
            find_visible=self.pipeline.find_visible,
            check_memory=self.memory.check,
            max_graphemes=self.config.post_max_length,
        )

    @cached_property
    def boosts(self) -> BoostService:
        return self._build(BoostService, outbox=self.outbox)

    @cached_property
    def reactions(self) -> ReactionsService:
        return self._build(
            ReactionsService,
            visible_accounts=VisibleAccounts(self.store, self.accounts, self.clock),
            track_pending=self.pending_notifications.track,
            check_room=self.memory.check,
        )

    # Accounts and their relations

    @cached_property
    def following(self) -> FollowingService:
        at = self.repositories
        return self._build(
            FollowingService,
            homes=at.homes,
            following_cap=self.config.following_cap,
            notifications=self.notifications,
            track_pending=self.pending_notifications.track,
        )

    @cached_property
    def follow_requests(self) -> FollowRequestService:
        at = self.repositories
        return self._build(FollowRequestService, homes=at.homes, following_cap=self.config.following_cap)

    @cached_property
    def blocks_and_mutes(self) -> BlocksAndMutesService:
        at = self.repositories
        return self._build(BlocksAndMutesService, homes=at.homes, live=self.live)

    @cached_property
    def profiles(self) -> ProfileService:
        return self._build(ProfileService, accounts=self.accounts)

    @cached_property
    def follow_suggestions(self) -> FollowSuggestionService:
        return self._build(FollowSuggestionService, cache=get_or_compute)

    @cached_property
    def filters(self) -> FilterService:
        return FilterService(filters=self.repositories.filters)

    @cached_property
    def lists(self) -> ListService:
        at = self.repositories
        return self._build(
            ListService, timelines=at.list_timelines, live=self.live, members_cap=self.config.list_members_cap
        )

    # The worker

    @cached_property
    def fan_out(self) -> FanOutService:
        return self._build(
            FanOutService,
            live=self.live,
            meter=self.statistics.meter,
            posts_per_pass=self.config.posts_per_pass,
            slice_ms=self.config.time_slice_ms,
            post_listeners=(self.notifications.notify, self.trends.count_post),
        )

    @cached_property
    def purging(self) -> AccountPurge:
        return self._build(AccountPurge, complete_deletion=self.accounts.complete_deletion)

    @cached_property
    def rebuilds(self) -> RebuildService:
        return self._build(RebuildService, public_cap=self.config.public_cap)

    # Operators' commands

    @cached_property
    def affected_timelines(self) -> AffectedTimelines:
        at = self.repositories
        return AffectedTimelines(at.follows, at.members, at.homes, at.list_timelines)

    @cached_property
    def archiving(self) -> ArchivingService:
        return ArchivingService(self.store, self.repositories.archive)

    @cached_property
    def graph_import(self) -> GraphImport:
        return self._build(GraphImport, following_cap=self.config.following_cap)

    @cached_property
    def posts_import(self) -> PostsImport:
        return self._build(PostsImport)

    @cached_property
    def demo(self) -> DemoLoader:
        return self._build(DemoLoader)

    @cached_property
    def audit_context(self) -> AuditContext:
        return self._build(AuditContext)

    @property
    def audit(self) -> Audit:
        """A new audit, for one run at a time."""
        return Audit(self.audit_context)

    @cached_property
    def audit_sampler(self) -> AuditSampler:
        return AuditSampler.over(self.audit_context)

    @cached_property
    def trimming(self) -> Trimming:
        return Trimming(self.audit_context)

    @cached_property
    def rebuild_after_restore(self) -> RebuildAfterRestore:
        return RebuildAfterRestore(context=self.audit_context, rebuilding=self.rebuilds)


ATTRIBUTE_BY_CLASS = {
    get_type_hints(member.func)["return"]: name
    for name, member in vars(Services).items()
    if isinstance(member, cached_property)
}
"""The name of the attribute that has the service of each class."""
ATTRIBUTE_BY_TYPE = ATTRIBUTE_BY_CLASS | {
    Store: "store",
    TimeSource: "clock",
    ServiceConfig: "config",
    Authors: "accounts",
    AuthorReads: "accounts",
    ReactionNotifier: "notifications",
    PostAnnouncer: "live",
}
"""Type of a field -> name of the attribute that fills it."""
