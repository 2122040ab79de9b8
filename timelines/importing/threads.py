"""Imported replies learn what rows do not say: whom they answer, and with which post their thread begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from socialsite.ids import PostId
from timelines.posts.post import Post


def threaded(posts: Sequence[Post], before: Mapping[PostId, Post]) -> list[Post]:
    """The posts of a segment with `reply_to_author_id` and `root`; `before`: earlier posts that they answer.

    Rows that answer each other in a circle are no thread: the link that closes it is left out.
    """
    links = _Links({post.id: post for post in posts}, before)
    for post in posts:
        links.follow(post)
    return [links.done[post.id] for post in posts]


@dataclass
class _Links:
    """`done` fills from the first posts of threads downward."""

    given: Mapping[PostId, Post]
    before: Mapping[PostId, Post]

    def __post_init__(self) -> None:
        self.done: dict[PostId, Post] = {}

    def follow(self, post: Post) -> None:
        """Up to what is done, then down again: threads are deeper than functions may call each other."""
        way: dict[PostId, Post] = {}
        above: Post | None = post
        while above is not None and above.id not in self.done and above.id not in way:
            way[above.id] = above
            above = self.given.get(above.in_reply_to) if above.in_reply_to is not None else None
        closing = next(reversed(way.values()), None) if above is not None and above.id in way else None
        for each in reversed(way.values()):
            self.done[each.id] = self._without_parent(each) if each is closing else self._below(each)

    def _below(self, post: Post) -> Post:
        if post.in_reply_to is None:
            return post
        parent = self.done.get(post.in_reply_to) or self.before.get(post.in_reply_to)
        if parent is None:  # deleted since
            return post
        root = parent.root_id or parent.id
        return msgspec.structs.replace(post, reply_to_author_id=parent.author_id, root_id=root)

    @staticmethod
    def _without_parent(post: Post) -> Post:
        return msgspec.structs.replace(post, in_reply_to=None)
