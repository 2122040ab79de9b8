"""A post: one immutable value. Edits would make a new version of the struct, never a change in place."""

import msgspec

from accounts.domain import AccountId
from socialsite.ids import PostId, ms_of

SCHEMA = 1


class Post(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is stored under `posts:{<id>}:post`, as MessagePack array [schema, id, author, text, reply]."""

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
decode_post = _decoder.decode
