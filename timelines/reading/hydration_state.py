"""One page's look at posts, authors and edges: asks for what it does not know yet, most often once.

Everything here lives for one request.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from accounts.domain import AccountId, Author
from socialsite.ids import PostId
from socialsite.store import Read, Store
from timelines.graph.repository import Follows
from timelines.lists.repository import ListMembers
from timelines.posts.counts import counts_question
from timelines.posts.post import FOLLOWERS, PUBLIC, Counts, Post
from timelines.posts.repository import PostRepository
from timelines.reading.post_facts_cache import Remembered
from timelines.visibility.filter import Filter, matching
from timelines.visibility.rights import UNFILTERED, Place, ReaderState, may_see, sees_all_followed
from timelines.visibility.viewer_state import AUTHORS_MOST, state_question


class Authors(Protocol):
    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]: ...


@dataclass(frozen=True, slots=True)
class Reach:
    """What a look may ask."""

    store: Store
    posts: PostRepository
    authors: Authors
    follows: Follows
    members: ListMembers


class Lookup:
    """What is known of a page so far."""

    def __init__(
        self,
        reach: Reach,
        remembered: Remembered,
        viewer_id: AccountId | None,
        rights: Callable[[Collection[AccountId]], Read[set[AccountId]]],
        place: Place,
        now_ms: int,
    ) -> None:
        self.reach = reach
        self.place = place
        self.now_ms = now_ms
        self.counts_may_lag = False
        self.answering: Callable[[Collection[AccountId]], Read[set[AccountId]]] | None = None
        """Which accounts may be answered in posts shown here; None: all."""
        self.answered: set[AccountId] = set()
        self.reader: ReaderState | None = None
        self.posts: dict[PostId, Post] = {}
        self.counts: dict[PostId, Counts] = {}
        self.authors: dict[AccountId, Author] = {}
        self.allowed: set[AccountId] = set()
        self.followed: set[AccountId] = set()
        self._viewer_id = viewer_id
        self._rights = rights
        self._remembered = remembered
        self._has_looked = False
        self._asked_of: set[AccountId] = set()
        self._judged: dict[AccountId, Author | None] = {}

    @property
    def viewer_id(self) -> AccountId | None:
        return self._viewer_id

    @property
    def is_plain(self) -> bool:
        """Whether nothing but rights decides about a post: no filter, nothing liked, all may be answered."""
        reader = self.reader
        return self.answering is None and (
            reader is None or not (reader.liked or reader.boosted or reader.bookmarked or reader.filters)
        )

    async def look_at(self, post_ids: Sequence[PostId]) -> None:
        """Posts with what they boost, their authors, and what the reader has to do with them."""
        wanted = list(dict.fromkeys([*post_ids, *self._remembered.originals(post_ids)]))
        authors, all_known = self._remembered.authors(wanted)
        await self._ask(wanted, authors)
        if not all_known:
            await self._ask_on(wanted)
        await self._look_closer()

    async def _ask_on(self, wanted: Sequence[PostId]) -> None:
        """What only the posts themselves told: their authors, what they boost and whose that is."""
        self._remembered.note(self.posts.values())
        boosted = {post.boost_of for post in self.posts.values() if post.boost_of} - set(wanted)
        people = {post.author_id for post in self.posts.values()}
        people |= {post.boosted_author for post in self.posts.values() if post.boosted_author}
        if boosted or people - self._asked_of:
            await self._ask(sorted(boosted), people - self._asked_of)
            self._remembered.note(self.posts.values())

    async def look_at_accounts(self, account_ids: Iterable[AccountId]) -> None:
        """Others who matter here: whether they may be shown."""
        missing = list(set(account_ids) - self._asked_of)
        for start in range(0, len(missing), AUTHORS_MOST):
            await self._ask((), missing[start : start + AUTHORS_MOST])
        if missing:
            await self._look_closer()

    @property
    def sees_all_followed(self) -> bool:
        """Whether all that those allowed here wrote is shown, as far as they are visible at all."""
        return sees_all_followed(self.reader, self.place)  # at home those allowed are followed, or oneself

    def visible_author(self, post: Post, *, boosted: bool = False) -> Author | None:
        """The author, where the reader may see the post here. `boosted`: it came by somebody's boost."""
        if boosted or post.audience != PUBLIC or post.boost_of is not None:
            return self._judge(post, boosted=boosted)
        judged = self._judged  # of ordinary posts, those of one author are all shown or none
        if post.author_id not in judged:
            judged[post.author_id] = self._judge(post)
        return judged[post.author_id]

    def _judge(self, post: Post, *, boosted: bool = False) -> Author | None:
        author = self.authors.get(post.author_id)
        if author is None or not (boosted or post.author_id in self.allowed):
            return None
        follows = post.author_id in self.followed
        seen = may_see(post, author, reader=self.reader, follows=follows, place=self.place)
        return author if seen else None

    def shows_answer(self, post: Post) -> bool:
        """Whether the post, if it answers somebody, belongs here; answers to oneself or the reader do."""
        if self.answering is None or post.in_reply_to is None:
            return True
        return post.reply_to_author in (post.author_id, self._viewer_id, *self.answered)

    def answered_by(self, posts: Iterable[Post]) -> set[AccountId]:
        """Whom the posts answer."""
        return {post.reply_to_author for post in posts if post.reply_to_author is not None}

    def filter_of(self, post: Post) -> Filter | None:
        """The reader's filter that the text of another's post runs into."""
        reader = self.reader
        if reader is None or not reader.filters or self.place in UNFILTERED or post.author_id == self._viewer_id:
            return None
        return matching(reader.filters, post.text, self.now_ms)

    async def _ask(self, post_ids: Sequence[PostId], author_ids: Collection[AccountId]) -> None:
        reach, viewer_id = self.reach, self._viewer_id
        questions: list[Read[Any]] = [
            reach.posts.find_question(post_ids),
            counts_question(post_ids, may_lag=self.counts_may_lag),
            reach.authors.read_authors(author_ids),
            self._rights(author_ids),
        ]
        if viewer_id is not None:
            questions.append(state_question(viewer_id, post_ids, author_ids, self.now_ms))
        found, counts, authors, allowed, *states = await reach.store.read(*questions)
        posts = await reach.posts.standing(found)
        if self._has_looked:
            self.posts |= posts
            self.counts |= counts
            self.authors |= authors
            self.allowed |= allowed
        else:  # most pages look once: what came is theirs, without a merge
            self._has_looked = True
            self.posts, self.counts, self.authors, self.allowed = posts, counts, authors, allowed
        if self.place is Place.HOME:
            self.followed |= allowed
        self._asked_of.update(author_ids)
        for state in states:
            self.reader = state if self.reader is None else self.reader.joined(state)

    async def _look_closer(self) -> None:
        """What few pages need: who is followed, where only followers see something; exclusive lists."""
        self._judged.clear()
        if self.answering is not None and (people := self.answered_by(self.posts.values()) - self.answered):
            (answered,) = await self.reach.store.read(self.answering(people))
            self.answered |= answered
        if self.reader is None:
            return
        if self.place is Place.HOME:
            if self.reader.exclusive:
                await self._leave_out(self.reader)
            return
        guarded = {post.author_id for post in self.posts.values() if post.audience == FOLLOWERS}
        guarded |= {author.id for author in self.authors.values() if author.private}
        if guarded:
            self.followed = await self.reach.follows.followed_among(self.reader.viewer_id, guarded)

    async def _leave_out(self, reader: ReaderState) -> None:
        """Members of an exclusive list are read there, not at home."""
        others = self.allowed - {reader.viewer_id}
        questions = [self.reach.members.read_members_among(each, others) for each in reader.exclusive]
        for members in await self.reach.store.read(*questions):
            self.allowed -= set(map(AccountId, members))
