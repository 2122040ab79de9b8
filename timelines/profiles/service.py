"""Reads the page of an account: the account, its posts and pins, and the followers that the viewer knows.

If the process has cached the account id of the handle, this takes three round trips. The first reads all data whose
keys contain the account id. The second reads the posts and the ids of the known followers. The third reads the accounts
of these followers.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec import structs

from accounts.accounts.service import AccountService
from accounts.domain import Author
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.service import Service
from socialsite.store import Read, Store
from timelines.following.blocks_and_mutes import BlocksAndMutesService
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import FollowCounts, KnownFollowers, Relationship, ViewerGraph
from timelines.graph.repository import Follows
from timelines.markers.marker import Marker
from timelines.markers.repository import Markers
from timelines.pages.page import HydratedPost, PageRequest, TimelinePage
from timelines.pins.repository import Pins
from timelines.pins.service import PinService, mark_pinned
from timelines.reading.service import ReadingService

MAX_KNOWN_FOLLOWERS = 3
"""The maximum number of known followers that the page names."""


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """The data of the page of an account.

    `relationship` is the relationship of the viewer to the account. It is None for visitors and for the account itself.
    `known_followers` are the newest followers that the viewer follows.
    """

    account: Account
    timeline_page: TimelinePage
    post_count: int
    follow_counts: FollowCounts
    marker: Marker
    relationship: Relationship | None = None
    shared_following_count: int = 0
    known_followers: tuple[Author, ...] = ()
    pinned: tuple[HydratedPost, ...] = ()
    """The pinned posts that the viewer may see, on the first page only."""


class ProfileFacts(NamedTuple):
    """The result of the first round trip. `shared` is None for visitors and for the account itself."""

    account: Account | None
    marker: Marker
    post_count: int
    post_ids: list[PostId]
    follow_counts: FollowCounts
    pin_ids: list[PostId]
    shared: tuple[Relationship, ViewerGraph] | None


class ProfilePosts(NamedTuple):
    """The posts of a profile page: a page of the author timeline, and the pinned posts on the first page."""

    page: TimelinePage
    pinned: tuple[HydratedPost, ...] = ()


NO_POSTS = ProfilePosts(TimelinePage((), None, None))


class ProfileRequest(NamedTuple):
    """A viewer and a part of a timeline. `marker_owner_id` is the account whose marker is read, or None."""

    page_request: PageRequest
    viewer_id: AccountId | None
    marker_owner_id: AccountId | None
    timeline_name: str


class ProfileService(Service):
    """Reads the pages of accounts. It writes nothing."""

    store: Store
    accounts: AccountService
    reading: ReadingService
    blocks_and_mutes: BlocksAndMutesService
    blocks_and_mutes_repository: BlocksAndMutes
    follows: Follows
    markers: Markers
    pins: Pins
    pin_service: PinService
    clock: TimeSource

    async def load_page(
        self, handle: str, page_request: PageRequest, *, viewer_id: AccountId | None, with_marker: bool = True
    ) -> ProfilePage:
        """Return the account with a page of its posts. Raises AccountNotFound if it is absent or suspended.

        If `with_marker` is set, the viewer's marker is read. JSON clients do not need it.
        """
        marker_owner_id = viewer_id if with_marker else None
        request = ProfileRequest(page_request, viewer_id, marker_owner_id, f"profile:{handle}")
        account, facts = await self._load_by_handle(handle, request)
        if viewer_id is None or facts.shared is None:
            is_hidden = viewer_id is None and account.followers_only
            posts = NO_POSTS if is_hidden else await self._load_posts(account, facts, request)
            return ProfilePage(
                account, posts.page, facts.post_count, facts.follow_counts, facts.marker, pinned=posts.pinned
            )
        relationship, viewer_graph = facts.shared
        account_id, known_followers = AccountId(account.id), KnownFollowers(0, ())
        pending: Awaitable[KnownFollowers] | None = None
        if not relationship.is_blocked_either_way:
            pending = self.follows.send_known_followers(viewer_id, account_id, viewer_graph, MAX_KNOWN_FOLLOWERS)
        is_hidden = relationship.is_blocked_either_way or (account.followers_only and not relationship.follows)
        posts = NO_POSTS if is_hidden else await self._load_posts(account, facts, request)  # sent with `pending`
        if pending is not None:
            known_followers = await pending
        return ProfilePage(
            account,
            posts.page,
            facts.post_count,
            facts.follow_counts,
            facts.marker,
            relationship,
            known_followers.followed_by_both,
            await self._load_known_followers(viewer_id, known_followers.account_ids),
            posts.pinned,
        )

    async def known_followers(self, viewer_id: AccountId, account_id: AccountId) -> tuple[Author, ...]:
        """Return the newest followers of the account that the viewer follows, unless a block hides the account."""
        relationship, graph = await self.store.read(
            self.blocks_and_mutes.relationship(viewer_id, account_id, self.clock.now_ms()),
            self.follows.viewer_graph(viewer_id, account_id),
        )
        if relationship.is_blocked_either_way:
            return ()
        known_followers = await self.follows.send_known_followers(viewer_id, account_id, graph, MAX_KNOWN_FOLLOWERS)
        return await self._load_known_followers(viewer_id, known_followers.account_ids)

    async def _load_by_handle(self, handle: str, request: ProfileRequest) -> tuple[Account, ProfileFacts]:
        """Read the account of the cached id. If another account has the handle now, read that account."""
        cached_id = self.accounts.cached_id(handle)
        if cached_id is not None:
            facts = await self._load_facts(cached_id, request)
            if facts.account is not None and facts.account.is_active and facts.account.handle == handle:
                return facts.account, facts
        account = await self.accounts.get_by_handle(handle)
        facts = await self._load_facts(AccountId(account.id), request)
        if facts.account is None or not facts.account.is_active:
            raise AccountNotFound
        return facts.account, facts

    async def _load_facts(self, account_id: AccountId, request: ProfileRequest) -> ProfileFacts:
        viewer_id, may_lag = request.viewer_id, request.page_request.may_lag
        reads: list[Read[Any]] = [
            self.accounts.read_account(account_id),
            self.markers.read(request.marker_owner_id, request.timeline_name),
            self.reading.post_count(account_id).allow_lag(may_lag),
            self.reading.read_profile_ids(account_id, request.page_request).allow_lag(may_lag),
            self.pins.read(account_id).allow_lag(may_lag),
        ]
        if viewer_id is None or viewer_id == account_id:
            reads.append(self.follows.counts(account_id).allow_lag(may_lag))
            account, marker, post_count, post_ids, pin_ids, counts = await self.store.read(*reads)
            return ProfileFacts(account, marker, post_count, post_ids, counts, pin_ids, None)
        reads += (
            self.blocks_and_mutes.relationship(viewer_id, account_id, self.clock.now_ms()),
            self.follows.viewer_graph(viewer_id, account_id),
        )
        account, marker, post_count, post_ids, pin_ids, relationship, graph = await self.store.read(*reads)
        return ProfileFacts(account, marker, post_count, post_ids, graph.counts, pin_ids, (relationship, graph))

    async def _load_posts(self, account: Account, facts: ProfileFacts, request: ProfileRequest) -> ProfilePosts:
        part, viewer_id = request.page_request, request.viewer_id
        load_page = self.reading.profile_page(
            AccountId(account.id), part, viewer_id=viewer_id, first_ids=facts.post_ids
        )
        if not facts.pin_ids:
            return ProfilePosts(await load_page)
        pin_ids = facts.pin_ids if part.is_first else ()
        page, pinned = await run_together(load_page, self.pin_service.load(pin_ids, viewer_id))
        entries = tuple(mark_pinned(page.entries, facts.pin_ids))
        return ProfilePosts(structs.replace(page, entries=entries), tuple(pinned))

    async def _load_known_followers(
        self, viewer_id: AccountId, account_ids: tuple[AccountId, ...]
    ) -> tuple[Author, ...]:
        """Return the known followers. Suspended accounts and accounts that a block hides are left out."""
        if not account_ids:
            return ()
        authors, blocked_ids = await self.store.read(
            self.accounts.read_authors(account_ids),
            self.blocks_and_mutes_repository.blocked_either_way(viewer_id, account_ids),
        )
        visible_authors = (authors[id] for id in account_ids if id in authors and id not in blocked_ids)
        return tuple(author for author in visible_authors if author.is_visible)
