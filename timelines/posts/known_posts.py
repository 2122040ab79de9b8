"""A cache of posts that this process has read. Redis then returns only whether they still exist.

Reasons and conditions: docs/reference/decisions/process-caches.md. The first byte of the stored value says whether
it is a post (stored_values.py).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import cast

from socialsite.ids import PostId
from socialsite.store import Command, EncodedPipeline, PreparedCommand, Read, Reply, prepare_command
from socialsite.store.encoding import encoded_cache
from timelines import keys
from timelines.posts.post import POST_CACHE_SIZE, Post
from timelines.posts.stored_values import POST_FIRST_BYTES, STATE_BY_FIRST_BYTE, PostState, StoredPost, decode_stored


class PostCache:
    """Posts by id. Entries never expire, since posts never change; a cache that is full is cleared."""

    def __init__(self) -> None:
        self._known: dict[PostId, Post] = {}

    def read_many(self, post_ids: Sequence[PostId]) -> Read[dict[PostId, StoredPost]]:
        """Read the post or the state at each id. For a cached post only its first byte is read."""
        cached_posts = list(map(self._known.get, post_ids))
        all_known = None not in cached_posts  # on most pages
        wire = b"".join(map(encode_first_byte, post_ids) if all_known else map(_encode_command, post_ids, cached_posts))

        def commands() -> list[Command]:
            return [
                get_post_command(id) if post is None else first_byte_command(id)
                for id, post in zip(post_ids, cached_posts, strict=True)
            ]

        def understand(replies: Sequence[Reply]) -> dict[PostId, StoredPost]:
            if POST_FIRST_BYTES.issuperset(replies):  # all are cached and exist
                return cast("dict[PostId, StoredPost]", dict(zip(post_ids, cached_posts, strict=True)))
            return self._told(zip(post_ids, cached_posts, replies, strict=True))

        return Read(EncodedPipeline(wire, len(cached_posts), commands), understand)

    def _told(self, answers: Iterable[tuple[PostId, Post | None, Reply]]) -> dict[PostId, StoredPost]:
        posts: dict[PostId, StoredPost] = {}
        for post_id, post, reply in answers:
            if post is None:
                posts[post_id] = decode_stored(reply)
            else:
                posts[post_id] = (
                    post if reply in POST_FIRST_BYTES else STATE_BY_FIRST_BYTE.get(reply, PostState.ARCHIVED)
                )
        self._note({post_id: post for post_id, post in posts.items() if type(post) is Post})
        return posts

    def _note(self, posts: dict[PostId, Post]) -> None:
        if len(self._known) > POST_CACHE_SIZE:
            self._known.clear()
        self._known |= posts


@lru_cache(maxsize=20_000)
def get_post_command(post_id: PostId) -> PreparedCommand:
    return prepare_command("GET", keys.post(post_id))


@lru_cache(maxsize=20_000)
def first_byte_command(post_id: PostId) -> PreparedCommand:
    return prepare_command("GETRANGE", keys.post(post_id), 0, 0)


encode_find, encode_first_byte = encoded_cache(get_post_command), encoded_cache(first_byte_command)


def _encode_command(post_id: PostId, known: Post | None) -> bytes:
    return encode_find(post_id) if known is None else encode_first_byte(post_id)
