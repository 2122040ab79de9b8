"""The places where data lives, each with the sizes that the settings give it."""

from dataclasses import dataclass
from typing import Self

from accounts.repositories import AccountRepository, SessionRepository
from socialsite.clock import Clock, FixedClock
from socialsite.configuration import Configuration
from socialsite.store import Store
from timelines import keys
from timelines.repositories.archive import Archive
from timelines.repositories.archive_opening import archive_at
from timelines.repositories.bookmarks import Bookmarks
from timelines.repositories.cached import CachedKind, CachedTimelines
from timelines.repositories.delivery_lag import DeliveryLag
from timelines.repositories.filters import Filters
from timelines.repositories.followed_tags import FollowedTags
from timelines.repositories.follows import Follows
from timelines.repositories.lists import ListMembers, Lists
from timelines.repositories.notice_debts import NoticeDebts
from timelines.repositories.notifications import Notifications
from timelines.repositories.positions import Positions
from timelines.repositories.posts import PostRepository
from timelines.repositories.profiles import ProfileRepository, PublicRepository
from timelines.repositories.pulled import PulledAuthors
from timelines.repositories.reactions import Reactions
from timelines.repositories.relations import Relations
from timelines.repositories.requests import FollowRequests
from timelines.repositories.search import PostIndex
from timelines.repositories.search_debts import SearchDebts
from timelines.repositories.search_names import NameIndex
from timelines.repositories.tags import TagTimelines
from timelines.repositories.threads import Threads
from timelines.repositories.trends import Trends

AnyClock = Clock | FixedClock


@dataclass(frozen=True, slots=True)
class Repositories:
    """One of each, over one store."""

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
    notifications: Notifications
    followed_tags: FollowedTags
    trends: Trends
    reactions: Reactions
    bookmarks: Bookmarks
    relations: Relations
    requests: FollowRequests
    filters: Filters
    threads: Threads
    positions: Positions
    pulled: PulledAuthors
    index: PostIndex
    names: NameIndex
    search_debts: SearchDebts
    notice_debts: NoticeDebts

    @classmethod
    def over(cls, store: Store, clock: AnyClock, config: Configuration) -> Self:
        ttl_ms, ahead = config.home_ttl_ms, config.read_ahead
        homes = CachedKind(keys.home_timeline, keys.HOME_PATTERN, config.home_cap, ttl_ms, ahead)
        of_lists = CachedKind(keys.list_timeline, keys.LIST_PATTERN, config.list_cap, ttl_ms, ahead)
        partitions = config.follow_partitions
        archive = archive_at(config.archive_url)
        posts = PostRepository(store, archive)
        return cls(
            accounts=AccountRepository(store),
            sessions=SessionRepository(store),
            archive=archive,
            posts=posts,
            profiles=ProfileRepository(store, config.profile_cap, config.profile_partitions),
            public=PublicRepository(store, config.public_cap),
            tags=TagTimelines(store),
            homes=CachedTimelines(store, clock, homes),
            list_timelines=CachedTimelines(store, clock, of_lists),
            follows=Follows(store, partitions=partitions, following_cap=config.following_cap),
            lists=Lists(store),
            members=ListMembers(store, partitions=partitions, members_cap=config.list_members_cap),
            lag=DeliveryLag(store),
            notifications=Notifications(store),
            followed_tags=FollowedTags(store),
            trends=Trends(store),
            reactions=Reactions(store),
            bookmarks=Bookmarks(store),
            relations=Relations(store),
            requests=FollowRequests(store),
            filters=Filters(store),
            threads=Threads(store, posts),
            positions=Positions(store),
            pulled=PulledAuthors(store),
            index=PostIndex(store),
            names=NameIndex(store),
            search_debts=SearchDebts(store),
            notice_debts=NoticeDebts(store),
        )
