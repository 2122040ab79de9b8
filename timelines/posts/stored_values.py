"""What stands at a post's key: the post, or a mark in its place."""

from enum import Enum
from functools import lru_cache

from socialsite.ids import PostId
from socialsite.store import Reply
from timelines.posts.post import POST_CACHE_SIZE, Post, decode_post

PENDING, DELETED, SUPERSEDED = b"pending", b"deleted", b"superseded"
DELETED_PREFIX = b"deleted:"
"""And the author's id, so that repeating a deletion is known from another's try; of a reply with ":" and what
it answered, so that threads lead on; of a boost with "::" and what it showed, so that the next takes over."""


class PostState(Enum):
    """What stands at a post's key, where it is not a post."""

    ABSENT = "absent"
    PENDING = "pending"
    DELETED = "deleted"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    """Stands, its body is in the archive; only readers that ask the store itself meet this state."""


STATE_BY_VALUE = {
    None: PostState.ABSENT, PENDING: PostState.PENDING, DELETED: PostState.DELETED,
    SUPERSEDED: PostState.SUPERSEDED,
}  # fmt: skip
POST_FIRST_BYTES = frozenset(bytes((first,)) for first in (*range(0x90, 0xA0), 0xDC))
"""How a post begins: a MessagePack array, short or long. No mark, of now or later, may begin so."""
STATE_BY_FIRST_BYTE = {
    b"": PostState.ABSENT, PENDING[:1]: PostState.PENDING, DELETED[:1]: PostState.DELETED,
    SUPERSEDED[:1]: PostState.SUPERSEDED,
}  # fmt: skip
"""How a mark begins; the archive's, the author's id in digits, is what is none of all these."""

StoredPost = Post | PostState


@lru_cache(maxsize=POST_CACHE_SIZE)
def decode_stored(reply: Reply) -> StoredPost:
    """A post's value as it stands in the store; the same bytes are the same post, whenever they are read."""
    state = STATE_BY_VALUE.get(reply)
    if state is not None:
        return state
    if reply.startswith(DELETED_PREFIX):
        return PostState.DELETED
    return PostState.ARCHIVED if reply.isdigit() else decode_post(reply)


def stored_parent(reply: Reply) -> Post | PostId | None:
    """The post itself where it stands; of a deleted reply what it answered; None: it is not known."""
    found = decode_stored(reply)
    if isinstance(found, Post):
        return found
    parts: list[bytes] = reply.split(b":") if found is PostState.DELETED else []
    return PostId(int(parts[2])) if len(parts) == 3 else None


def tombstone_original(tombstone: bytes) -> PostId | None:
    """What a deleted boost showed; None: it was none, or its body lay in the archive."""
    parts = tombstone.split(b":")
    return PostId(int(parts[3])) if len(parts) == 4 else None
