"""Hydration: ids become posts with authors, counts and what the reader has to do with them.

Rights are checked here, at read, on every path (DESIGN 2.6): tombstones, author states and edges come with
the page, never from process memory. Only "who wrote post N" is remembered, because it can never change; it
lets posts, authors and edges be read in one round trip.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from accounts.domain import AccountId, Author
from socialsite.ids import PostId
from socialsite.store import Store
from timelines.domain.page import Counts, HydratedPost, ViewerState
from timelines.domain.post import Post
from timelines.repositories.posts import PostRepository, decoded

REMEMBERED = 200_000  # post -> author pairs in memory: about 20 MB when full

Rights = Callable[[Iterable[AccountId]], Awaitable[set[AccountId]]]


class Authors(Protocol):
    async def authors(self, ids: Iterable[AccountId]) -> dict[AccountId, Author]: ...


async def everybody(authors: Iterable[AccountId]) -> set[AccountId]:
    """Rights of timelines that show any active author."""
    return set(authors)


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
        (posts, counts), (authors, allowed) = await asyncio.gather(
            self._facts(post_ids), self._people(expected, rights)
        )
        missing = {post.author_id for post in posts.values()} - expected
        if missing:
            more_authors, more_allowed = await self._people(missing, rights)
            authors, allowed = authors | more_authors, allowed | more_allowed
        return [
            HydratedPost(post, author, counts[post_id], viewer_state(post, viewer_id))
            for post_id in post_ids
            if (post := posts.get(post_id)) is not None
            and post.author_id in allowed
            and (author := authors.get(post.author_id)) is not None
            and author.is_visible
        ]

    async def _facts(self, post_ids: Sequence[PostId]) -> tuple[dict[PostId, Post], dict[PostId, Counts]]:
        commands = [self._posts.find_command(post_id) for post_id in post_ids]
        commands += [self._posts.reply_count_command(post_id) for post_id in post_ids]
        replies = await self._store.gather(commands)
        found = zip(post_ids, map(decoded, replies[: len(post_ids)]), strict=True)
        posts = await self._posts.standing(dict(found))
        self._remember(posts.values())
        numbers = zip(post_ids, replies[len(post_ids) :], strict=True)
        return posts, {post_id: Counts(replies=number) for post_id, number in numbers}

    async def _people(
        self, ids: set[AccountId], rights: Rights
    ) -> tuple[dict[AccountId, Author], set[AccountId]]:
        if not ids:
            return {}, set()
        return await asyncio.gather(self._authors.authors(ids), rights(ids))

    def _remember(self, posts: Iterable[Post]) -> None:
        if len(self._author_of) > REMEMBERED:
            self._author_of.clear()
        for post in posts:
            self._author_of[post.id] = post.author_id


def viewer_state(post: Post, viewer_id: AccountId | None) -> ViewerState | None:
    return None if viewer_id is None else ViewerState(own=post.author_id == viewer_id)
