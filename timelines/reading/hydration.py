"""Hydration: ids become posts with authors, counts and what the reader has to do with them.

Rights are checked here, at read, on every path: tombstones, author states, edges, blocks and mutes come with
the page, never from process memory. Only what post N says, who wrote it and what it boosts is remembered, as
long as it stands: it can never change, and it lets nearly every page be read in one round trip.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from accounts.domain import Author
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.store import Read, Store
from timelines.graph.repository import Follows
from timelines.lists.repository import ListMembers
from timelines.pages.page import HydratedPost, ViewerState
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.reading.boost_visibility import BoostVisibility
from timelines.reading.hydration_state import HydrationState, Sources
from timelines.reading.post_facts_cache import PostFactsCache
from timelines.visibility.rights import FOLLOWED_CONTEXTS, AllowedAuthors, ViewContext, allow_all, may_show_boost

OWN_POST, NO_ACTIONS = ViewerState(own=True), ViewerState(own=False)


class Authors(Protocol):
    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]: ...


class Hydrator:
    """Turns ids into what a reader may see of them."""

    def __init__(
        self,
        *,
        store: Store,
        posts: PostRepository,
        authors: Authors,
        follows: Follows,
        members: ListMembers,
        clock: TimeSource,
    ) -> None:
        self.sources = Sources(store, posts, authors, follows, members)
        self.clock = clock
        self.facts = PostFactsCache()

    async def can_see(self, viewer_id: AccountId, post_id: PostId) -> bool:
        """Whether the viewer may see the post on its own page, and so answer it."""
        return bool(await self.hydrate([post_id], viewer_id=viewer_id, context=ViewContext.POST))

    async def find_deleted(self, post_ids: Collection[PostId]) -> dict[PostId, PostId | None]:
        """Those of the posts that were deleted, whoever could see them; of boosts with what they showed."""
        return await self.sources.posts.find_deleted(post_ids)

    async def hydrate(
        self,
        post_ids: Sequence[PostId],
        *,
        viewer_id: AccountId | None,
        allowed: AllowedAuthors = allow_all,
        context: ViewContext = ViewContext.POST,
        replyable: AllowedAuthors | None = None,
        may_lag: bool = False,
    ) -> list[HydratedPost]:
        """The visible ones of `post_ids`, in their order. `may_lag`: their counts may be a second old.

        `replyable`: which accounts may be answered in posts shown here.
        """
        if not post_ids:
            return []
        found = HydrationState(self.sources, self.facts, viewer_id, allowed, context, self.clock.now_ms())
        found.counts_may_lag = may_lag
        found.replyable = replyable
        await found.load_posts(post_ids)
        posts = [post for post_id in post_ids if (post := found.posts.get(post_id)) is not None]
        boosts = [post for post in posts if post.boost_of is not None]
        if not boosts and found.is_plain:
            return _plain_entries(found, posts)
        showing = BoostVisibility(found)
        if boosts and context in FOLLOWED_CONTEXTS:
            await showing.load(boosts)
        return [entry for post in posts if showing.is_shown(post) and (entry := present(found, post)) is not None]


def _plain_entries(found: HydrationState, posts: Iterable[Post]) -> list[HydratedPost]:
    """As `present` for posts that are no boosts, where `found.is_plain`: most pages, without its calls."""
    counts, viewer_id = found.counts, found.viewer_id
    others = None if viewer_id is None else NO_ACTIONS
    if found.sees_all_followed:
        authors, allowed = found.authors, found.allowed_ids
        return [
            HydratedPost(post, author, counts[post.id], OWN_POST if author.id == viewer_id else others)
            for post in posts
            if post.author_id in allowed and (author := authors.get(post.author_id)) is not None and author.is_visible
        ]
    author_of = found.visible_author
    return [
        HydratedPost(post, author, counts[post.id], OWN_POST if author.id == viewer_id else others)
        for post in posts
        if (author := author_of(post)) is not None
    ]


def present(found: HydrationState, post: Post) -> HydratedPost | None:
    """The post as its reader may see it, or None."""
    author = found.visible_author(post)
    if author is None or (post.boost_of is None and not found.shows_reply(post)):
        return None
    if post.boost_of is None:
        return _own_words(found, post, author)
    original = found.posts.get(post.boost_of)
    writer = found.visible_author(original, boosted=True) if original else None
    if original is None or writer is None or original.boost_of is not None:
        return None
    if not may_show_boost(post, writer, found.viewer, found.context):
        return None
    shown = _own_words(found, original, writer)
    return shown and HydratedPost(post, author, shown.counts, shown.viewer, shown, shown.filter_phrase)


def _own_words(found: HydrationState, post: Post, author: Author) -> HydratedPost | None:
    """The entry of a post that is no boost; a reader's filters look at its text."""
    filtered = found.matching_filter(post)
    if filtered is not None and filtered.action == "hide":
        return None
    phrase = filtered.phrase if filtered else None
    return HydratedPost(post, author, found.counts[post.id], viewer_state_of(found, post), None, phrase)


def viewer_state_of(found: HydrationState, post: Post) -> ViewerState | None:
    reader = found.viewer
    if reader is None:
        return None
    own = post.author_id == reader.viewer_id
    if not (reader.liked or reader.boosted or reader.bookmarked):
        return OWN_POST if own else NO_ACTIONS
    return ViewerState(
        own=own,
        liked=post.id in reader.liked,
        boosted=post.id in reader.boosted,
        bookmarked=post.id in reader.bookmarked,
    )
