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
from socialsite.ids import AccountId, PostIdGenerator
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
from timelines.profiles.service import ProfileService
from timelines.publishing.author_timelines import AuthorTimelines
from timelines.publishing.post_writer import PostWriter
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
        return AccountService(
            accounts=self.repositories.accounts,
            end_sessions=self.sessions.end_all,
            limits=self.action_limits,
            on_deletion_requested=self._store_deletion,
            on_account_deleted=self._close_account,
            on_account_created=partial(self.statistics.meter.count, SIGNUPS),
            on_names_changed=self.search_indexer.update_names_if_available,
        )

    async def _store_deletion(self, account_id: AccountId) -> None:
        """Have a worker complete the deletion and remove what the account leaves."""
        await self.outbox.add_when_full(encode_job(PurgeAccount(account_id, is_deletion=True)))

    async def _close_account(self, account_id: AccountId) -> None:
        """Close the sockets of a deleted account, and delete its counters."""
        await self.live.account_closed(account_id)
        await self.statistics.stats.delete_counters(Entity("account", account_id))

    @cached_property
    def sessions(self) -> SessionService:
        at = self.repositories
        return SessionService(
            sessions=at.sessions,
            accounts=at.accounts,
            clock=self.clock,
            on_sessions_ended=self.live.session_ended,
        )

    @cached_property
    def badge_port(self) -> BadgePort:
        return BadgePort(self.notifications.unread_command, self.notifications.badge)

    # Reading

    @cached_property
    def pipeline(self) -> ReadPipeline:
        at = self.repositories
        sources = Sources(
            store=self.store, posts=at.posts, authors=self.accounts, follows=at.follows, members=at.members
        )
        return ReadPipeline(sources=sources, clock=self.clock)

    @cached_property
    def list_rules(self) -> ListRules:
        return ListRules(self.repositories.lists, self.repositories.members, self.repositories.follows)

    @cached_property
    def fan_out_on_read(self) -> FanOutOnRead:
        return FanOutOnRead(
            pulled=self.repositories.fan_out_on_read_authors,
            follows=self.repositories.follows,
            clock=self.clock,
            threshold=self.config.pull_threshold,
            grace_ms=self.config.pull_grace_ms,
        )

    @cached_property
    def reading(self) -> ReadingService:
        at = self.repositories
        return ReadingService(
            pipeline=self.pipeline,
            author_feeds=at.author_feeds,
            public_timeline=at.public,
            hashtag_timelines=at.hashtag_timelines,
            homes=at.homes,
            list_timelines=at.list_timelines,
            follows=at.follows,
            list_rules=self.list_rules,
            fan_out_on_read=self.fan_out_on_read,
        )

    @cached_property
    def threads(self) -> ThreadService:
        return ThreadService(replies=self.repositories.threads, pipeline=self.pipeline)

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
        return SearchService(
            index=self.repositories.search_index,
            pipeline=self.pipeline,
            accounts=self.accounts,
            autocomplete=self.autocomplete,
            limits=self.action_limits,
        )

    @cached_property
    def autocomplete(self) -> AutocompleteService:
        at = self.repositories
        return AutocompleteService(
            store=self.store,
            names=at.search_names,
            hashtag_timelines=at.hashtag_timelines,
            posts=at.posts,
            authors=self.accounts,
            follows=at.follows,
            clock=self.clock,
            limits=self.action_limits,
        )

    @cached_property
    def search_indexer(self) -> SearchIndexer:
        at = self.repositories
        return SearchIndexer(
            index=at.search_index,
            names=at.search_names,
            pending=at.pending_search_posts,
            posts=at.posts,
            accounts=at.accounts,
        )

    # Notifications

    @cached_property
    def notifications(self) -> NotificationService:
        at = self.repositories
        visibility = NotificationVisibility(
            store=self.store, pipeline=self.pipeline, authors=self.accounts, follows=at.follows, clock=self.clock
        )
        return NotificationService(
            notifications=at.notifications,
            visibility=visibility,
            follows=at.follows,
            accounts=at.accounts,
            live=self.live,
            ids=self.ids,
        )

    @cached_property
    def pending_notifications(self) -> PendingNotificationService:
        at = self.repositories
        return PendingNotificationService(
            pending=at.pending_notifications,
            notifications=self.notifications,
            follows=at.follows,
            follow_requests=at.follow_requests,
            clock=self.clock,
        )

    # Publishing and reactions

    @cached_property
    def author_timelines(self) -> AuthorTimelines:
        at = self.repositories
        return AuthorTimelines(
            posts=at.posts,
            author_feeds=at.author_feeds,
            public_timeline=at.public,
            hashtag_timelines=at.hashtag_timelines,
            homes=at.homes,
            search_indexer=self.search_indexer,
            replies=at.threads,
        )

    @cached_property
    def post_writer(self) -> PostWriter:
        return PostWriter(
            id_generator=self.ids,
            posts=self.repositories.posts,
            author_timelines=self.author_timelines,
            outbox=self.outbox,
            announcer=self.live,
            meter=self.statistics.meter,
        )

    @cached_property
    def publishing(self) -> PublishingService:
        return PublishingService(
            posts=self.repositories.posts,
            post_writer=self.post_writer,
            author_timelines=self.author_timelines,
            announcer=self.live,
            boosts=self.boosts,
            find_visible=self.pipeline.find_visible,
            check_memory=self.memory.check,
            max_graphemes=self.config.post_max_length,
            limits=self.action_limits,
        )

    @cached_property
    def boosts(self) -> BoostService:
        return BoostService(
            reactions=self.repositories.reactions,
            posts=self.repositories.posts,
            post_writer=self.post_writer,
            author_timelines=self.author_timelines,
            outbox=self.outbox,
            live=self.live,
            notifications=self.notifications,
        )

    @cached_property
    def reactions(self) -> ReactionsService:
        return ReactionsService(
            reactions=self.repositories.reactions,
            bookmark_repository=self.repositories.bookmarks,
            boosts=self.boosts,
            pipeline=self.pipeline,
            posts=self.repositories.posts,
            visible_accounts=VisibleAccounts(self.store, self.accounts, self.clock),
            live=self.live,
            notifications=self.notifications,
            track_pending=self.pending_notifications.track,
            check_room=self.memory.check,
            limits=self.action_limits,
        )

    # Accounts and their relations

    @cached_property
    def following(self) -> FollowingService:
        at = self.repositories
        return FollowingService(
            follows=at.follows,
            blocks_and_mutes=at.blocks_and_mutes,
            follow_requests=at.follow_requests,
            accounts=self.accounts,
            homes=at.homes,
            following_cap=self.config.following_cap,
            notifications=self.notifications,
            track_pending=self.pending_notifications.track,
            limits=self.action_limits,
        )

    @cached_property
    def follow_requests(self) -> FollowRequestService:
        at = self.repositories
        return FollowRequestService(
            follow_requests=at.follow_requests,
            blocks_and_mutes=at.blocks_and_mutes,
            follows=at.follows,
            accounts=self.accounts,
            homes=at.homes,
            following_cap=self.config.following_cap,
        )

    @cached_property
    def blocks_and_mutes(self) -> BlocksAndMutesService:
        at = self.repositories
        return BlocksAndMutesService(
            blocks_and_mutes=at.blocks_and_mutes,
            follow_requests=at.follow_requests,
            follows=at.follows,
            accounts=self.accounts,
            homes=at.homes,
            live=self.live,
        )

    @cached_property
    def profiles(self) -> ProfileService:
        at = self.repositories
        return ProfileService(
            store=self.store,
            accounts=self.accounts,
            reading=self.reading,
            blocks_and_mutes=self.blocks_and_mutes,
            blocks_and_mutes_repository=at.blocks_and_mutes,
            follows=at.follows,
            markers=at.markers,
            clock=self.clock,
        )

    @cached_property
    def follow_suggestions(self) -> FollowSuggestionService:
        at = self.repositories
        return FollowSuggestionService(
            store=self.store,
            follows=at.follows,
            follow_requests=at.follow_requests,
            authors=self.accounts,
            public=at.public,
            posts=at.posts,
            clock=self.clock,
            cache=get_or_compute,
        )

    @cached_property
    def filters(self) -> FilterService:
        return FilterService(filters=self.repositories.filters)

    @cached_property
    def lists(self) -> ListService:
        at = self.repositories
        return ListService(
            repository=at.lists,
            memberships=at.members,
            accounts=self.accounts,
            timelines=at.list_timelines,
            rules=self.list_rules,
            live=self.live,
            members_cap=self.config.list_members_cap,
        )

    # The worker

    @cached_property
    def fan_out(self) -> FanOutService:
        at = self.repositories
        return FanOutService(
            posts=at.posts,
            author_timelines=self.author_timelines,
            account_purge=self.purging,
            boosts=self.boosts,
            indexing=self.search_indexer,
            fan_out_on_read=self.fan_out_on_read,
            follows=at.follows,
            members=at.members,
            homes=at.homes,
            list_timelines=at.list_timelines,
            accounts=self.accounts,
            live=self.live,
            lag=at.lag,
            meter=self.statistics.meter,
            clock=self.clock,
            posts_per_pass=self.config.posts_per_pass,
            slice_ms=self.config.time_slice_ms,
            post_listeners=(self.notifications.notify, self.trends.count_post),
        )

    @cached_property
    def purging(self) -> AccountPurge:
        at = self.repositories
        return AccountPurge(
            complete_deletion=self.accounts.complete_deletion,
            reactions=self.reactions,
            boosts=self.boosts,
            blocks_and_mutes=at.blocks_and_mutes,
            follow_requests=at.follow_requests,
            filters=at.filters,
            notifications=at.notifications,
            followed_hashtags=at.followed_hashtags,
            markers=at.markers,
            posts=at.posts,
            profiles=at.author_feeds,
            author_timelines=self.author_timelines,
            follows=at.follows,
            lists=at.lists,
            members=at.members,
            homes=at.homes,
            list_timelines=at.list_timelines,
        )

    @cached_property
    def rebuilds(self) -> RebuildService:
        at = self.repositories
        return RebuildService(
            reading=self.reading,
            homes=at.homes,
            list_timelines=at.list_timelines,
            lists=at.lists,
            profiles=at.author_feeds,
            public=at.public,
            tags=at.hashtag_timelines,
            posts=at.posts,
            indexing=self.search_indexer,
            public_cap=self.config.public_cap,
        )

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
        at = self.repositories
        return GraphImport(
            accounts=self.accounts,
            follows=at.follows,
            homes=at.homes,
            ranks=at.graph_ranks,
            following_cap=self.config.following_cap,
        )

    @cached_property
    def posts_import(self) -> PostsImport:
        at = self.repositories
        return PostsImport(
            accounts=self.accounts,
            posts=at.imported_posts,
            public=at.public,
            affected=self.affected_timelines,
            indexing=self.search_indexer,
            ranks=at.graph_ranks,
            stored_posts=at.posts,
        )

    @cached_property
    def demo(self) -> DemoLoader:
        return DemoLoader(
            accounts=self.accounts,
            reading=self.reading,
            reactions=self.reactions,
            graph_import=self.graph_import,
            posts_import=self.posts_import,
        )

    @cached_property
    def audit_context(self) -> AuditContext:
        at = self.repositories
        return AuditContext(
            store=self.store,
            accounts=at.accounts,
            sessions=at.sessions,
            posts=at.posts,
            profiles=at.author_feeds,
            public=at.public,
            tags=at.hashtag_timelines,
            homes=at.homes,
            list_timelines=at.list_timelines,
            follows=at.follows,
            lists=at.lists,
            members=at.members,
            reactions=at.reactions,
            pulled=at.fan_out_on_read_authors,
            affected=self.affected_timelines,
            outbox=self.outbox,
            clock=self.clock,
            config=self.config,
        )

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
