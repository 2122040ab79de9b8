"""How the services are made of each other and of the repositories. Reads and writes nothing."""

from dataclasses import dataclass

from accounts.services import AccountService, SessionService
from socialsite.configuration import Configuration
from socialsite.ids import PostIds
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.statistics.statistics import Statistics
from socialsite.store import Store
from timelines.services.completing import CompletingService
from timelines.services.filters import FilterService
from timelines.services.following import FollowingService
from timelines.services.hydrating import Hydrator
from timelines.services.indexing import Indexing
from timelines.services.lists import ListService
from timelines.services.live import LiveService
from timelines.services.noticing import NotificationService
from timelines.services.owing_notices import NoticesOwed
from timelines.services.positions import PositionService
from timelines.services.publishing import PublishingService
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
from timelines.services.visiting import VisitingService

from .delivery import build_publishing, build_rebuilding, build_syndication
from .ground import Ground
from .people import (
    build_completing,
    build_following,
    build_lists,
    build_relations,
    build_requests,
    build_suggesting,
    build_visiting,
)
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
    visiting: VisitingService
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
    owed_notices: NoticesOwed


def build_services(store: Store, clock: AnyClock, config: Configuration) -> Services:
    """Everything, wired."""
    ground = Ground(store, clock, config)
    at, relations = ground.at, build_relations(ground)
    return Services(
        config=config,
        clock=clock,
        ids=ground.ids,
        store=store,
        repositories=at,
        accounts=ground.accounts,
        sessions=SessionService(at.sessions, at.accounts, clock, on_ended=ground.live.session_ended),
        publishing=build_publishing(ground),
        reactions=ground.reactions,
        reading=ground.reading,
        hydrator=ground.hydrator,
        threads=ground.threads,
        positions=PositionService(at.positions),
        suggesting=build_suggesting(ground),
        following=build_following(ground),
        relations=relations,
        visiting=build_visiting(ground, relations),
        requests=build_requests(ground),
        filters=FilterService(filters=at.filters),
        lists=build_lists(ground),
        notifications=ground.notifications,
        tagging=TagService(at.followed_tags),
        trending=ground.trending,
        syndication=build_syndication(ground),
        rebuilding=build_rebuilding(ground),
        outbox=ground.outbox,
        live=ground.live,
        limits=RateLimiter(store),
        rules={name: Rule(name, limit) for name, limit in config.rate_limits.items()},
        statistics=ground.statistics,
        search=SearchService(index=at.index, hydrator=ground.hydrator, accounts=ground.accounts),
        completing=build_completing(ground),
        indexing=ground.indexing,
        owed_notices=ground.owed_notices,
    )
