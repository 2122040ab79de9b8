"""Visiting: a profile as whoever looks meets it: the account, its posts, what the two have in common.

Two round trips where this process knows whose the handle is: all that the account's id leads to; then its
posts, and whom both know. A third where they know somebody: who these are.
"""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from accounts.domain import Author
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.store import Read, Store
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import FollowCounts, KnownFollowers, Relationship, ViewerGraph
from timelines.graph.repository import Follows
from timelines.markers.marker import Marker
from timelines.markers.repository import Markers
from timelines.pages.page import PageRequest, TimelinePage
from timelines.reading.service import ReadingService

MAX_KNOWN_FOLLOWERS = 3
"""Followers whom the viewer knows are told by name, so many of them."""
EMPTY_PAGE = TimelinePage((), None, None)


class Accounts(Protocol):
    """AccountService."""

    async def get_by_handle(self, handle: str) -> Account: ...

    def cached_id(self, handle: str) -> AccountId | None: ...

    def read_account(self, account_id: AccountId) -> Read[Account | None]: ...

    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]: ...


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """`posts`: how many there are. `relation`: the viewer's; None for a visitor and the account itself.

    `shared_following_count`: how many accounts both follow. `known`: the newest followers whom the viewer follows.
    """

    account: Account
    timeline_page: TimelinePage
    post_count: int
    follow_counts: FollowCounts
    marker: Marker
    relationship: Relationship | None = None
    shared_following_count: int = 0
    known_followers: tuple[Author, ...] = ()


class ProfileProbe(NamedTuple):
    """What the first round trip tells. `between`: nothing for a visitor and the account itself."""

    account: Account | None
    place: Marker
    posts: int
    ids: list[PostId]
    counts: FollowCounts
    between: tuple[Relationship, ViewerGraph] | None


class ProfileRequest(NamedTuple):
    """Who looks at which part of which timeline. `reader_id`: whose reading place counts."""

    cut: PageRequest
    viewer_id: AccountId | None
    reader_id: AccountId | None
    timeline: str


class ProfileService:
    """Looks only."""

    def __init__(
        self,
        *,
        store: Store,
        accounts: Accounts,
        reading: ReadingService,
        relating: BlocksAndMutesService,
        relations: BlocksAndMutes,
        follows: Follows,
        positions: Markers,
        clock: TimeSource,
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._reading = reading
        self._blocks_and_mutes = relating
        self._block_mute_repository = relations
        self._follows = follows
        self._markers = positions
        self._clock = clock

    async def load_page(
        self, handle: str, cut: PageRequest, *, viewer_id: AccountId | None, with_marker: bool = True
    ) -> ProfilePage:
        """The account with a page of its posts. Raises AccountNotFound for one that is absent or suspended.

        `with_marker`: whether the viewer's reading place counts; programs keep it themselves.
        """
        timeline = f"profile:{handle}"
        look = ProfileRequest(cut, viewer_id, viewer_id if with_marker else None, timeline)
        account, first = await self._load_by_handle(handle, look)
        if viewer_id is None or first.between is None:
            hidden = viewer_id is None and account.is_private
            page = EMPTY_PAGE if hidden else await self._page(account, first, look)
            return ProfilePage(account, page, first.posts, first.counts, first.place)
        relation, met = first.between
        together: Awaitable[KnownFollowers] | None = None
        if not relation.is_blocked_either_way:
            together = self._follows.send_known_followers(viewer_id, AccountId(account.id), met, MAX_KNOWN_FOLLOWERS)
        hidden = relation.is_blocked_either_way or (account.is_private and not relation.follows)
        page = EMPTY_PAGE if hidden else await self._page(account, first, look)  # leaves with `together`
        both, known = (0, ()) if together is None else await self._load_known_followers(viewer_id, await together)
        return ProfilePage(account, page, first.posts, first.counts, first.place, relation, both, known)

    async def _load_by_handle(self, handle: str, look: ProfileRequest) -> tuple[Account, ProfileProbe]:
        """By the id that the handle had when this process last looked; it all counts only if that stands."""
        known_id = self._accounts.cached_id(handle)
        if known_id is not None:
            first = await self._read_profile_data(known_id, look)
            if first.account is not None and first.account.is_active and first.account.handle == handle:
                return first.account, first
        account = await self._accounts.get_by_handle(handle)
        first = await self._read_profile_data(AccountId(account.id), look)
        if first.account is None or not first.account.is_active:
            raise AccountNotFound
        return first.account, first

    async def _read_profile_data(self, account_id: AccountId, look: ProfileRequest) -> ProfileProbe:
        viewer_id, may_lag = look.viewer_id, look.viewer_id is None
        questions: list[Read[Any]] = [
            self._accounts.read_account(account_id),
            self._markers.read(look.reader_id, look.timeline),
            self._reading.read_post_count(account_id, may_lag=may_lag),
            self._reading.read_profile_ids(account_id, look.cut, may_lag=may_lag),
        ]
        if viewer_id is None or viewer_id == account_id:
            questions.append(self._follows.counts(account_id).allow_lag(may_lag))
            account, place, posts, ids, counts = await self._store.read(*questions)
            return ProfileProbe(account, place, posts, ids, counts, None)
        questions += (
            self._blocks_and_mutes.relationship(viewer_id, account_id, self._clock.now_ms()),
            self._follows.viewer_graph(viewer_id, account_id),
        )
        account, place, posts, ids, relation, met = await self._store.read(*questions)
        return ProfileProbe(account, place, posts, ids, met.counts, (relation, met))

    async def _page(self, account: Account, first: ProfileProbe, look: ProfileRequest) -> TimelinePage:
        viewer_id = look.viewer_id
        return await self._reading.profile_page(
            AccountId(account.id), look.cut, viewer_id=viewer_id, ids=first.ids, may_lag=viewer_id is None
        )

    async def _load_known_followers(
        self, viewer_id: AccountId, found: KnownFollowers
    ) -> tuple[int, tuple[Author, ...]]:
        """The known followers without those that are suspended, or that a block keeps apart."""
        if not found.account_ids:
            return found.followed_by_both, ()
        authors, apart = await self._store.read(
            self._accounts.read_authors(found.account_ids),
            self._block_mute_repository.blocked_either_way(viewer_id, found.account_ids),
        )
        known = (authors[id] for id in found.account_ids if id in authors and id not in apart)
        return found.followed_by_both, tuple(author for author in known if author.is_visible)
