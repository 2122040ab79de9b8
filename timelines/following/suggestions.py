"""Who to follow: whom those one follows follow, and where that says too little, who spoke last in public."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from accounts.domain import Author
from socialsite.ids import AccountId, TimeSource
from socialsite.store import Read, Store
from timelines.author_feeds.repository import PublicTimelineRepository
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.repository import PostRepository
from timelines.visibility.rights import ViewerRelations
from timelines.visibility.viewer_state import read_viewer_relations

FOLLOWED_ASKED, FOLLOWED_EACH = 30, 50
"""Of those one follows the last, and of each the accounts followed last: at most 1,500 names a suggestion."""
CANDIDATES = 100
LATEST_POSTS = 100
KNOWN_SHOWN = 3


class Authors(Protocol):
    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]: ...


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`known`: some of those one follows who follow the account."""

    account_id: AccountId
    known_follower_ids: tuple[AccountId, ...] = ()


class FollowSuggestionService:
    """Suggestions leave out whom one follows, has asked to follow, blocks, mutes, or is blocked by."""

    def __init__(
        self,
        *,
        store: Store,
        follows: Follows,
        follow_requests: FollowRequests,
        authors: Authors,
        public: PublicTimelineRepository,
        posts: PostRepository,
        clock: TimeSource,
    ) -> None:
        self._store = store
        self._follows = follows
        self._requests = follow_requests
        self._authors = authors
        self._public = public
        self._posts = posts
        self._clock = clock

    async def suggestions(self, viewer_id: AccountId, limit: int) -> list[Suggestion]:
        """Those whom most of the people one follows follow, first."""
        mine = (await self._follows.following(viewer_id, None, FOLLOWED_ASKED)).account_ids
        known: dict[AccountId, list[AccountId]] = {}
        theirs = await self._follows.recently_followed_by_each(mine, FOLLOWED_EACH)
        for followed_id, ids in theirs.items():
            for account_id in ids:
                known.setdefault(account_id, []).append(followed_id)
        counted = Counter({account_id: len(by) for account_id, by in known.items()})
        ranked = sorted(counted, key=lambda id: (-counted[id], id))[:CANDIDATES]
        found = await self._allowed(viewer_id, ranked)
        if len(found) < limit:
            found += await self._allowed(viewer_id, [id for id in await self._latest() if id not in known])
        return [Suggestion(id, tuple(known.get(id, ())[:KNOWN_SHOWN])) for id in found[:limit]]

    async def _latest(self) -> list[AccountId]:
        """Who spoke last in public, each once."""
        ids = await self._public.read(ABOVE_ALL_IDS, LATEST_POSTS, upward=False)
        posts = await self._posts.find_many(ids)
        return list(dict.fromkeys(posts[post_id].author_id for post_id in ids if post_id in posts))

    async def _allowed(self, viewer_id: AccountId, ids: Collection[AccountId]) -> list[AccountId]:
        """Those that may be suggested, in their order; one round trip."""
        others = [id for id in ids if id != viewer_id][:CANDIDATES]
        if not others:
            return []
        state: ViewerRelations
        state, authors, followed = await self._store.read(
            read_viewer_relations(viewer_id, (), others, self._clock.now_ms()),
            self._authors.read_authors(others),
            self._follows.read_followed_among(viewer_id, others),
        )
        asked = await self._requests.requested_among(viewer_id, others)
        hidden = state.blocks | state.blocked_by | state.muted | asked | followed
        return [id for id in others if id not in hidden and id in authors and authors[id].is_visible]
