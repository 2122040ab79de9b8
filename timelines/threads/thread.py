"""A thread: the ancestors of a post and all replies below it in the order of a conversation (pre-order).

Each reply follows its parent and precedes later replies to the same parent. Replies to one post are ordered by id.
`ThreadWalk` reads this order from any position in few reads. One read returns the replies to many posts, and no more
than the page needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from socialsite.ids import PostId
from timelines.pages.page import HydratedPost
from timelines.posts.replies import ReplyRange

MAX_ANCESTORS = 20
"""The maximum number of ancestors on the page of a post. A link leads to earlier ancestors."""
MAX_DEPTH = 500
"""The maximum number of levels of replies on one page. Deeper replies are on the page of the deepest reply."""
MAX_RANGES = 200
"""The maximum number of sorted sets of replies that are read in one round trip."""


class ReplyNode(NamedTuple):
    """A reply that is `depth` levels below the post of the page. A direct reply has depth 1."""

    id: PostId
    depth: int


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """A post of a thread. `entry` is None if the post is deleted or hidden but has visible replies."""

    id: PostId
    depth: int
    entry: HydratedPost | None
    continues: bool = False
    """True if the page of this post shows more replies below it."""


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """A page of a thread. `ancestors` begins with the earliest ancestor. `replies` is in conversation order.

    `earlier_ancestor` is the visible ancestor whose page shows earlier ancestors. `next_after` is the cursor of the
    next page, or None at the end of the thread.
    """

    ancestors: tuple[ThreadEntry, ...]
    earlier_ancestor: HydratedPost | None
    replies: tuple[ThreadEntry, ...]
    next_after: PostId | None

    @property
    def parent(self) -> HydratedPost | None:
        """The direct parent of the post, if it is visible."""
        return self.ancestors[-1].entry if self.ancestors else None


class ThreadWalk:
    """Reads replies in pre-order. `path` leads from the post of the page down to the last reply that was read."""

    def __init__(self, path: Sequence[PostId], above: int = 0) -> None:
        """Start after the last post of `path`. Direct replies to it with ids up to `above` are skipped."""
        self._rows: list[ReplyNode | ReplyRange] = []
        below = above
        for depth in range(len(path), 0, -1):
            if depth <= MAX_DEPTH:
                self._rows.append(ReplyRange(path[depth - 1], below, depth))
            below = path[depth - 1]

    def unread_ranges(self, wanted: int) -> list[ReplyRange]:
        """Return the ranges to read before `take_nodes(wanted)`. The list is empty if the next replies are known."""
        ranges: list[ReplyRange] = []
        nodes = 0
        for row in self._rows:
            if nodes >= wanted or len(ranges) >= MAX_RANGES:
                break
            if isinstance(row, ReplyNode):
                nodes += 1
            else:
                ranges.append(row._replace(limit=wanted - nodes))
        return ranges

    def insert_children(self, read: Sequence[ReplyRange], answers: Sequence[Sequence[PostId]]) -> None:
        """Replace the ranges that `unread_ranges` returned by the replies in them."""
        answers_by_range = {(row.parent, row.after_id): (row, ids) for row, ids in zip(read, answers, strict=True)}
        rows: list[ReplyNode | ReplyRange] = []
        for row in self._rows:
            answer = answers_by_range.get((row.parent, row.after_id)) if isinstance(row, ReplyRange) else None
            if answer is None:
                rows.append(row)
            else:
                rows += _children(*answer)
        self._rows = rows

    def take_nodes(self, wanted: int) -> list[ReplyNode]:
        """Return the next replies. Call it when `unread_ranges(wanted)` is empty."""
        end = 0
        while end < min(wanted, len(self._rows)) and isinstance(self._rows[end], ReplyNode):
            end += 1
        taken, self._rows = self._rows[:end], self._rows[end:]
        return [row for row in taken if isinstance(row, ReplyNode)]


def _children(row: ReplyRange, ids: Sequence[PostId]) -> list[ReplyNode | ReplyRange]:
    """Return each reply with the range of its replies. At the end is the range of unread replies."""
    rows: list[ReplyNode | ReplyRange] = []
    for post_id in ids:
        rows.append(ReplyNode(post_id, row.depth))
        if row.depth < MAX_DEPTH:
            rows.append(ReplyRange(post_id, 0, row.depth + 1))
    if len(ids) == row.limit:
        rows.append(ReplyRange(row.parent, ids[-1], row.depth))
    return rows
