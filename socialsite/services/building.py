"""How the services are made of each other and of the repositories. Reads and writes nothing."""

from dataclasses import dataclass

from accounts import keys as account_keys
from accounts.domain import AccountId
from accounts.services import AccountService, SessionService
from socialsite.configuration import Configuration
from socialsite.ids import PostIds
from socialsite.recipes.buffer import Entity
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.statistics.statistics import Statistics
from socialsite.store import Store
from timelines import keys
from timelines.domain.jobs import PurgeAccount, encode_job
from timelines.services.completing import CompletingService
from timelines.services.following import FollowingService
from timelines.services.hydrating import Hydrator
from timelines.services.indexing import Indexing
from timelines.services.lists import ListService
from timelines.services.live import LiveService
from timelines.services.placing import Placing
from timelines.services.publishing import PublishingService
from timelines.services.pulling import Pulling
from timelines.services.purging import Purging
from timelines.services.reading import ReadingService
from timelines.services.rebuilding import RebuildingService
from timelines.services.searching import SearchService
from timelines.services.syndication import SyndicationService

from .repositories import AnyClock, Repositories


@dataclass(frozen=True, slots=True)
class Services:
    """What delivery calls; `request.services` in views, `open_services()` in commands."""

    config: Configuration
    clock: AnyClock
    ids: PostIds
    store: Store
    repositories: Repositories
    accounts: AccountService
    sessions: SessionService
    publishing: PublishingService
    reading: ReadingService
    hydrator: Hydrator
    following: FollowingService
    lists: ListService
    syndication: SyndicationService
    rebuilding: RebuildingService
    outbox: JobQueue
    live: LiveService
    limits: RateLimiter
    rules: dict[str, Rule]
    statistics: Statistics
    search: SearchService
    completing: CompletingService
    indexing: Indexing


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
    indexing: Indexing
    placing: Placing
    pulling: Pulling
    reading: ReadingService


def build_services(store: Store, clock: AnyClock, config: Configuration) -> Services:
    """Everything, wired."""
    ground = _ground(store, clock, config)
    at = ground.at
    return Services(
        config=config,
        clock=clock,
        ids=ground.ids,
        store=store,
        repositories=at,
        accounts=ground.accounts,
        sessions=SessionService(at.sessions, at.accounts, clock, on_ended=ground.live.session_ended),
        publishing=_publishing(ground),
        reading=ground.reading,
        hydrator=ground.hydrator,
        following=_following(ground),
        lists=_lists(ground),
        syndication=_syndication(ground),
        rebuilding=_rebuilding(ground),
        outbox=ground.outbox,
        live=ground.live,
        limits=RateLimiter(store),
        rules={name: Rule(name, limit) for name, limit in config.rate_limits.items()},
        statistics=ground.statistics,
        search=SearchService(index=at.index, hydrator=ground.hydrator, accounts=ground.accounts),
        completing=_completing(ground),
        indexing=ground.indexing,
    )


def _ground(store: Store, clock: AnyClock, config: Configuration) -> Ground:
    at = Repositories.over(store, clock, config)
    indexing = Indexing(at.index, at.names, at.accounts)
    live = LiveService(store=store, clock=clock, follows=at.follows, members=at.members, lag=at.lag)
    outbox = JobQueue(store)
    statistics = Statistics.over(store, clock, {"post": keys.post_totals, "account": account_keys.totals})

    async def sweep(account_id: AccountId) -> None:
        await outbox.add(encode_job(PurgeAccount(account_id)))
        await live.account_closed(account_id)
        await statistics.figures.forget(Entity("account", account_id))

    accounts = AccountService(
        at.accounts,
        at.sessions,
        clock,
        on_ended=live.session_ended,
        on_deleted=sweep,
        on_made=statistics.meter.signed_up,
        on_named=indexing.name_if_there,
    )
    hydrator = Hydrator(
        store=store,
        posts=at.posts,
        authors=accounts,
        readers=at.readers,
        follows=at.follows,
        members=at.members,
        clock=clock,
    )
    pulling = Pulling(
        pulled=at.pulled,
        follows=at.follows,
        clock=clock,
        threshold=config.pull_threshold,
        grace_ms=config.pull_grace_ms,
    )
    return Ground(
        store=store,
        clock=clock,
        config=config,
        at=at,
        ids=PostIds(clock),
        live=live,
        outbox=outbox,
        statistics=statistics,
        accounts=accounts,
        hydrator=hydrator,
        indexing=indexing,
        pulling=pulling,
        placing=Placing(
            posts=at.posts,
            profiles=at.profiles,
            public=at.public,
            tags=at.tags,
            homes=at.homes,
            indexing=indexing,
        ),
        reading=_reading(at, hydrator, pulling),
    )


def _reading(at: Repositories, hydrator: Hydrator, pulling: Pulling) -> ReadingService:
    return ReadingService(
        hydrator=hydrator,
        posts=at.posts,
        profiles=at.profiles,
        public=at.public,
        tags=at.tags,
        homes=at.homes,
        list_timelines=at.list_timelines,
        follows=at.follows,
        members=at.members,
        pulling=pulling,
    )


def _publishing(ground: Ground) -> PublishingService:
    return PublishingService(
        ids=ground.ids,
        posts=ground.at.posts,
        placing=ground.placing,
        outbox=ground.outbox,
        live=ground.live,
        check_room=MemoryGuard(ground.store, ground.config.memory_reserve).check,
        meter=ground.statistics.meter,
        max_graphemes=ground.config.post_max_length,
    )


def _following(ground: Ground) -> FollowingService:
    return FollowingService(
        follows=ground.at.follows,
        accounts=ground.accounts,
        homes=ground.at.homes,
        cap=ground.config.following_cap,
    )


def _lists(ground: Ground) -> ListService:
    return ListService(
        lists=ground.at.lists,
        members=ground.at.members,
        accounts=ground.accounts,
        timelines=ground.at.list_timelines,
        members_cap=ground.config.list_members_cap,
    )


def _syndication(ground: Ground) -> SyndicationService:
    at = ground.at
    return SyndicationService(
        posts=at.posts,
        placing=ground.placing,
        purging=_purging(at, ground.placing),
        indexing=ground.indexing,
        pulling=ground.pulling,
        follows=at.follows,
        members=at.members,
        homes=at.homes,
        list_timelines=at.list_timelines,
        accounts=ground.accounts,
        live=ground.live,
        lag=at.lag,
        meter=ground.statistics.meter,
        clock=ground.clock,
        posts_per_pass=ground.config.posts_per_pass,
    )


def _purging(at: Repositories, placing: Placing) -> Purging:
    return Purging(
        posts=at.posts,
        profiles=at.profiles,
        placing=placing,
        follows=at.follows,
        lists=at.lists,
        members=at.members,
        homes=at.homes,
        list_timelines=at.list_timelines,
    )


def _completing(ground: Ground) -> CompletingService:
    at = ground.at
    return CompletingService(
        store=ground.store,
        names=at.names,
        tags=at.tags,
        authors=ground.accounts,
        follows=at.follows,
        readers=at.readers,
        clock=ground.clock,
    )


def _rebuilding(ground: Ground) -> RebuildingService:
    at = ground.at
    return RebuildingService(
        reading=ground.reading,
        homes=at.homes,
        list_timelines=at.list_timelines,
        lists=at.lists,
        profiles=at.profiles,
        public=at.public,
        tags=at.tags,
        posts=at.posts,
        indexing=ground.indexing,
        public_cap=ground.config.public_cap,
    )
