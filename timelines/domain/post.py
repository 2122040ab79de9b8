"""A post: one immutable value. Edits would make a new version of the struct, never a change in place."""

from functools import lru_cache

import msgspec

from accounts.domain import AccountId
from socialsite.ids import PostId, ms_of

SCHEMA = 1
KEPT = 20_000  # decoded posts, found again by their bytes; about 20 MB when full


class Post(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is stored under `posts:{<id>}:post`, as MessagePack array [id, author, text, reply, schema]."""

    id: PostId
    author_id: AccountId
    text: str
    in_reply_to: PostId | None = None
    schema: int = SCHEMA

    @property
    def created_ms(self) -> int:
        """Unix milliseconds, from the id."""
        return ms_of(self.id)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Post)
encode_post = _encoder.encode
decode_post = lru_cache(maxsize=KEPT)(_decoder.decode)
