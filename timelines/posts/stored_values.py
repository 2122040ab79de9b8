"""The states and values of the key of a post, and a cache of posts.

For a cached post Redis returns only the first byte of the value. This byte shows whether the post still exists, and
whether it was edited. See docs/reference/decisions/process-caches.md for the reasons.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import cast

from socialsite.byte_cache import MB, ByteCache
from socialsite.ids import AccountId, PostId
from socialsite.store import PreparedCommand, Read, Reply, prepare_command
from socialsite.store.key import KEY_CACHE_SIZE
from timelines import keys
from timelines.posts.post import EDITED_FIRST_BYTE, FIRST_BYTES, FOLLOWERS, PUBLIC, Post, decode_post, encode_post

POST_CACHE_BYTES = 8 * MB
UNKNOWN_ID = PostId(0)
PENDING, DELETED, SUPERSEDED = b"pending", b"deleted", b"superseded"
DELETED_PREFIX = b"deleted:"
"""The prefix of a tombstone. The id of the author follows, so that only the author may repeat a deletion.

The tombstone of a reply ends with ":" and its parent, so that threads continue. The tombstone of a boost ends with "::"
and its original, so that the next boost appears. The tombstone of a post for followers has the five parts
`deleted:<author>:<parent or nothing>::f`, so that only followers receive the deletion.
"""


class PostState(Enum):
    """The state of a post id whose key contains no post."""

    ABSENT = "absent"
    PENDING = "pending"
    DELETED = "deleted"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    """The post exists, and its body is in the archive. Only code that reads the key itself gets this state."""
    EDITED = "edited"
    """The post was edited after it was cached. Only code that reads the key itself gets this state."""


STATE_BY_VALUE = {
    None: PostState.ABSENT, PENDING: PostState.PENDING, DELETED: PostState.DELETED,
    SUPERSEDED: PostState.SUPERSEDED,
}  # fmt: skip
STATE_BY_FIRST_BYTE = {
    b"": PostState.ABSENT, None: PostState.ABSENT, PENDING[:1]: PostState.PENDING, DELETED[:1]: PostState.DELETED,
    SUPERSEDED[:1]: PostState.SUPERSEDED, EDITED_FIRST_BYTE: PostState.EDITED,
}  # fmt: skip
"""The states by first byte. None is a key of a wrong type. Posts begin with one of FIRST_BYTES, as no state may.

All other bytes are digits, which mark archived posts.
"""

StoredPost = Post | PostState


def decode_stored(reply: Reply) -> StoredPost:
    """Decode the value at the key of a post."""
    state = STATE_BY_VALUE.get(reply)
    if state is not None:
        return state
    if reply.startswith(DELETED_PREFIX):
        return PostState.DELETED
    return PostState.ARCHIVED if reply.isdigit() else decode_post(reply)


def stored_parent(reply: Reply) -> Post | PostId | None:
    """Return the post, or for a deleted reply the id of its parent. Returns None if the parent is unknown."""
    stored = decode_stored(reply)
    if isinstance(stored, Post):
        return stored
    return parse_tombstone(UNKNOWN_ID, reply).in_reply_to if stored is PostState.DELETED else None


def parse_tombstone(post_id: PostId, tombstone: bytes) -> Post:
    """Return a post with the fields of its tombstone: author, parent, audience, and the original of a boost.

    Tombstones of earlier releases contain no audience; then the post is public. The oldest contain no author; then the
    author id is 0.
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


def _size_of_post(post: Post) -> int:
    """Return about how many bytes a post has in memory."""
    return 3 * len(encode_post(post))


class PostCache:
    """A cache of posts by id.

    Entries never expire: the cache contains no edited posts, and removes a post whose first byte shows an edit.
    """

    def __init__(self) -> None:
        self._posts: ByteCache[PostId, Post] = ByteCache(POST_CACHE_BYTES, _size_of_post)

    def read_many(self, post_ids: Sequence[PostId]) -> Read[dict[PostId, StoredPost]]:
        """Read the post or the state at each id. Only the first byte is read for a cached post."""
        cached_posts = list(map(self._posts.get, post_ids))
        commands = [
            get_post_command(id) if post is None else first_byte_command(id)
            for id, post in zip(post_ids, cached_posts, strict=True)
        ]

        def parse(replies: Sequence[Reply]) -> dict[PostId, StoredPost]:
            if FIRST_BYTES.issuperset(replies):  # all posts are cached, exist and are unedited
                return cast("dict[PostId, StoredPost]", dict(zip(post_ids, cached_posts, strict=True)))
            return self._decode(zip(post_ids, cached_posts, replies, strict=True))

        return Read(commands, parse, wrong_type_reply=None)

    def _decode(self, replies: Iterable[tuple[PostId, Post | None, Reply]]) -> dict[PostId, StoredPost]:
        posts: dict[PostId, StoredPost] = {}
        for post_id, post, reply in replies:
            if post is None:
                posts[post_id] = decode_stored(reply)
            else:
                posts[post_id] = post if reply in FIRST_BYTES else STATE_BY_FIRST_BYTE.get(reply, PostState.ARCHIVED)
        self._cache(posts)
        return posts

    def _cache(self, posts: dict[PostId, StoredPost]) -> None:
        for post_id, post in posts.items():
            if post is PostState.EDITED:
                self._posts.drop(post_id)
            elif type(post) is Post and not post.extra.version and self._posts.get(post_id) is None:
                self._posts.put(post_id, post)


def get_post_command(post_id: PostId) -> PreparedCommand:
    return prepare_command("GET", keys.post(post_id))


@lru_cache(maxsize=KEY_CACHE_SIZE)
def first_byte_command(post_id: PostId) -> PreparedCommand:
    return prepare_command("GETRANGE", keys.post(post_id), 0, 0)
