"""What a reader has to do with the posts and authors of a page: one script, one round trip, only the hits."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from accounts.domain import AccountId
from socialsite.ids import PostId
from socialsite.store import Command, EncodedPipeline, Key, Read, Reply, encode_int, encode_text, load_script
from timelines import keys
from timelines.ids import ListId
from timelines.visibility.filter import decode_filter
from timelines.visibility.rights import ReaderState

STATE = load_script("reader_state.lua", __package__)
STATE_KEYS: tuple[Callable[[int], Key], ...] = (
    keys.liked, keys.boosted, keys.bookmarks, keys.blocks, keys.blocked_by, keys.mutes, keys.quieted,
    keys.exclusive, keys.filters,
)  # fmt: skip
NOTHING: list[list[bytes]] = [[]] * 9
POSTS_MOST, AUTHORS_MOST = 400, 1_000  # unpack of more would be refused by Lua


def state_question(
    viewer_id: AccountId, post_ids: Collection[PostId], author_ids: Collection[AccountId], now_ms: int
) -> Read[ReaderState]:
    """Of `timelines:{<account>}:liked`, `blocks` and the like: at most 400 posts and 1,000 accounts."""
    ids = b"".join([*map(encode_int, post_ids), *map(encode_int, author_ids)])
    count = len(STATE_KEYS) + 5 + len(post_ids) + len(author_ids)
    start = b"*%d\r\n%b%b" % (count, _head(viewer_id), encode_int(len(post_ids)))
    wire = b"%b%b%b" % (start, encode_text(str(now_ms)), ids)

    def whole() -> Sequence[Command]:
        arguments = [len(post_ids), now_ms, *post_ids, *author_ids]
        return [STATE.command([build(viewer_id) for build in STATE_KEYS], arguments)]

    def understand(replies: Sequence[Reply]) -> ReaderState:
        (hits,) = replies
        return ReaderState(viewer_id, now_ms) if hits == NOTHING else _state(viewer_id, now_ms, hits)

    return Read(EncodedPipeline(wire, 1, whole, STATE), understand)


def _state(viewer_id: AccountId, now_ms: int, hits: list[list[bytes]]) -> ReaderState:
    liked, boosted, bookmarked = (frozenset(PostId(int(id)) for id in found) for found in hits[:3])
    blocks, blocked_by, muted, quieted = (frozenset(AccountId(int(id)) for id in found) for found in hits[3:7])
    return ReaderState(
        viewer_id,
        now_ms,
        liked=liked,
        boosted=boosted,
        bookmarked=bookmarked,
        blocks=blocks,
        blocked_by=blocked_by,
        muted=muted,
        quieted=quieted,
        exclusive=tuple(sorted(ListId(int(id)) for id in hits[7])),
        filters=tuple(sorted((decode_filter(value) for value in hits[8]), key=lambda each: each.id)),
    )


@lru_cache(maxsize=5_000)
def _head(viewer_id: AccountId) -> bytes:
    """The script's call up to its keys, as it is sent."""
    words = "EVALSHA", STATE.sha, str(len(STATE_KEYS)), *(build(viewer_id) for build in STATE_KEYS)
    return b"".join(map(encode_text, words))
