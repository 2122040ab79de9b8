"""What the services stand on, made of each other and of the repositories: each once, when first asked for."""

from functools import cached_property

from accounts import keys as account_keys
from accounts.accounts.service import AccountService
from accounts.domain import AccountId
from socialsite.analytics.statistics import Statistics
from socialsite.ids import PostIdGenerator
from socialsite.recipes.buffer import Entity
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.service_config import ServiceConfig
from socialsite.services.repositories import AnyClock, Repositories
from socialsite.store import Store
from timelines import keys
from timelines.hashtags.trends import TrendService
from timelines.jobs import PurgeAccount, encode_job
from timelines.lists.rules import ListRules
from timelines.live.service import LiveService
from timelines.notifications.pending import PendingNotificationService
from timelines.notifications.service import NotificationService
from timelines.notifications.visibility import NotificationVisibility
from timelines.publishing.author_timelines import AuthorTimelines
from timelines.publishing.post_writer import PostWriter
from timelines.reactions.boosting import BoostService
from timelines.reactions.service import ReactionsService, VisibleAccounts
from timelines.reading.fan_out_on_read import FanOutOnRead
from timelines.reading.hydration import Hydrator
from timelines.reading.service import ReadingService
from timelines.search.indexing import SearchIndexer
from timelines.threads.service import ThreadService


class Ground:
    """What several services stand on. What stands on no other part of it is made at once."""

    def __init__(self, store: Store, clock: AnyClock, config: ServiceConfig) -> None:
        self.store, self.clock, self.config = store, clock, config
        self.at = Repositories.over(store, clock, config)
        self.ids = PostIdGenerator(clock)
        self.outbox = JobQueue(store)
        self.memory = MemoryGuard(store, config.memory_reserve)
        self.live = LiveService(store=store, clock=clock, lag=self.at.lag)
        totals = {"post": keys.post_totals, "account": account_keys.totals}
        self.statistics = Statistics.create(store, clock, totals)
        self.trending = TrendService(trends=self.at.trends, accounts=self.at.accounts, clock=clock)
        self.rules = ListRules(self.at.lists, self.at.members, self.at.follows)

    @cached_property
    def accounts(self) -> AccountService:
        return AccountService(
            self.at.accounts,
            self.at.sessions,
            self.clock,
            on_sessions_ended=self.live.session_ended,
            on_account_deleted=self._sweep,
            on_account_created=self.statistics.meter.count_signup,
            on_names_changed=self.indexing.update_names_if_available,
        )

    async def _sweep(self, account_id: AccountId) -> None:
        """After an account's end: what it left is purged by the workers."""
        await self.outbox.add_when_full(encode_job(PurgeAccount(account_id)))
        await self.live.account_closed(account_id)
        await self.statistics.stats.delete_counters(Entity("account", account_id))

    @cached_property
    def indexing(self) -> SearchIndexer:
        return SearchIndexer(
            index=self.at.index,
            names=self.at.names,
            debts=self.at.search_debts,
            posts=self.at.posts,
            accounts=self.at.accounts,
        )

    @cached_property
    def hydrator(self) -> Hydrator:
        return Hydrator(
            store=self.store,
            posts=self.at.posts,
            authors=self.accounts,
            follows=self.at.follows,
            members=self.at.members,
            clock=self.clock,
        )

    @cached_property
    def threads(self) -> ThreadService:
        return ThreadService(self.at.threads, self.hydrator)

    @cached_property
    def notifications(self) -> NotificationService:
        rights = NotificationVisibility(
            store=self.store,
            hydrator=self.hydrator,
            authors=self.accounts,
            follows=self.at.follows,
            clock=self.clock,
        )
        return NotificationService(
            notifications=self.at.notifications,
            visibility=rights,
            follows=self.at.follows,
            accounts=self.at.accounts,
            live=self.live,
            ids=self.ids,
        )

    @cached_property
    def owed_notices(self) -> PendingNotificationService:
        return PendingNotificationService(
            pending=self.at.notice_debts,
            notifications=self.notifications,
            follows=self.at.follows,
            follow_requests=self.at.requests,
            clock=self.clock,
        )

    @cached_property
    def placing(self) -> AuthorTimelines:
        return AuthorTimelines(
            posts=self.at.posts,
            profiles=self.at.profiles,
            public=self.at.public,
            tags=self.at.tags,
            homes=self.at.homes,
            indexing=self.indexing,
            threads=self.at.threads,
        )

    @cached_property
    def storing(self) -> PostWriter:
        return PostWriter(
            ids=self.ids,
            posts=self.at.posts,
            placing=self.placing,
            outbox=self.outbox,
            live=self.live,
            meter=self.statistics.meter,
        )

    @cached_property
    def boosting(self) -> BoostService:
        return BoostService(
            reactions=self.at.reactions,
            posts=self.at.posts,
            post_writer=self.storing,
            author_timelines=self.placing,
            outbox=self.outbox,
            live=self.live,
            notifications=self.notifications,
        )

    @cached_property
    def reactions(self) -> ReactionsService:
        return ReactionsService(
            reactions=self.at.reactions,
            bookmarks=self.at.bookmarks,
            boosts=self.boosting,
            hydrator=self.hydrator,
            posts=self.at.posts,
            visible_accounts=VisibleAccounts(self.store, self.accounts, self.clock),
            live=self.live,
            notifications=self.notifications,
            track_pending=self.owed_notices.track,
            check_room=self.memory.check,
        )

    @cached_property
    def pulling(self) -> FanOutOnRead:
        return FanOutOnRead(
            pulled=self.at.pulled,
            follows=self.at.follows,
            clock=self.clock,
            threshold=self.config.pull_threshold,
            grace_ms=self.config.pull_grace_ms,
        )

    @cached_property
    def reading(self) -> ReadingService:
        return ReadingService(
            hydrator=self.hydrator,
            profiles=self.at.profiles,
            public=self.at.public,
            tags=self.at.tags,
            homes=self.at.homes,
            list_timelines=self.at.list_timelines,
            follows=self.at.follows,
            rules=self.rules,
            pulling=self.pulling,
        )
