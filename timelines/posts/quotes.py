"""Stores which posts quote a post, and which of these quotes its author has revoked."""

from collections.abc import Mapping, Sequence
from enum import Enum

from socialsite.ids import PostId
from socialsite.store import Read, Repository, load_script
from timelines import keys
from timelines.posts.post import Post

QUOTES_CAP = 100_000
"""The maximum number of quotes of a post, including revoked quotes (about 10 MB)."""
ADD_QUOTE_SCRIPT = load_script("add_quote.lua", __package__)
REVOKE_QUOTE_SCRIPT = load_script("revoke_quote.lua", __package__)


class QuoteResult(Enum):
    STORED = 1
    NO_POST = 0
    """The quoted post does not exist."""
    CAP_REACHED = -1


class QuoteRepository(Repository):
    """The repository of `posts:{<id>}:quotes`. The score of a quote is its id, and negative if it is revoked."""

    async def add(self, quoted_id: PostId, quote_id: PostId) -> QuoteResult:
        """Store a quote before its post is written. A revoked quote stays revoked."""
        command = ADD_QUOTE_SCRIPT.command([keys.quotes(quoted_id), keys.post(quoted_id)], [quote_id, QUOTES_CAP])
        return QuoteResult(await self._posts.write(*command))

    async def revoke(self, quoted_id: PostId, quote_id: PostId) -> bool:
        """Revoke a quote for good. Return False if there is no such quote. The call may be repeated."""
        return bool(await self._posts.write(*REVOKE_QUOTE_SCRIPT.command([keys.quotes(quoted_id)], [quote_id])))

    async def remove(self, post: Post) -> None:
        """Remove a deleted quote from the quotes of its quoted post. A post without a quote is ignored."""
        if post.extra.quote_of is not None:
            await self._posts.write("ZREM", keys.quotes(post.extra.quote_of), post.id)

    def read(self, quoted_id: PostId, bound: int, limit: int, *, upward: bool) -> Read[list[PostId]]:
        """Read the `limit` quotes nearest to the id `bound`, the nearest first, without revoked quotes."""
        key = keys.quotes(quoted_id)
        if upward:
            command = ("ZRANGEBYSCORE", key, f"({bound}", "+inf", "LIMIT", 0, limit)
        else:
            command = ("ZREVRANGEBYSCORE", key, f"({bound}", "(0", "LIMIT", 0, limit)
        return Read([command], lambda replies: [PostId(int(member)) for member in replies[0]], self._posts)

    async def count_many(self, post_ids: Sequence[PostId]) -> dict[PostId, int]:
        """Return the number of quotes of each post, without revoked quotes."""
        counts = await self._posts.execute_all([("ZCOUNT", keys.quotes(post_id), "(0", "+inf") for post_id in post_ids])
        return dict(zip(post_ids, map(int, counts), strict=True))


def read_consents(quotes: Mapping[PostId, PostId]) -> Read[dict[PostId, bool | None]]:
    """Read the consent to each quote (quote -> quoted post): True if stored, False if revoked, None if unknown."""
    return Read(
        [("ZSCORE", keys.quotes(quoted_id), quote_id) for quote_id, quoted_id in quotes.items()],
        lambda replies: {
            quote_id: None if score is None else float(score) > 0
            for quote_id, score in zip(quotes, replies, strict=True)
        },
        wrong_type_reply=None,
    )
