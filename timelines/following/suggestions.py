"""Follow suggestions: accounts followed by the accounts that a viewer follows, then active public authors.

Active authors are ordered by their number of followers, so that a new account does not become the first suggestion
because it has just posted. Authors who write in a script that none of the viewer's languages uses come last.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

from accounts.accounts.service import AccountService
from socialsite.ids import AccountId, TimeSource
from socialsite.service import Service
from socialsite.site.service import SiteService
from socialsite.store import Store
from socialsite.web.cache import get_or_compute
from timelines.author_timelines.repository import PublicTimelineRepository
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.repository import PostRepository
from timelines.text.unicode_script import find_script
from timelines.visibility.rights import ViewerRelations
from timelines.visibility.viewer_state import read_viewer_relations

RECENT_FOLLOWS, FOLLOWED_BY_EACH = 30, 50
"""The number of last followed accounts that are considered, and of follows that are read of each of them."""
MAX_CANDIDATES = 100
RECENT_PUBLIC_POSTS = 200
KNOWN_FOLLOWERS_SHOWN = 3
ACTIVE_AUTHORS_TTL_S = 30
RECENT_MS, RECENT_SUGGESTIONS, MAX_RECENT = 60_000, 40, 1_000
"""Each process keeps the suggestions of MAX_RECENT viewers for RECENT_MS."""
FURTHER_SUGGESTIONS = 5
"""The number of kept suggestions that are read in addition, to replace those that may no longer be shown."""


class ActiveAuthor(msgspec.Struct, frozen=True):
    """The author of recent public posts, and the most frequent script of these posts.

    `is_described` is set if the author has a picture and a bio.
    """

    id: int
    script: str
    is_described: bool = False


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An account to follow, and some of its followers that the viewer follows."""

    account_id: AccountId
    known_follower_ids: tuple[AccountId, ...] = ()


