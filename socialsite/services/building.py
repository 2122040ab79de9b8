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
from timelines.services.filters import FilterService
from timelines.services.following import FollowingService
from timelines.services.hydrating import Hydrator
from timelines.services.indexing import Indexing
from timelines.services.list_rules import ListRules
from timelines.services.lists import ListService
from timelines.services.live import LiveService
from timelines.services.notice_rights import NoticeRights
from timelines.services.noticing import NotificationService
from timelines.services.placing import Placing
from timelines.services.positions import PositionService
from timelines.services.publishing import PublishingService
from timelines.services.pulling import Pulling
from timelines.services.purging import Purging
from timelines.services.reactions import ReactionsService
from timelines.services.reading import ReadingService
from timelines.services.rebuilding import RebuildingService
from timelines.services.relations import RelationsService
from timelines.services.requests import RequestService
from timelines.services.searching import SearchService
from timelines.services.suggesting import SuggestingService
from timelines.services.syndication import SyndicationService
from timelines.services.tagging import TagService
from timelines.services.threads import ThreadService
from timelines.services.trending import TrendingService

from .reacting import Reacting, build_reacting
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
    reactions: ReactionsService
    reading: ReadingService
    hydrator: Hydrator
    threads: ThreadService
    positions: PositionService
    suggesting: SuggestingService
    following: FollowingService
    relations: RelationsService
    requests: RequestService
    filters: FilterService
    lists: ListService
    notifications: NotificationService
    tagging: TagService
    trending: TrendingService
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
    notifications: NotificationService
    trending: TrendingService
    indexing: Indexing
    placing: Placing
    reacting: Reacting
    threads: ThreadService
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
        reactions=ground.reacting.reactions,
        reading=ground.reading,
        hydrator=ground.hydrator,
        threads=ground.threads,
        positions=PositionService(at.positions),
        suggesting=_suggesting(ground),
        following=_following(ground),
        relations=_relations(ground),
        requests=_requests(ground),
        filters=FilterService(filters=at.filters),
        lists=_lists(ground),
        notifications=ground.notifications,
        tagging=TagService(at.followed_tags),
        trending=ground.trending,
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
    indexing = Indexing(
        index=at.index, names=at.names, debts=at.search_debts, posts=at.posts, accounts=at.accounts
    )
    live = LiveService(store=store, clock=clock, lag=at.lag)
    outbox = JobQueue(store)
    statistics = Statistics.over(store, clock, {"post": keys.post_totals, "account": account_keys.totals})

    async def sweep(account_id: AccountId) -> None:
        await outbox.add_freeing(encode_job(PurgeAccount(account_id)))
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
    ids = PostIds(clock)
    placing = Placing(
        posts=at.posts,
        profiles=at.profiles,
        public=at.public,
        tags=at.tags,
        homes=at.homes,
        indexing=indexing,
        threads=at.threads,
    )
    notifications = NotificationService(
        notifications=at.notifications,
        rights=NoticeRights(
            store=store,
            hydrator=hydrator,
            authors=accounts,
            readers=at.readers,
            follows=at.follows,
            clock=clock,
        ),
        follows=at.follows,
        accounts=at.accounts,
        live=live,
        ids=ids,
    )
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
        pulling=pulling,
        placing=placing,
        reacting=reacting,
        threads=ThreadService(at.threads, hydrator),
        reading=_reading(at, hydrator, pulling),
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


def _publishing(ground: Ground) -> PublishingService:
    return PublishingService(
        posts=ground.at.posts,
        storing=ground.reacting.storing,
        placing=ground.placing,
        live=ground.live,
        boosts=ground.reacting.boosting,
        sees=ground.hydrator.sees,
        check_room=MemoryGuard(ground.store, ground.config.memory_reserve).check,
        max_graphemes=ground.config.post_max_length,
    )


def _following(ground: Ground) -> FollowingService:
    return FollowingService(
        follows=ground.at.follows,
        relations=ground.at.relations,
        requests=ground.at.requests,
        accounts=ground.accounts,
        homes=ground.at.homes,
        cap=ground.config.following_cap,
        notices=ground.notifications,
    )


def _relations(ground: Ground) -> RelationsService:
    return RelationsService(
        store=ground.store,
        relations=ground.at.relations,
        requests=ground.at.requests,
        follows=ground.at.follows,
        accounts=ground.accounts,
        homes=ground.at.homes,
        live=ground.live,
    )


def _requests(ground: Ground) -> RequestService:
    return RequestService(
        requests=ground.at.requests,
        relations=ground.at.relations,
        follows=ground.at.follows,
        accounts=ground.accounts,
        homes=ground.at.homes,
    )


def _lists(ground: Ground) -> ListService:
    return ListService(
        lists=ground.at.lists,
        members=ground.at.members,
        accounts=ground.accounts,
        timelines=ground.at.list_timelines,
        rules=ListRules(ground.at.lists, ground.at.members, ground.at.follows),
        members_cap=ground.config.list_members_cap,
    )


def _syndication(ground: Ground) -> SyndicationService:
    at = ground.at
    return SyndicationService(
        posts=at.posts,
        placing=ground.placing,
        purging=_purging(at, ground.placing, ground.reacting),
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
        noticing=(ground.notifications.notice, ground.trending.notice),
    )


def _purging(at: Repositories, placing: Placing, reacting: Reacting) -> Purging:
    return Purging(
        reactions=reacting.reactions,
        boosts=reacting.boosting,
        relations=at.relations,
        requests=at.requests,
        filters=at.filters,
        notifications=at.notifications,
        followed_tags=at.followed_tags,
        positions=at.positions,
        posts=at.posts,
        profiles=at.profiles,
        placing=placing,
        follows=at.follows,
        lists=at.lists,
        members=at.members,
        homes=at.homes,
        list_timelines=at.list_timelines,
    )


def _suggesting(ground: Ground) -> SuggestingService:
    at = ground.at
    return SuggestingService(
        store=ground.store,
        follows=at.follows,
        requests=at.requests,
        readers=at.readers,
        authors=ground.accounts,
        public=at.public,
        posts=at.posts,
        clock=ground.clock,
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
