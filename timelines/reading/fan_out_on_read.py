"""Fan-out on read: posts of authors with very many followers are merged into homes when homes are read.

An author with more than PULL_THRESHOLD followers is added to the set `FanOutOnReadAuthors` and stays in it. Each
process reads the set again after a third of the grace time. During the grace time the posts of a new author of the set
are still pushed, so that every process that reads homes has read the set before pushes end. A home may therefore
contain posts that are also merged in. Readers remove duplicates, so pages are the same either way.
"""

from collections.abc import Collection, Sequence
from dataclasses import field

from socialsite.ids import AccountId, TimeSource, ms_from_id
from socialsite.service import Part
from socialsite.store import Repository
from timelines import keys
from timelines.graph.repository import Follows
from timelines.posts.post import Post

FAN_OUT_ON_READ_CAP = 1_000
"""The maximum number of authors in the set. The limit bounds the cost of reading a home."""


class FanOutOnReadAuthors(Repository):
    """The sorted set `timelines:{pulled}:authors`. The score of an account id is the time of its entry in Unix ms."""

    async def read_all(self) -> dict[AccountId, int]:
        key = keys.fan_out_on_read_authors()
        reply = await self._timelines[key].execute("ZRANGE", key, 0, FAN_OUT_ON_READ_CAP - 1, "WITHSCORES")
        return {AccountId(int(id)): int(since_ms) for id, since_ms in zip(reply[::2], reply[1::2], strict=True)}

    async def add(self, account_id: AccountId, now_ms: int) -> None:
        """Add an author with entry time `now_ms`, unless the author is in the set. Waits for replicas."""
        await self._timelines.write("ZADD", keys.fan_out_on_read_authors(), "NX", now_ms, account_id)

    async def remove(self, account_ids: Sequence[AccountId]) -> None:
        """Remove accounts from the set. The caller checks that they have no followers."""
        key = keys.fan_out_on_read_authors()
        await self._timelines[key].execute("ZREM", key, *account_ids)


class FanOutOnRead(Part):
    """Decides whether a post is pushed to homes or merged in when they are read.

    An author is added to the set above `pull_threshold` followers. If it is 0, no author is added, and posts of authors
    in the set are both pushed and merged in. Two thirds of `pull_grace_ms` must be longer than any request.
    """

    pulled: FanOutOnReadAuthors
    follows: Follows
    clock: TimeSource
    pull_threshold: int
    pull_grace_ms: int
    _since_by_author: dict[AccountId, int] = field(init=False, default_factory=dict)
    _read_at_ms: int | None = field(init=False, default=None)

    async def authors(self) -> dict[AccountId, int]:
        """Return the authors of the set with their entry times. The result is at most a third of the grace time old."""
        now_ms = self.clock.now_ms()
        if self._read_at_ms is None or now_ms - self._read_at_ms >= self.pull_grace_ms // 3:
            self._since_by_author = await self.pulled.read_all()
            self._read_at_ms = now_ms
        return self._since_by_author

    async def followed_authors(self, viewer_id: AccountId) -> Collection[AccountId]:
        """Return the authors of the set that the viewer follows. Their timelines are merged into the viewer's home."""
        authors = await self.authors()
        return await self.follows.followed_among(viewer_id, authors) if authors else ()

    async def skips_fan_out(self, post: Post) -> bool:
        """Return whether the post is not pushed to homes. Adds an author with too many followers to the set."""
        since = await self.authors()
        if post.author_id in since:
            return self.pull_threshold > 0 and self.is_after_grace(post.id, since[post.author_id])
        if self.pull_threshold > 0 and len(since) < FAN_OUT_ON_READ_CAP:
            counts = await self.follows.counts(post.author_id)
            if counts.followers > self.pull_threshold:
                await self.pulled.add(post.author_id, self.clock.now_ms())
        return False

    def is_after_grace(self, post_id: int, since_ms: int) -> bool:
        """Return whether the post was written after the grace time of its author. Such a post is not pushed."""
        return ms_from_id(post_id) >= since_ms + self.pull_grace_ms
