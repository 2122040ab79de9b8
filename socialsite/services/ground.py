"""What the services stand on, made of each other and of the repositories."""

from dataclasses import dataclass

from accounts import keys as account_keys
from accounts.domain import AccountId
from accounts.services import AccountService
from socialsite.configuration import Configuration
from socialsite.ids import PostIds
from socialsite.recipes.buffer import Entity
from socialsite.recipes.job_queue import JobQueue
from socialsite.statistics.statistics import Statistics
from socialsite.store import Store
from timelines import keys
from timelines.domain.jobs import PurgeAccount, encode_job
from timelines.services.hydrating import Hydrator
from timelines.services.indexing import Indexing
from timelines.services.list_rules import ListRules
from timelines.services.live import LiveService
from timelines.services.notice_rights import NoticeRights
from timelines.services.noticing import NotificationService
from timelines.services.placing import Placing
from timelines.services.pulling import Pulling
from timelines.services.reading import ReadingService
from timelines.services.threads import ThreadService
from timelines.services.trending import TrendingService

from .reacting import Reacting, build_reacting
from .repositories import AnyClock, Repositories


@dataclass(frozen=True, slots=True)
class Ground:
    """What several services stand on."""

    store: Store
    clock: AnyClock
    config: Configuration
    at: Repositories
    ids: PostIds
    live: LiveService
    outbox: JobQueue
    statistics: Statistics
    accounts: AccountService
    hydrator: Hydrator
    notifications: NotificationService
    trending: TrendingService
    indexing: Indexing
    placing: Placing
    reacting: Reacting
    threads: ThreadService
    pulling: Pulling
    reading: ReadingService


def build_ground(store: Store, clock: AnyClock, config: Configuration) -> Ground:
    at = Repositories.over(store, clock, config)
    live, outbox, ids = LiveService(store=store, clock=clock, lag=at.lag), JobQueue(store), PostIds(clock)
    statistics = Statistics.over(store, clock, {"post": keys.post_totals, "account": account_keys.totals})
    indexing = Indexing(
        index=at.index, names=at.names, debts=at.search_debts, posts=at.posts, accounts=at.accounts
    )
    accounts = _accounts(at, clock, live, outbox, statistics, indexing)
    hydrator = _hydrator(store, clock, at, accounts)
    placing = _placing(at, indexing)
    notifications = _notifications(store, clock, at, accounts, hydrator, live, ids)
    reacting = build_reacting(
        store=store,
        clock=clock,
        config=config,
        at=at,
        ids=ids,
        live=live,
        outbox=outbox,
        statistics=statistics,
        accounts=accounts,
        hydrator=hydrator,
        placing=placing,
        noticing=notifications,
    )
    pulling = _pulling(at, clock, config)
    return Ground(
        store=store,
        clock=clock,
        config=config,
        at=at,
        ids=ids,
        live=live,
        outbox=outbox,
        statistics=statistics,
        accounts=accounts,
        hydrator=hydrator,
        notifications=notifications,
        trending=TrendingService(trends=at.trends, accounts=at.accounts, clock=clock),
        indexing=indexing,
        placing=placing,
        reacting=reacting,
        threads=ThreadService(at.threads, hydrator),
        pulling=pulling,
        reading=_reading(at, hydrator, pulling),
    )


def _accounts(
    at: Repositories,
    clock: AnyClock,
    live: LiveService,
    outbox: JobQueue,
    statistics: Statistics,
    indexing: Indexing,
) -> AccountService:
    async def sweep(account_id: AccountId) -> None:
        await outbox.add_freeing(encode_job(PurgeAccount(account_id)))
        await live.account_closed(account_id)
        await statistics.figures.forget(Entity("account", account_id))

    return AccountService(
        at.accounts,
        at.sessions,
        clock,
        on_ended=live.session_ended,
        on_deleted=sweep,
        on_made=statistics.meter.signed_up,
        on_named=indexing.name_if_there,
    )


def _hydrator(store: Store, clock: AnyClock, at: Repositories, accounts: AccountService) -> Hydrator:
    return Hydrator(
        store=store,
        posts=at.posts,
        authors=accounts,
        readers=at.readers,
        follows=at.follows,
        members=at.members,
        clock=clock,
    )


def _placing(at: Repositories, indexing: Indexing) -> Placing:
    return Placing(
        posts=at.posts,
        profiles=at.profiles,
        public=at.public,
        tags=at.tags,
        homes=at.homes,
        indexing=indexing,
        threads=at.threads,
    )


def _notifications(
    store: Store,
    clock: AnyClock,
    at: Repositories,
    accounts: AccountService,
    hydrator: Hydrator,
    live: LiveService,
    ids: PostIds,
) -> NotificationService:
    rights = NoticeRights(
        store=store,
        hydrator=hydrator,
        authors=accounts,
        readers=at.readers,
        follows=at.follows,
        clock=clock,
    )
    return NotificationService(
        notifications=at.notifications,
        rights=rights,
        follows=at.follows,
        accounts=at.accounts,
        live=live,
        ids=ids,
    )


def _pulling(at: Repositories, clock: AnyClock, config: Configuration) -> Pulling:
    return Pulling(
        pulled=at.pulled,
        follows=at.follows,
        clock=clock,
        threshold=config.pull_threshold,
        grace_ms=config.pull_grace_ms,
    )


def _reading(at: Repositories, hydrator: Hydrator, pulling: Pulling) -> ReadingService:
    return ReadingService(
        hydrator=hydrator,
        profiles=at.profiles,
        public=at.public,
        tags=at.tags,
        homes=at.homes,
        list_timelines=at.list_timelines,
        follows=at.follows,
        rules=ListRules(at.lists, at.members, at.follows),
        pulling=pulling,
    )
