"""Hydration: ids become posts with authors, counts and what the reader has to do with them.

Rights are checked here, at read, on every path: tombstones, author states and edges come with
the page, never from process memory. Only "who wrote post N" is remembered, because it can never change; it
lets posts, authors and edges be read in one round trip.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from accounts.domain import AccountId, Author
from socialsite.ids import PostId
from socialsite.store import Question, Store
from timelines.domain.page import HydratedPost, ViewerState
from timelines.domain.post import Post
from timelines.repositories.posts import Found, PostRepository

REMEMBERED = 200_000  # post -> author pairs in memory: about 20 MB when full

Rights = Callable[[Collection[AccountId]], Question[set[AccountId]]]
"""Which of some authors a timeline may show."""


class Authors(Protocol):
    def authors_question(self, ids: Iterable[AccountId]) -> Question[dict[AccountId, Author]]: ...


def everybody(authors: Collection[AccountId]) -> Question[set[AccountId]]:
    """Rights of timelines that show any active author."""
    return Question((), lambda _: set(authors))


class Hydrator:
    """Turns ids into what a reader may see of them."""

    def __init__(self, store: Store, posts: PostRepository, authors: Authors) -> None:
        self._store = store
        self._posts = posts
        self._authors = authors
        self._author_of: dict[PostId, AccountId] = {}

    async def hydrate(
        self, post_ids: Sequence[PostId], *, viewer_id: AccountId | None, rights: Rights = everybody
    ) -> list[HydratedPost]:
        """The visible ones of `post_ids`, in their order."""
        if not post_ids:
            return []
        expected = {self._author_of[post_id] for post_id in post_ids if post_id in self._author_of}
        found: dict[PostId, Found]
        found, counts, authors, allowed = await self._store.ask(
            self._posts.find_question(post_ids),
            self._posts.counts_question(post_ids),
            self._authors.authors_question(expected),
            rights(expected),
        )
        posts = await self._posts.standing(found)
        self._remember(posts.values())
        missing = {post.author_id for post in posts.values()} - expected
        if missing:
            more, allowed_too = await self._store.ask(
                self._authors.authors_question(missing), rights(missing)
            )
            authors, allowed = authors | more, allowed | allowed_too
        return [
            HydratedPost(post, author, counts[post_id], viewer_state(post, viewer_id))
            for post_id in post_ids
            if (post := posts.get(post_id)) is not None
            and post.author_id in allowed
            and (author := authors.get(post.author_id)) is not None
            and author.is_visible
        ]

    def _remember(self, posts: Iterable[Post]) -> None:
        if len(self._author_of) > REMEMBERED:
            self._author_of.clear()
        for post in posts:
            self._author_of[post.id] = post.author_id


def viewer_state(post: Post, viewer_id: AccountId | None) -> ViewerState | None:
    return None if viewer_id is None else ViewerState(own=post.author_id == viewer_id)
