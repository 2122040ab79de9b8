"""Composition root: builds the services of one event loop from a store. Nothing else knows all the parts.

browser -> view or consumer -> service -> repository -> store -> node, and back by the hub.
"""

import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from django.conf import settings

from accounts import current
from accounts import keys as account_keys
from accounts.domain import AccountId
from accounts.repositories import AccountRepository, SessionRepository
from accounts.services import AccountService, SessionService
from socialsite import metrics
from socialsite.clock import Clock, FixedClock
from socialsite.configuration import Configuration
from socialsite.ids import PostIds
from socialsite.recipes.buffer import Entity
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.recipes.upkeep import Upkeep
from socialsite.statistics.statistics import Statistics
from socialsite.store import Key, Node, Store, StoreError, StoreUrls, open_store
from timelines import keys
from timelines.domain.jobs import PurgeAccount, encode_job
from timelines.repositories.archive import Archive
from timelines.repositories.archive_opening import archive_at
from timelines.repositories.cached import CachedKind, CachedTimelines
from timelines.repositories.delivery_lag import DeliveryLag
from timelines.repositories.follows import Follows
from timelines.repositories.lists import ListMembers, Lists
from timelines.repositories.posts import PostRepository
from timelines.repositories.profiles import ProfileRepository, PublicRepository
from timelines.repositories.tags import TagTimelines
from timelines.services.following import FollowingService
from timelines.services.hydrating import Hydrator
from timelines.services.lists import ListService
from timelines.services.live import LiveService
from timelines.services.placing import Placing
from timelines.services.publishing import PublishingService
from timelines.services.purging import Purging
from timelines.services.reading import ReadingService
from timelines.services.rebuilding import RebuildingService
from timelines.services.syndication import SyndicationService

AnyClock = Clock | FixedClock
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Repositories:
    """The places where data lives."""

    accounts: AccountRepository
    sessions: SessionRepository
    archive: Archive
    posts: PostRepository
    profiles: ProfileRepository
    public: PublicRepository
    tags: TagTimelines
    homes: CachedTimelines
    list_timelines: CachedTimelines
    follows: Follows
    lists: Lists
    members: ListMembers
    lag: DeliveryLag

    @classmethod
    def over(cls, store: Store, clock: AnyClock, config: Configuration) -> "Repositories":
        ttl_ms, ahead = config.home_ttl_ms, config.read_ahead
        homes = CachedKind(keys.home_timeline, keys.HOME_PATTERN, config.home_cap, ttl_ms, ahead)
        of_lists = CachedKind(keys.list_timeline, keys.LIST_PATTERN, config.list_cap, ttl_ms, ahead)
        partitions = config.follow_partitions
        archive = archive_at(config.archive_url)
        return cls(
            accounts=AccountRepository(store),
            sessions=SessionRepository(store),
            archive=archive,
            posts=PostRepository(store, archive),
            profiles=ProfileRepository(store, config.profile_cap, config.profile_partitions),
            public=PublicRepository(store, config.public_cap),
            tags=TagTimelines(store),
            homes=CachedTimelines(store, clock, homes),
            list_timelines=CachedTimelines(store, clock, of_lists),
            follows=Follows(store, partitions=partitions, following_cap=config.following_cap),
            lists=Lists(store),
            members=ListMembers(store, partitions=partitions, members_cap=config.list_members_cap),
            lag=DeliveryLag(store),
        )


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


