"""One post for many readers at once: what sockets are sent is judged for each of them, in one pipeline.

What is the same for all (the post, its author, its counts, who boosted it before) is asked once, what each
reader has to do with it once a reader, however many sockets and timelines they have open.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from accounts.domain import Author
from socialsite.ids import AccountId, PostId
from socialsite.store import Read
from timelines.pages.page import HydratedPost
from timelines.posts.counts import read_counts
from timelines.posts.post import FOLLOWERS, Post, PostCounts
from timelines.reading.boost_visibility import BoostVisibility
from timelines.reading.hydration import Hydrator, present
from timelines.reading.hydration_state import HydrationState, Sources
from timelines.reading.post_facts_cache import PostFactsCache
from timelines.visibility.boosters import read_earlier_boosters
from timelines.visibility.rights import FOLLOWED_CONTEXTS, AllowedAuthors, ViewContext, ViewerRelations, allow_all
from timelines.visibility.viewer_state import read_viewer_relations

VIEWERS_PER_BATCH = 500
"""Readers in one pipeline: a few ms of the server."""


class ViewerContext(NamedTuple):
    """A reader at a timeline. `rights`: whose posts that timeline may show; `answering`: to whom."""

    viewer_id: AccountId | None
    context: ViewContext
    allowed: AllowedAuthors = allow_all
    replyable: AllowedAuthors | None = None


async def hydrate_for_viewers(
    hydrator: Hydrator, post_id: PostId, author_id: AccountId | None, viewers: Sequence[ViewerContext]
) -> list[HydratedPost | None]:
    """The post as the reader at each seat may see it, None where they may not. `author_id`, where known."""
    found: list[HydratedPost | None] = []
    for start in range(0, len(viewers), VIEWERS_PER_BATCH):
        some = viewers[start : start + VIEWERS_PER_BATCH]
        many = BatchHydration(hydrator.sources, hydrator.facts, some, hydrator.clock.now_ms())
        found += await many.load(post_id, author_id)
    return found


async def timelines_showing_author(
    hydrator: Hydrator, author_id: AccountId, viewers: Mapping[str, ViewerContext]
) -> set[str]:
    """The seats, by their names, at whose timelines the author is read: by follows and lists alone."""
    found: set[str] = set()
    named = list(viewers.items())
    for start in range(0, len(named), VIEWERS_PER_BATCH):
        found |= await _showing(hydrator.sources, author_id, named[start : start + VIEWERS_PER_BATCH])
    return found


async def _showing(reach: Sources, author_id: AccountId, seats: Sequence[tuple[str, ViewerContext]]) -> set[str]:
    homes = {id: name for name, (id, place, *_) in seats if place is ViewContext.HOME and id is not None}
    others = [(name, seat) for name, seat in seats if seat.context is not ViewContext.HOME]
    followers, *allowed = await reach.store.read(
        reach.follows.followers_among(author_id, list(homes)),
        *(seat.allowed([author_id]) for _, seat in others),
    )
    readers = {author_id, *map(AccountId, followers)} & homes.keys()
    showing = {name for (name, _), authors in zip(others, allowed, strict=True) if author_id in authors}
    return showing | {homes[id] for id in readers}


class BatchHydration:
    """What is known of one post and its readers so far. Lives for one message."""

    def __init__(self, reach: Sources, remembered: PostFactsCache, seats: Sequence[ViewerContext], now_ms: int) -> None:
        self._reach = reach
        self._remembered = remembered
        self._now_ms = now_ms
        self._seats: list[HydrationState] = []
        self._by_viewer: dict[AccountId, list[HydrationState]] = {}
        self._homes: dict[AccountId, list[HydrationState]] = {}
        self._rights: list[tuple[HydrationState, AllowedAuthors]] = []
        for seat in seats:
            lookup = HydrationState(reach, remembered, seat.viewer_id, seat.allowed, seat.context, now_ms)
            lookup.replyable = seat.replyable
            self._seats.append(lookup)
            if seat.viewer_id is not None:
                self._by_viewer.setdefault(seat.viewer_id, []).append(lookup)
            if seat.viewer_id is not None and seat.context is ViewContext.HOME:
                self._homes.setdefault(seat.viewer_id, []).append(lookup)
            else:
                self._rights.append((lookup, seat.allowed))
        self._posts: dict[PostId, Post] = {}
        self._counts: dict[PostId, PostCounts] = {}
        self._authors: dict[AccountId, Author] = {}
        self._asked_of: set[AccountId] = set()
        for lookup in self._seats:
            lookup.posts, lookup.counts, lookup.authors = self._posts, self._counts, self._authors

    async def load(self, post_id: PostId, author_id: AccountId | None) -> list[HydratedPost | None]:
        """The post as each seat may see it."""
        wanted = [post_id, *self._remembered.originals_of([post_id])]
        known, _ = self._remembered.authors_of(wanted)
        await self._ask(wanted, known if author_id is None else known | {author_id})
        post = self._posts.get(post_id)
        if post is None:
            return [None] * len(self._seats)
        await self._ask_rest(post, set(wanted))
        earlier = await self._ask_boosters(post)
        await self._look_closer()
        return [self._seen(lookup, post, earlier) for lookup in self._seats]

    def _seen(self, lookup: HydrationState, post: Post, earlier: list[AccountId]) -> HydratedPost | None:
        if post.boost_of is not None and lookup.context in FOLLOWED_CONTEXTS:
            showing = BoostVisibility(lookup)
            showing.set_earlier_boosters(post, earlier)
            if not showing.is_shown(post):
                return None
        return present(lookup, post)

    async def _ask_rest(self, post: Post, asked: set[PostId]) -> None:
        """The author, and the original with its author, where they were not known beforehand."""
        original = {post.boost_of} - asked if post.boost_of is not None else set()
        people = {post.author_id}
        people |= {post.boosted_author_id} if post.boosted_author_id is not None else set()
        if original or people - self._asked_of:
            await self._ask(sorted(original), people - self._asked_of)

    async def _ask_boosters(self, post: Post) -> list[AccountId]:
        """Who boosted the same before, where a timeline shows that once."""
        if post.boost_of is None or not any(lookup.context in FOLLOWED_CONTEXTS for lookup in self._seats):
            return []
        (earlier,) = await self._reach.store.read(read_earlier_boosters([(post.boost_of, post.id)]))
        boosters: list[AccountId] = earlier[post.id]
        if missing := set(boosters) - self._asked_of:
            await self._ask((), missing)
        return boosters

    async def _ask(self, post_ids: Sequence[PostId], author_ids: Collection[AccountId]) -> None:
        reach, viewers = self._reach, list(self._by_viewer)
        questions: list[Read[Any]] = [
            reach.posts.read_many(post_ids),
            read_counts(post_ids),
            reach.authors.read_authors(author_ids),
            *(read_viewer_relations(id, post_ids, author_ids, self._now_ms) for id in viewers),
            *(rights(author_ids) for _, rights in self._rights),
            *(reach.follows.followers_among(id, list(self._homes)) for id in author_ids),
        ]
        found, counts, authors, *more = await reach.store.read(*questions)
        posts = await reach.posts.load_existing(found)
        self._remembered.add(posts.values())
        self._posts |= posts
        self._counts |= counts
        self._authors |= authors
        self._asked_of.update(author_ids)
        answers = iter(more)
        for viewer_id, state in zip(viewers, islice(answers, len(viewers)), strict=True):
            self._learn(viewer_id, state)
        for (lookup, _), allowed in zip(self._rights, islice(answers, len(self._rights)), strict=True):
            lookup.allowed_ids |= allowed
        for author_id, followers in zip(author_ids, answers, strict=True):
            self._let_home(author_id, followers)

    def _let_home(self, author_id: AccountId, followers: Collection[int]) -> None:
        """What home_rights (reading.py) says, asked from the author's side: one look for all readers."""
        for viewer_id in {*map(AccountId, followers), author_id} & self._homes.keys():
            for lookup in self._homes[viewer_id]:
                lookup.allowed_ids.add(author_id)
                lookup.followed_ids.add(author_id)

    def _learn(self, viewer_id: AccountId, state: ViewerRelations) -> None:
        for lookup in self._by_viewer[viewer_id]:
            lookup.viewer = state if lookup.viewer is None else lookup.viewer.merged_with(state)

    async def _look_closer(self) -> None:
        """Who follows, where only followers see something; whom an exclusive list takes out of a home."""
        guarded = {post.author_id for post in self._posts.values() if post.audience == FOLLOWERS}
        guarded |= {author.id for author in self._authors.values() if author.private}
        for author_id in guarded:
            followers = await self._reach.follows.followers_among(author_id, list(self._by_viewer))
            for viewer_id in followers:
                for lookup in self._by_viewer[viewer_id]:
                    lookup.followed_ids.add(author_id)
        await self._look_at_answered()
        await self._leave_out()

    async def _look_at_answered(self) -> None:
        """Whom the post answers, where a list shows only answers to some."""
        asked = [
            (lookup, lookup.replyable(lookup.replied_authors(self._posts.values())))
            for lookup in self._seats
            if lookup.replyable is not None
        ]
        answers = await self._reach.store.read(*(question for _, question in asked))
        for (lookup, _), answered in zip(asked, answers, strict=True):
            lookup.replyable_ids |= answered

    async def _leave_out(self) -> None:
        members, asked = self._reach.members, [*self._with_exclusive()]
        answers = await self._reach.store.read(
            *(members.members_among(list_id, lookup.allowed_ids) for lookup, list_id in asked)
        )
        for (lookup, _), listed in zip(asked, answers, strict=True):
            lookup.allowed_ids -= {id for id in listed if lookup.viewer and id != lookup.viewer.viewer_id}

    def _with_exclusive(self) -> Iterator[tuple[HydrationState, Any]]:
        for lookup in self._seats:
            if lookup.context is ViewContext.HOME and lookup.viewer is not None:
                for list_id in lookup.viewer.exclusive_list_ids:
                    yield lookup, list_id
