"""Fan-out on read: posts of authors with very many followers are merged into homes when homes are read.

An author enters the set at more than PULL_THRESHOLD followers, and stays in it. Each process reads the set again
after a third of the grace time, and posts are still pushed during the grace time, so that every process that reads
a home knows which authors are not pushed. A home may contain such posts as well; readers remove duplicates, so
pages are the same on either way.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from socialsite.ids import AccountId, TimeSource, ms_from_id
from socialsite.store import Store
from timelines import keys
from timelines.graph.repository import Follows
from timelines.posts.post import Post

FAN_OUT_ON_READ_CAP = 1_000
"""Authors in the set. Posts of all others are pushed, so that the cost of reading a home is bounded."""


class FanOutOnReadAuthors:
    """`timelines:{pulled}:authors`: account id -> Unix ms at which the author entered the set."""

    def __init__(self, store: Store) -> None:
        self._timelines = store.component("timelines")

    async def read_all(self) -> dict[AccountId, int]:
        key = keys.fan_out_on_read_authors()
        reply = await self._timelines[key].execute("ZRANGE", key, 0, FAN_OUT_ON_READ_CAP - 1, "WITHSCORES")
        return {AccountId(int(id)): int(since_ms) for id, since_ms in zip(reply[::2], reply[1::2], strict=True)}

    async def add(self, account_id: AccountId, now_ms: int) -> None:
        """Add an author from `now_ms` on, unless present. Waits for replicas, as the pushes did that now end."""
        key = keys.fan_out_on_read_authors()
        await self._timelines.write(key, ("ZADD", key, "NX", now_ms, account_id))

    async def remove(self, account_ids: Sequence[AccountId]) -> None:
        """Remove accounts without followers."""
        key = keys.fan_out_on_read_authors()
        await self._timelines[key].execute("ZREM", key, *account_ids)


@dataclass(kw_only=True, slots=True)
class FanOutOnRead:
    """Decides whether a post is pushed to homes or merged in when they are read.

    `threshold` 0: no author enters the set; posts of authors in it are pushed and merged in.
    `grace_ms`: longer than a third of it and a request together.
    """

    pulled: FanOutOnReadAuthors
    follows: Follows
    clock: TimeSource
    threshold: int
    grace_ms: int
    _since_by_author: dict[AccountId, int] = field(init=False, default_factory=dict)
    _read_at_ms: int | None = field(init=False, default=None)

    async def authors(self) -> dict[AccountId, int]:
        """Return author -> Unix ms of entry, at most a third of the grace time old."""
        now_ms = self.clock.now_ms()
        if self._read_at_ms is None or now_ms - self._read_at_ms >= self.grace_ms // 3:
            self._since_by_author = await self.pulled.read_all()
            self._read_at_ms = now_ms
        return self._since_by_author

    async def followed_authors(self, viewer_id: AccountId) -> Collection[AccountId]:
        """Return the followed authors in the set. Their feeds are merged into the viewer's home."""
        authors = await self.authors()
        return await self.follows.followed_among(viewer_id, authors) if authors else ()

    async def skips_fan_out(self, post: Post) -> bool:
        """Whether the post is not pushed to homes. Adds an author with too many followers to the set."""
        since = await self.authors()
        if post.author_id in since:
            return self.threshold > 0 and self.is_after_grace(post.id, since[post.author_id])
        if self.threshold > 0 and len(since) < FAN_OUT_ON_READ_CAP:
            counts = await self.follows.counts(post.author_id)
            if counts.followers > self.threshold:
                await self.pulled.add(post.author_id, self.clock.now_ms())
        return False

    def is_after_grace(self, post_id: int, since_ms: int) -> bool:
        """Return whether the post is too new to be pushed: written after the grace period of its author."""
        return ms_from_id(post_id) >= since_ms + self.grace_ms