def build_services(store: Store, clock: AnyClock, config: Configuration) -> Services:
    """Everything, wired. Reads and writes nothing."""
    at = Repositories.over(store, clock, config)
    live = LiveService(store=store, clock=clock, follows=at.follows, members=at.members, lag=at.lag)
    outbox = JobQueue(store)
    statistics = Statistics.over(store, clock, {"post": keys.post_totals, "account": account_keys.totals})

    async def sweep(account_id: AccountId) -> None:
        await outbox.add(encode_job(PurgeAccount(account_id)))
        await live.account_closed(account_id)
        await statistics.figures.forget(Entity("account", account_id))

    accounts = AccountService(at.accounts, at.sessions, clock, on_ended=live.session_ended, on_deleted=sweep)
    hydrator = Hydrator(store, at.posts, accounts)
    placing = Placing(posts=at.posts, profiles=at.profiles, public=at.public, tags=at.tags, homes=at.homes)
    reading = ReadingService(
        hydrator=hydrator,
        posts=at.posts,
        profiles=at.profiles,
        public=at.public,
        tags=at.tags,
        homes=at.homes,
        list_timelines=at.list_timelines,
        follows=at.follows,
        members=at.members,
    )
    ids = PostIds(clock)
    return Services(
        config=config,
        clock=clock,
        ids=ids,
        store=store,
        repositories=at,
        accounts=accounts,
        sessions=SessionService(at.sessions, at.accounts, clock, on_ended=live.session_ended),
        publishing=PublishingService(
            ids=ids,
            posts=at.posts,
            placing=placing,
            outbox=outbox,
            live=live,
            check_room=MemoryGuard(store, config.memory_reserve).check,
            meter=statistics.meter,
            max_graphemes=config.post_max_length,
        ),
        reading=reading,
        hydrator=hydrator,
        following=FollowingService(
            follows=at.follows, accounts=accounts, homes=at.homes, cap=config.following_cap
        ),
        lists=ListService(
            lists=at.lists,
            members=at.members,
            accounts=accounts,
            timelines=at.list_timelines,
            members_cap=config.list_members_cap,
        ),
        syndication=SyndicationService(
            posts=at.posts,
            placing=placing,
            purging=_purging(at, placing),
            follows=at.follows,
            members=at.members,
            homes=at.homes,
            list_timelines=at.list_timelines,
            accounts=accounts,
            live=live,
            lag=at.lag,
            meter=statistics.meter,
            clock=clock,
            posts_per_pass=config.posts_per_pass,
        ),
        rebuilding=RebuildingService(
            reading=reading,
            homes=at.homes,
            list_timelines=at.list_timelines,
            lists=at.lists,
            profiles=at.profiles,
            public=at.public,
            tags=at.tags,
            posts=at.posts,
            public_cap=config.public_cap,
        ),
        outbox=outbox,
        live=live,
        limits=RateLimiter(store),
        rules={name: Rule(name, limit) for name, limit in config.rate_limits.items()},
        statistics=statistics,
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


Node.on_answer = staticmethod(metrics.round_trip)


class WrongPartitions(StoreError):
    """FOLLOW_PARTITIONS or PROFILE_PARTITIONS is not the number this store was born with."""


def partitions_key() -> Key:
    """STRING: the number of follow partitions, recorded at first start, checked at every other."""
    return Key("follows", tag="map", name="partitions")


async def check_partitions(store: Store, follows: int, profiles: int = 1) -> None:
    """Record the numbers of partitions, or hold them against the recorded ones. Raises WrongPartitions."""
    recorded = {
        "FOLLOW_PARTITIONS": (partitions_key(), follows),
        "PROFILE_PARTITIONS": (keys.profile_partitions(), profiles),
    }
    for setting, (key, partitions) in recorded.items():
        held = await store.node(key).execute("SET", key, partitions, "NX", "GET")
        if held is not None and int(held) != partitions:
            raise WrongPartitions(
                f"this store was made with {setting}={int(held)}, the setting says {partitions}: "
                "put the old number back, or move the data with `manage.py repartition`"
            )


def as_cut(store: Store, config: Configuration) -> Configuration:
    """Follow edges that were cut anew: what the store says wins over a setting of before."""
    layout = store.layouts.get("follows")
    if layout is None or layout.count == config.follow_partitions:
        return config
    log.warning("FOLLOW_PARTITIONS is %s; edges stand in %s", config.follow_partitions, layout.count)
    return replace(config, follow_partitions=layout.count)


@contextlib.asynccontextmanager
async def open_services(
    urls: StoreUrls | str | None = None, config: Configuration | None = None
) -> AsyncIterator[Services]:
    """Services over the store of the settings (or of `urls`), with a clock kept right meanwhile."""
    config = config or Configuration.from_settings()
    store = await open_store(
        urls or StoreUrls(settings.REDIS_URL, placed_urls()), require_replicas=config.require_replicas
    )

    async def server_ms() -> int | None:
        try:
            return await store.now_ms()
        except StoreError:
            return None

    clock = Clock(server_ms)
    try:
        config = as_cut(store, config)
        await check_partitions(store, config.follow_partitions, config.profile_partitions)
        await clock.refresh()
        services = build_services(store, clock, config)
        meter = services.statistics.meter
        upkeep = Upkeep()
        upkeep.start(clock.keep_right)
        upkeep.start(meter.keep_flushing)
        upkeep.start(metrics.keep_looking)
        current.bind(services.accounts, services.sessions)
        try:
            yield services
        finally:
            await upkeep.close()
            await meter.close()
            await services.repositories.archive.close()
    finally:
        await store.close()


def placed_urls() -> dict[str, str]:
    """`REDIS_<COMPONENT>_URL`s, but for the cache, which is Django's."""
    return {name: url for name, url in settings.REDIS_COMPONENT_URLS.items() if name != "cache"}
