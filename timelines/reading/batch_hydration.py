"""One post for many readers at once: what sockets are sent is judged for each of them, in one pipeline.

What is the same for all (the post, its author, its counts, who boosted it before) is asked once, what each
reader has to do with it once a reader, however many sockets and timelines they have open.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from accounts.domain import AccountId, Author
from socialsite.ids import PostId
from socialsite.store import Read
from timelines.pages.page import HydratedPost
from timelines.posts.counts import counts_question
from timelines.posts.post import FOLLOWERS, Counts, Post
from timelines.reading.boost_visibility import BoostShowing
from timelines.reading.hydration import Hydrator, entry_of
from timelines.reading.hydration_state import Lookup, Reach
from timelines.reading.post_facts_cache import Remembered
from timelines.visibility.boosters import earlier_question
from timelines.visibility.rights import FOLLOWED, Place, ReaderState, Rights, everybody
from timelines.visibility.viewer_state import state_question

AT_ONCE = 500
"""Readers in one pipeline: a few ms of the server."""


class Seat(NamedTuple):
    """A reader at a timeline. `rights`: whose posts that timeline may show; `answering`: to whom."""

    viewer_id: AccountId | None
    place: Place
    rights: Rights = everybody
    answering: Rights | None = None


async def hydrate_for(
    hydrator: Hydrator, post_id: PostId, author_id: AccountId | None, seats: Sequence[Seat]
) -> list[HydratedPost | None]:
    """The post as the reader at each seat may see it, None where they may not. `author_id`, where known."""
    found: list[HydratedPost | None] = []
    for start in range(0, len(seats), AT_ONCE):
        some = seats[start : start + AT_ONCE]
        many = ForMany(hydrator.reach, hydrator.remembered, some, hydrator.clock.now_ms())
        found += await many.look(post_id, author_id)
    return found


async def seats_showing(hydrator: Hydrator, author_id: AccountId, seats: Mapping[str, Seat]) -> set[str]:
    """The seats, by their names, at whose timelines the author is read: by follows and lists alone."""
    found: set[str] = set()
    named = list(seats.items())
    for start in range(0, len(named), AT_ONCE):
        found |= await _showing(hydrator.reach, author_id, named[start : start + AT_ONCE])
    return found


async def _showing(reach: Reach, author_id: AccountId, seats: Sequence[tuple[str, Seat]]) -> set[str]:
    homes = {id: name for name, (id, place, *_) in seats if place is Place.HOME and id is not None}
    others = [(name, seat) for name, seat in seats if seat.place is not Place.HOME]
    followers, *allowed = await reach.store.read(
        reach.follows.read_followers_among(author_id, list(homes)),
        *(seat.rights([author_id]) for _, seat in others),
    )
    readers = {author_id, *map(AccountId, followers)} & homes.keys()
    showing = {name for (name, _), authors in zip(others, allowed, strict=True) if author_id in authors}
    return showing | {homes[id] for id in readers}


class ForMany:
    """What is known of one post and its readers so far. Lives for one message."""

    def __init__(self, reach: Reach, remembered: Remembered, seats: Sequence[Seat], now_ms: int) -> None:
        self._reach = reach
        self._remembered = remembered
        self._now_ms = now_ms
        self._seats: list[Lookup] = []
        self._by_viewer: dict[AccountId, list[Lookup]] = {}
        self._homes: dict[AccountId, list[Lookup]] = {}
        self._rights: list[tuple[Lookup, Rights]] = []
        for seat in seats:
            lookup = Lookup(reach, remembered, seat.viewer_id, seat.rights, seat.place, now_ms)
            lookup.answering = seat.answering
            self._seats.append(lookup)
            if seat.viewer_id is not None:
                self._by_viewer.setdefault(seat.viewer_id, []).append(lookup)
            if seat.viewer_id is not None and seat.place is Place.HOME:
                self._homes.setdefault(seat.viewer_id, []).append(lookup)
            else:
                self._rights.append((lookup, seat.rights))
        self._posts: dict[PostId, Post] = {}
        self._counts: dict[PostId, Counts] = {}
        self._authors: dict[AccountId, Author] = {}
        self._asked_of: set[AccountId] = set()
        for lookup in self._seats:
            lookup.posts, lookup.counts, lookup.authors = self._posts, self._counts, self._authors

    async def look(self, post_id: PostId, author_id: AccountId | None) -> list[HydratedPost | None]:
        """The post as each seat may see it."""
        wanted = [post_id, *self._remembered.originals([post_id])]
        known, _ = self._remembered.authors(wanted)
        await self._ask(wanted, known if author_id is None else known | {author_id})
        post = self._posts.get(post_id)
        if post is None:
            return [None] * len(self._seats)
        await self._ask_rest(post, set(wanted))
        earlier = await self._ask_boosters(post)
        await self._look_closer()
        return [self._seen(lookup, post, earlier) for lookup in self._seats]

    def _seen(self, lookup: Lookup, post: Post, earlier: list[AccountId]) -> HydratedPost | None:
        if post.boost_of is not None and lookup.place in FOLLOWED:
            showing = BoostShowing(lookup)
            showing.know(post, earlier)
            if not showing.shows(post):
                return None
        return entry_of(lookup, post)

    async def _ask_rest(self, post: Post, asked: set[PostId]) -> None:
        """The author, and the original with its author, where they were not known beforehand."""
        original = {post.boost_of} - asked if post.boost_of is not None else set()
        people = {post.author_id}
        people |= {post.boosted_author} if post.boosted_author is not None else set()
        if original or people - self._asked_of:
            await self._ask(sorted(original), people - self._asked_of)

    async def _ask_boosters(self, post: Post) -> list[AccountId]:
        """Who boosted the same before, where a timeline shows that once."""
        if post.boost_of is None or not any(lookup.place in FOLLOWED for lookup in self._seats):
            return []
        (earlier,) = await self._reach.store.read(earlier_question([(post.boost_of, post.id)]))
        boosters: list[AccountId] = earlier[post.id]
        if missing := set(boosters) - self._asked_of:
            await self._ask((), missing)
        return boosters

    async def _ask(self, post_ids: Sequence[PostId], author_ids: Collection[AccountId]) -> None:
        reach, viewers = self._reach, list(self._by_viewer)
        questions: list[Read[Any]] = [
            reach.posts.find_question(post_ids),
            counts_question(post_ids),
            reach.authors.read_authors(author_ids),
            *(state_question(id, post_ids, author_ids, self._now_ms) for id in viewers),
            *(rights(author_ids) for _, rights in self._rights),
            *(reach.follows.read_followers_among(id, list(self._homes)) for id in author_ids),
        ]
        found, counts, authors, *more = await reach.store.read(*questions)
        posts = await reach.posts.standing(found)
        self._remembered.note(posts.values())
        self._posts |= posts
        self._counts |= counts
        self._authors |= authors
        self._asked_of.update(author_ids)
        answers = iter(more)
        for viewer_id, state in zip(viewers, islice(answers, len(viewers)), strict=True):
            self._learn(viewer_id, state)
        for (lookup, _), allowed in zip(self._rights, islice(answers, len(self._rights)), strict=True):
            lookup.allowed |= allowed
        for author_id, followers in zip(author_ids, answers, strict=True):
            self._let_home(author_id, followers)

    def _let_home(self, author_id: AccountId, followers: Collection[int]) -> None:
        """What home_rights (reading.py) says, asked from the author's side: one look for all readers."""
        for viewer_id in {*map(AccountId, followers), author_id} & self._homes.keys():
            for lookup in self._homes[viewer_id]:
                lookup.allowed.add(author_id)
                lookup.followed.add(author_id)

    def _learn(self, viewer_id: AccountId, state: ReaderState) -> None:
        for lookup in self._by_viewer[viewer_id]:
            lookup.reader = state if lookup.reader is None else lookup.reader.joined(state)

    async def _look_closer(self) -> None:
        """Who follows, where only followers see something; whom an exclusive list takes out of a home."""
        guarded = {post.author_id for post in self._posts.values() if post.audience == FOLLOWERS}
        guarded |= {author.id for author in self._authors.values() if author.private}
        for author_id in guarded:
            followers = await self._reach.follows.followers_among(author_id, list(self._by_viewer))
            for viewer_id in followers:
                for lookup in self._by_viewer[viewer_id]:
                    lookup.followed.add(author_id)
        await self._look_at_answered()
        await self._leave_out()

    async def _look_at_answered(self) -> None:
        """Whom the post answers, where a list shows only answers to some."""
        asked = [
            (lookup, lookup.answering(lookup.answered_by(self._posts.values())))
            for lookup in self._seats
            if lookup.answering is not None
        ]
        answers = await self._reach.store.read(*(question for _, question in asked))
        for (lookup, _), answered in zip(asked, answers, strict=True):
            lookup.answered |= answered

    async def _leave_out(self) -> None:
        members, asked = self._reach.members, [*self._with_exclusive()]
        answers = await self._reach.store.read(
            *(members.read_members_among(list_id, lookup.allowed) for lookup, list_id in asked)
        )
        for (lookup, _), listed in zip(asked, answers, strict=True):
            lookup.allowed -= {AccountId(id) for id in listed if lookup.reader and id != lookup.reader.viewer_id}

    def _with_exclusive(self) -> Iterator[tuple[Lookup, Any]]:
        for lookup in self._seats:
            if lookup.place is Place.HOME and lookup.reader is not None:
                for list_id in lookup.reader.exclusive:
                    yield lookup, list_id