class FollowSuggestionService(Service):
    """Finds suggestions for a viewer.

    It leaves out accounts that the viewer follows, has requested to follow, blocks or mutes, or that block the viewer.
    It leaves out accounts that staff limits or hides in suggestions, and accounts that chose not to be suggested.
    """

    store: Store
    follows: Follows
    follow_requests: FollowRequests
    authors: AccountService
    public: PublicTimelineRepository
    posts: PostRepository
    clock: TimeSource
    site: SiteService
    _described: tuple[int, list[ActiveAuthor]] = field(default_factory=lambda: (0, []))
    _recent: dict[tuple[AccountId, frozenset[str]], tuple[int, list[Suggestion]]] = field(default_factory=dict)

    async def suggestions(
        self, viewer_id: AccountId, limit: int, scripts: frozenset[str] = frozenset()
    ) -> list[Suggestion]:
        """Return suggestions; the account with most known followers comes first.

        `scripts` are the scripts of the viewer's languages. If it is empty, all scripts are equal.
        """
        if not self.site.settings.suggests_accounts:
            return []
        followed_ids = (await self.follows.following(viewer_id, None, RECENT_FOLLOWS)).account_ids
        known_followers: dict[AccountId, list[AccountId]] = {}
        followed_by_each = await self.follows.recently_followed_by_each(followed_ids, FOLLOWED_BY_EACH)
        for followed_id, account_ids in followed_by_each.items():
            for account_id in account_ids:
                known_followers.setdefault(account_id, []).append(followed_id)
        active = await self._read_active()
        active.sort(key=lambda each: not each.is_described)
        foreign_ids = {each.id for each in active if scripts and each.script and each.script not in scripts}
        active_ids = {each.id for each in active}
        counts = Counter({account_id: len(ids) for account_id, ids in known_followers.items()})
        ranked = sorted(counts, key=lambda id: (id in foreign_ids, -counts[id], id not in active_ids, id))
        suggested = await self._filter(viewer_id, ranked[:MAX_CANDIDATES])
        if len(suggested) < limit:
            others = [AccountId(each.id) for each in active if each.id not in known_followers]
            suggested += await self._filter(viewer_id, sorted(others, key=foreign_ids.__contains__))
        return [Suggestion(id, tuple(known_followers.get(id, ())[:KNOWN_FOLLOWERS_SHOWN])) for id in suggested[:limit]]

    async def recent_suggestions(
        self, viewer_id: AccountId, limit: int, scripts: frozenset[str] = frozenset()
    ) -> list[Suggestion]:
        """Return suggestions that are at most RECENT_MS old, for pages that also show something else.

        Accounts that the viewer may no longer see, or follows meanwhile, are left out.
        """
        now_ms, key = self.clock.now_ms(), (viewer_id, scripts)
        found_ms, suggestions = self._recent.pop(key, (0, []))
        if now_ms - found_ms > RECENT_MS or not self.site.settings.suggests_accounts:
            found_ms, suggestions = now_ms, await self.suggestions(viewer_id, RECENT_SUGGESTIONS, scripts)
        self._recent[key] = found_ms, suggestions
        if len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        suggestions = suggestions[: limit + FURTHER_SUGGESTIONS]
        visible = set(await self._filter(viewer_id, [each.account_id for each in suggestions]))
        return [each for each in suggestions if each.account_id in visible][:limit]

    async def directory(self, viewer_id: AccountId | None, *, limit: int | None = None) -> list[AccountId]:
        """Return the authors of the newest public posts.

        With a limit, select among the first `limit` authors only, and return those with a picture and a bio first.
        Private, limited and blocked accounts are left out, and accounts that chose to be hidden.
        """
        active = await self._read_active() if limit is None else await self._read_described(limit)
        ids = [AccountId(each.id) for each in active]
        authors, undiscoverable, *relations = await self.store.read(
            self.authors.read_authors(ids),
            self.authors.read_undiscoverable(ids),
            *([] if viewer_id is None else [read_viewer_relations(viewer_id, (), ids, self.clock.now_ms())]),
        )
        hidden = {id for each in relations for id in (*each.blocks, *each.blocked_by)}
        hidden |= undiscoverable | self._held_ids()
        visible_ids = (id for id in ids if id in authors and id not in hidden)
        return [id for id in visible_ids if authors[id].is_visible and not authors[id].followers_only]

    def _held_ids(self) -> set[AccountId]:
        """Return the accounts that staff hides in suggestions."""
        return {AccountId(int(id)) for id in self.site.settings.held_accounts}

    async def _read_active(self) -> list[ActiveAuthor]:
        return await get_or_compute("active-authors", list[ActiveAuthor], ACTIVE_AUTHORS_TTL_S, self._active_authors)

    async def _read_described(self, limit: int) -> list[ActiveAuthor]:
        """Return the first active authors, those with a picture and a bio first, at most RECENT_MS old."""
        now_ms = self.clock.now_ms()
        if not self._described[1] or now_ms - self._described[0] > RECENT_MS:
            self._described = now_ms, sorted(await self._read_active(), key=lambda each: not each.is_described)
        return self._described[1][:limit]

    async def _active_authors(self) -> list[ActiveAuthor]:
        """Return the authors of the newest public posts, ordered by followers, posts and time of the newest post."""
        post_ids = await self.public.read(ABOVE_ALL_IDS, RECENT_PUBLIC_POSTS, upward=False)
        posts = await self.posts.find_shown(post_ids)
        texts: dict[AccountId, list[str]] = {}
        for post_id in post_ids:
            if post_id in posts:
                texts.setdefault(posts[post_id].author_id, []).append(posts[post_id].text)
        counts = await self.store.read(*map(self.follows.counts, texts))
        followers = {account_id: each.followers for account_id, each in zip(texts, counts, strict=True)}
        ranked = sorted(texts, key=lambda id: (-followers[id], -len(texts[id])))
        (accounts,) = await self.store.read(self.authors.read_many(ranked))
        described_ids = {id for id, account in accounts.items() if account.avatar and account.bio}
        return [ActiveAuthor(id, find_script(" ".join(texts[id])), id in described_ids) for id in ranked]

    async def _filter(self, viewer_id: AccountId, ids: Collection[AccountId]) -> list[AccountId]:
        """Return the ids that may be suggested, in their order. It takes one round trip."""
        candidates = [id for id in ids if id != viewer_id][:MAX_CANDIDATES]
        if not candidates:
            return []
        relations: ViewerRelations
        relations, authors, undiscoverable, followed, requested = await self.store.read(
            read_viewer_relations(viewer_id, (), candidates, self.clock.now_ms()),
            self.authors.read_authors(candidates),
            self.authors.read_undiscoverable(candidates),
            self.follows.followed_among(viewer_id, candidates),
            self.follow_requests.requested_among(viewer_id, candidates),
        )
        hidden = relations.blocks | relations.blocked_by | relations.muted | requested | followed | undiscoverable
        hidden |= {id for id, author in authors.items() if author.limited} | self._held_ids()
        return [id for id in candidates if id not in hidden and id in authors and authors[id].is_visible]
