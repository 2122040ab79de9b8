"""What can never change about a post, kept in the process: who wrote it, and what it boosts."""

from collections.abc import Iterable, Sequence
from typing import cast

from socialsite.ids import AccountId, PostId
from timelines.posts.post import Post

FACTS_CAP = 200_000  # posts: about 20 MB when full

Original = tuple[PostId, AccountId]
"""The original of a boost, and who wrote it."""


class PostFactsCache:
    def __init__(self) -> None:
        self.author_of: dict[PostId, AccountId] = {}
        self.boost_of: dict[PostId, Original] = {}

    def add(self, posts: Iterable[Post]) -> None:
        if len(self.author_of) > FACTS_CAP:
            self.author_of.clear()
            self.boost_of.clear()
        for post in posts:
            self.author_of[post.id] = post.author_id
            if post.boost_of is not None and post.boosted_author_id is not None:
                self.boost_of[post.id] = post.boost_of, post.boosted_author_id

    def originals_of(self, post_ids: Sequence[PostId]) -> list[PostId]:
        """What the boosts among some posts show."""
        if not self.boost_of:
            return []
        return [self.boost_of[post_id][0] for post_id in post_ids if post_id in self.boost_of]

    def authors_of(self, post_ids: Iterable[PostId]) -> tuple[set[AccountId], bool]:
        """Who wrote them as far as is known, and whether it is known of all."""
        authors: set[AccountId | None] = set(map(self.author_of.get, post_ids))
        if None not in authors:
            return cast("set[AccountId]", authors), True
        return {author for author in authors if author is not None}, False
