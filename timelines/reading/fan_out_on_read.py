"""Hybrid fan-out: posts of very followed authors are not pushed into homes but merged in when one is read.

An author enters the set when PULL_THRESHOLD followers are passed. Every process looks at the set at least
every STALE seconds, and posts are pushed for GRACE seconds more, so nobody reads a home without knowing whom
it leaves out. Homes may hold such posts, too (from before, or rebuilt): readers drop what comes twice, so the
pages are the same whichever way a post came.
"""

from collections.abc import Collection

from socialsite.ids import AccountId, TimeSource, ms_from_id
from timelines.graph.repository import Follows
from timelines.posts.post import Post
from timelines.reading.fan_out_on_read_repository import FAN_OUT_ON_READ_CAP, FanOutOnReadAuthors


class FanOutOnRead:
    """`threshold` 0: nobody enters, everything is pushed; what was not is merged in as before.

    `grace_ms`: more than the set may be stale (a third of it) and a request last, together.
    """

    def __init__(
        self,
        *,
        pulled: FanOutOnReadAuthors,
        follows: Follows,
        clock: TimeSource,
        threshold: int,
        grace_ms: int,
    ) -> None:
        self._pulled = pulled
        self._follows = follows
        self._clock = clock
        self._threshold = threshold
        self._grace_ms = grace_ms
        self._since: dict[AccountId, int] = {}
        self._looked_ms = -grace_ms

    async def authors(self) -> dict[AccountId, int]:
        """Author -> Unix ms since when; at most a third of the grace old."""
        now_ms = self._clock.now_ms()
        if now_ms - self._looked_ms >= self._grace_ms // 3:
            self._since = await self._pulled.read_all()
            self._looked_ms = now_ms
        return self._since

    async def followed_authors(self, viewer_id: AccountId) -> Collection[AccountId]:
        """Whose profiles the reader's home has to be merged with. No question where the set is empty."""
        authors = await self.authors()
        return await self._follows.followed_among(viewer_id, authors) if authors else ()

    async def skips_fan_out(self, post: Post) -> bool:
        """Whether the worker leaves the followers' homes alone; an author who got too many enters the set."""
        since = await self.authors()
        if post.author_id in since:
            return self._threshold > 0 and self.is_after_grace(post.id, since[post.author_id])
        if self._threshold > 0 and len(since) < FAN_OUT_ON_READ_CAP:
            await self._count(post.author_id)
        return False

    def is_after_grace(self, post_id: int, since_ms: int) -> bool:
        """Whether a post of that time is not pushed."""
        return ms_from_id(post_id) >= since_ms + self._grace_ms

    async def _count(self, author_id: AccountId) -> None:
        if (await self._follows.counts(author_id)).followers > self._threshold:
            await self._pulled.add(author_id, self._clock.now_ms())
