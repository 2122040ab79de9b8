"""The value of a post's key: the post, or a state in its place."""

from enum import Enum
from functools import lru_cache

from socialsite.ids import PostId
from socialsite.store import Reply
from timelines.posts.post import POST_CACHE_SIZE, Post, decode_post

PENDING, DELETED, SUPERSEDED = b"pending", b"deleted", b"superseded"
DELETED_PREFIX = b"deleted:"
"""Followed by the author's id, so that only the author may repeat a deletion. A reply adds ":" and its parent, so
that threads continue; a boost adds "::" and its original, so that the next boost appears."""


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
    parts: list[bytes] = reply.split(b":") if stored is PostState.DELETED else []
    return PostId(int(parts[2])) if len(parts) == 3 else None


def tombstone_original(tombstone: bytes) -> PostId | None:
    """Return the original of a deleted boost; None if it was no boost, or was archived."""
    parts = tombstone.split(b":")
    return PostId(int(parts[3])) if len(parts) == 4 else None
