"""The value of a post's key: the post, or a state in its place."""

from enum import Enum
from functools import lru_cache

from socialsite.ids import AccountId, PostId
from socialsite.store import Reply
from timelines.posts.post import FOLLOWERS, POST_CACHE_SIZE, PUBLIC, Post, decode_post

UNKNOWN_ID = PostId(0)
PENDING, DELETED, SUPERSEDED = b"pending", b"deleted", b"superseded"
DELETED_PREFIX = b"deleted:"
"""Followed by the author's id, so that only the author may repeat a deletion. A reply adds ":" and its parent, so
that threads continue; a boost adds "::" and its original, so that the next boost appears. A post for followers has
the five parts `deleted:<author>:<parent or nothing>::f`, so that the deletion is told to followers only."""


class PostState(Enum):
    """The state of a post's key that has no post."""

    ABSENT = "absent"
    PENDING = "pending"
    DELETED = "deleted"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    """The post exists and its body is in the archive. Only code that reads the key itself sees this state."""


STATE_BY_VALUE = {
    None: PostState.ABSENT, PENDING: PostState.PENDING, DELETED: PostState.DELETED,
    SUPERSEDED: PostState.SUPERSEDED,
}  # fmt: skip
POST_FIRST_BYTES = frozenset(bytes((first,)) for first in (*range(0x90, 0xA0), 0xDC))
"""The first byte of a post: a short or long MessagePack array. No state may begin with one of these."""
STATE_BY_FIRST_BYTE = {
    b"": PostState.ABSENT, PENDING[:1]: PostState.PENDING, DELETED[:1]: PostState.DELETED,
    SUPERSEDED[:1]: PostState.SUPERSEDED,
}  # fmt: skip
"""State by first byte. All other first bytes are digits: an archived post."""

StoredPost = Post | PostState


@lru_cache(maxsize=POST_CACHE_SIZE)
def decode_stored(reply: Reply) -> StoredPost:
    """Decode the value of a post's key. Cached by its bytes."""
    state = STATE_BY_VALUE.get(reply)
    if state is not None:
        return state
    if reply.startswith(DELETED_PREFIX):
        return PostState.DELETED
    return PostState.ARCHIVED if reply.isdigit() else decode_post(reply)


def stored_parent(reply: Reply) -> Post | PostId | None:
    """Return the post if the value is one; the parent of a deleted reply; None if the parent is unknown."""
    stored = decode_stored(reply)
    if isinstance(stored, Post):
        return stored
    return parse_tombstone(UNKNOWN_ID, reply).in_reply_to if stored is PostState.DELETED else None


def parse_tombstone(post_id: PostId, tombstone: bytes) -> Post:
    """Return what the tombstone says of the post: its author, parent, audience, and the original of a boost.

    Tombstones of earlier releases name no audience (here: public) and, the oldest, no author (here: 0).
    """
    _, author, parent, original, audience, *_ = *tombstone.split(b":"), *[b""] * 4
    return Post(
        post_id,
        AccountId(int(author or 0)),
        "",
        in_reply_to=PostId(int(parent)) if parent else None,
        audience=FOLLOWERS if audience else PUBLIC,
        boost_of=PostId(int(original)) if original else None,
    )
