"""How the services are made of each other and of the repositories. Reads and writes nothing."""

from dataclasses import dataclass

from accounts.accounts.service import AccountService
from accounts.sessions.service import SessionService
from socialsite.analytics.statistics import Statistics
from socialsite.ids import PostIdGenerator
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.service_config import ServiceConfig
from socialsite.services.delivery import build_publishing, build_rebuilding, build_syndication
from socialsite.services.ground import Ground
from socialsite.services.people import (
    build_completing,
    build_following,
    build_lists,
    build_relations,
    build_requests,
    build_suggesting,
    build_visiting,
)
from socialsite.services.repositories import AnyClock, Repositories
from socialsite.store import Store
from timelines.fanout.rebuilding import RebuildService
from timelines.fanout.service import FanOutService
from timelines.filters.service import FilterService
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.following.requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.following.suggestions import FollowSuggestionService
from timelines.hashtags.service import FollowedHashtagService
from timelines.hashtags.trends import TrendService
from timelines.lists.service import ListService
from timelines.live.service import LiveService
from timelines.markers.service import MarkerService
from timelines.notifications.pending import PendingNotificationService
from timelines.notifications.service import NotificationService
from timelines.profiles.service import ProfileService
from timelines.publishing.service import PublishingService
from timelines.reactions.service import ReactionsService
from timelines.reading.hydration import Hydrator
from timelines.reading.service import ReadingService
from timelines.search.autocomplete import AutocompleteService
from timelines.search.indexing import SearchIndexer
from timelines.search.service import SearchService
from timelines.threads.service import ThreadService


@dataclass(frozen=True, slots=True)
class Services:
    """What delivery calls; `request.services` in views, `open_services()` in commands."""

    config: ServiceConfig
    clock: AnyClock
    ids: PostIdGenerator
    store: Store
    repositories: Repositories
    accounts: AccountService
    sessions: SessionService
    publishing: PublishingService
    reactions: ReactionsService
    reading: ReadingService
    hydrator: Hydrator
    threads: ThreadService
    positions: MarkerService
    suggesting: FollowSuggestionService
    following: FollowingService
    relations: BlocksAndMutesService
    visiting: ProfileService
    requests: FollowRequestService
    filters: FilterService
    lists: ListService
    notifications: NotificationService
    tagging: FollowedHashtagService
    trending: TrendService
    syndication: FanOutService
    rebuilding: RebuildService
    outbox: JobQueue
    live: LiveService
    limits: RateLimiter
    rules: dict[str, Rule]
    statistics: Statistics
    search: SearchService
    completing: AutocompleteService
    indexing: SearchIndexer
    owed_notices: PendingNotificationService


def build_services(store: Store, clock: AnyClock, config: ServiceConfig) -> Services:
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
        sessions=SessionService(at.sessions, at.accounts, clock, on_sessions_ended=ground.live.session_ended),
        publishing=build_publishing(ground),
        reactions=ground.reactions,
        reading=ground.reading,
        hydrator=ground.hydrator,
        threads=ground.threads,
        positions=MarkerService(at.positions),
        suggesting=build_suggesting(ground),
        following=build_following(ground),
        relations=relations,
        visiting=build_visiting(ground, relations),
        requests=build_requests(ground),
        filters=FilterService(filters=at.filters),
        lists=build_lists(ground),
        notifications=ground.notifications,
        tagging=FollowedHashtagService(at.followed_tags),
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
