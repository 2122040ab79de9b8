"""One page's look at posts, authors and edges: asks for what it does not know yet, most often once.

Everything here lives for one request.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from accounts.domain import Author
from socialsite.ids import AccountId, PostId
from socialsite.store import Read, Store
from timelines.graph.repository import Follows
from timelines.lists.repository import ListMembers
from timelines.posts.counts import read_counts
from timelines.posts.post import FOLLOWERS, PUBLIC, Post, PostCounts
from timelines.posts.repository import PostRepository
from timelines.reading.post_facts_cache import PostFactsCache
from timelines.visibility.filter import KeywordFilter, find_filter
from timelines.visibility.rights import (
    UNFILTERED_CONTEXTS,
    ViewContext,
    ViewerRelations,
    may_see,
    sees_every_followed_post,
)
from timelines.visibility.viewer_state import MAX_AUTHORS, read_viewer_relations


class Authors(Protocol):
    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]: ...


@dataclass(frozen=True, slots=True)
class Sources:
    """What a look may ask."""

    store: Store
    posts: PostRepository
    authors: Authors
    follows: Follows
    members: ListMembers


class HydrationState:
    """What is known of a page so far."""

    def __init__(
        self,
        reach: Sources,
        remembered: PostFactsCache,
        viewer_id: AccountId | None,
        rights: Callable[[Collection[AccountId]], Read[set[AccountId]]],
        place: ViewContext,
        now_ms: int,
    ) -> None:
        self.reach = reach
        self.context = place
        self.now_ms = now_ms
        self.counts_may_lag = False
        self.replyable: Callable[[Collection[AccountId]], Read[set[AccountId]]] | None = None
        """Which accounts may be answered in posts shown here; None: all."""
        self.replyable_ids: set[AccountId] = set()
        self.viewer: ViewerRelations | None = None
        self.posts: dict[PostId, Post] = {}
        self.counts: dict[PostId, PostCounts] = {}
        self.authors: dict[AccountId, Author] = {}
        self.allowed_ids: set[AccountId] = set()
        self.followed_ids: set[AccountId] = set()
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
        reader = self.viewer
        return self.replyable is None and (
            reader is None or not (reader.liked or reader.boosted or reader.bookmarked or reader.filters)
        )

    async def load_posts(self, post_ids: Sequence[PostId]) -> None:
        """Posts with what they boost, their authors, and what the reader has to do with them."""
        wanted = list(dict.fromkeys([*post_ids, *self._remembered.originals_of(post_ids)]))
        authors, all_known = self._remembered.authors_of(wanted)
        await self._ask(wanted, authors)
        if not all_known:
            await self._ask_on(wanted)
        await self._look_closer()

    async def _ask_on(self, wanted: Sequence[PostId]) -> None:
        """What only the posts themselves told: their authors, what they boost and whose that is."""
        self._remembered.add(self.posts.values())
        boosted = {post.boost_of for post in self.posts.values() if post.boost_of} - set(wanted)
        people = {post.author_id for post in self.posts.values()}
        people |= {post.boosted_author_id for post in self.posts.values() if post.boosted_author_id}
        if boosted or people - self._asked_of:
            await self._ask(sorted(boosted), people - self._asked_of)
            self._remembered.add(self.posts.values())

    async def load_accounts(self, account_ids: Iterable[AccountId]) -> None:
        """Others who matter here: whether they may be shown."""
        missing = list(set(account_ids) - self._asked_of)
        for start in range(0, len(missing), MAX_AUTHORS):
            await self._ask((), missing[start : start + MAX_AUTHORS])
        if missing:
            await self._look_closer()

    @property
    def sees_all_followed(self) -> bool:
        """Whether all that those allowed here wrote is shown, as far as they are visible at all."""
        return sees_every_followed_post(self.viewer, self.context)  # at home those allowed are followed, or oneself

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
        if author is None or not (boosted or post.author_id in self.allowed_ids):
            return None
        follows = post.author_id in self.followed_ids
        seen = may_see(post, author, viewer=self.viewer, follows=follows, context=self.context)
        return author if seen else None

    def shows_reply(self, post: Post) -> bool:
        """Whether the post, if it answers somebody, belongs here; answers to oneself or the reader do."""
        if self.replyable is None or post.in_reply_to is None:
            return True
        return post.reply_to_author_id in (post.author_id, self._viewer_id, *self.replyable_ids)

    def replied_authors(self, posts: Iterable[Post]) -> set[AccountId]:
        """Whom the posts answer."""
        return {post.reply_to_author_id for post in posts if post.reply_to_author_id is not None}

    def matching_filter(self, post: Post) -> KeywordFilter | None:
        """The reader's filter that the text of another's post runs into."""
        reader = self.viewer
        if (
            reader is None
            or not reader.filters
            or self.context in UNFILTERED_CONTEXTS
            or post.author_id == self._viewer_id
        ):
            return None
        return find_filter(reader.filters, post.text, self.now_ms)

    async def _ask(self, post_ids: Sequence[PostId], author_ids: Collection[AccountId]) -> None:
        reach, viewer_id = self.reach, self._viewer_id
        questions: list[Read[Any]] = [
            reach.posts.read_many(post_ids),
            read_counts(post_ids, may_lag=self.counts_may_lag),
            reach.authors.read_authors(author_ids),
            self._rights(author_ids),
        ]
        if viewer_id is not None:
            questions.append(read_viewer_relations(viewer_id, post_ids, author_ids, self.now_ms))
        found, counts, authors, allowed, *states = await reach.store.read(*questions)
        posts = await reach.posts.load_existing(found)
        if self._has_looked:
            self.posts |= posts
            self.counts |= counts
            self.authors |= authors
            self.allowed_ids |= allowed
        else:  # most pages look once: what came is theirs, without a merge
            self._has_looked = True
            self.posts, self.counts, self.authors, self.allowed_ids = posts, counts, authors, allowed
        if self.context is ViewContext.HOME:
            self.followed_ids |= allowed
        self._asked_of.update(author_ids)
        for state in states:
            self.viewer = state if self.viewer is None else self.viewer.merged_with(state)

    async def _look_closer(self) -> None:
        """What few pages need: who is followed, where only followers see something; exclusive lists."""
        self._judged.clear()
        if self.replyable is not None and (people := self.replied_authors(self.posts.values()) - self.replyable_ids):
            (answered,) = await self.reach.store.read(self.replyable(people))
            self.replyable_ids |= answered
        if self.viewer is None:
            return
        if self.context is ViewContext.HOME:
            if self.viewer.exclusive_list_ids:
                await self._leave_out(self.viewer)
            return
        guarded = {post.author_id for post in self.posts.values() if post.audience == FOLLOWERS}
        guarded |= {author.id for author in self.authors.values() if author.private}
        if guarded:
            self.followed_ids = await self.reach.follows.followed_among(self.viewer.viewer_id, guarded)

    async def _leave_out(self, reader: ViewerRelations) -> None:
        """Members of an exclusive list are read there, not at home."""
        others = self.allowed_ids - {reader.viewer_id}
        questions = [self.reach.members.members_among(each, others) for each in reader.exclusive_list_ids]
        for members in await self.reach.store.read(*questions):
            self.allowed_ids -= members
