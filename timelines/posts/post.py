"""The types `Post` and `PostCounts`, and the audiences of posts. A post never changes after it was written."""

from functools import lru_cache
from typing import Final

import msgspec

from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.text.linkify import find_hashtags

SCHEMA_VERSION = 1
PUBLIC: Final = 0
"""Everybody may see the post. It appears on the public timeline, hashtag timelines, in search and feeds."""
UNLISTED: Final = 1
"""Everybody may see the post, but it is not on the public timeline, hashtag timelines, in search or feeds."""
FOLLOWERS: Final = 2
"""Only the author and the author's followers may see the post."""
AUDIENCE_BY_NAME: Final = {"public": PUBLIC, "unlisted": UNLISTED, "followers": FOLLOWERS}
"""The audiences by the names that clients send."""
NAME_BY_AUDIENCE: Final = {number: name for name, number in AUDIENCE_BY_NAME.items()}
POST_CACHE_SIZE = 20_000  # posts in each of two caches (by bytes, by id); a full cache takes about 20 MB


class Post(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The value of `posts:{<id>}:post`: a MessagePack array of these fields, in this order.

    A boost is a post with an empty text; `boost_of` is the id of its original.
    """

    id: PostId
    author_id: AccountId
    text: str
    in_reply_to: PostId | None = None
    schema: int = SCHEMA_VERSION
    audience: int = PUBLIC
    boost_of: PostId | None = None
    boosted_author_id: AccountId | None = None
    reply_to_author_id: AccountId | None = None
    root_id: PostId | None = None
    """The first post of the thread. None if this post is the first, or if an old import did not store it."""
    unindexed_hashtags: tuple[str, ...] = ()
    """New hashtags beyond the author's number for the day. They are links only."""

    @property
    def created_ms(self) -> int:
        """The time of creation in Unix ms, which is part of the id."""
        return ms_from_id(self.id)

    @property
    def is_discoverable(self) -> bool:
        """Return whether the post appears on the public timeline, hashtag timelines, in search and feeds."""
        return self.audience == PUBLIC and self.boost_of is None

    @property
    def indexed_hashtags(self) -> list[str]:
        """The normalized hashtags with this post on their timeline, in order."""
        tags = find_hashtags(self.text) if self.is_discoverable else []
        return [tag for tag in tags if tag not in self.unindexed_hashtags] if self.unindexed_hashtags else tags

    @property
    def shown_id(self) -> PostId:
        """The id of the post whose text and counts an entry shows. For a boost this is its original."""
        return self.id if self.boost_of is None else self.boost_of


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Post)
encode_post = _encoder.encode
decode_post = lru_cache(maxsize=POST_CACHE_SIZE)(_decoder.decode)


class PostCounts(msgspec.Struct, frozen=True, gc=False):
    replies: int = 0
    boosts: int = 0
    likes: int = 0
